/** A modal dialog; on a phone, a sheet from the bottom. Traps focus and closes on Escape. */
import { X } from "lucide-react";
import { Dialog as Base } from "radix-ui";
import type { FormEvent, ReactNode } from "react";
import { IconButton } from "./Button";
import css from "./Dialog.module.css";

export interface DialogProps {
  open: boolean;
  onClose: () => void;
  title: string;
  description?: ReactNode;
  children?: ReactNode;
  footer?: ReactNode;
  /** Makes the dialog a form, with its submit button in the footer. */
  onSubmit?: () => void;
  wide?: boolean;
}

/** Focuses the first field, else the dialog itself: on the close button, the tooltip would take the first Escape. */
function focusFirst(event: Event): void {
  event.preventDefault();
  const dialog = event.currentTarget as HTMLElement;
  const field = dialog.querySelector<HTMLElement>(
    ":is(input, textarea, select):not([disabled], [type=hidden])",
  );
  (field ?? dialog).focus();
}

export function Dialog({ open, onClose, title, description, children, footer, onSubmit, wide }: DialogProps) {
  const submit = (event: FormEvent) => {
    event.preventDefault();
    event.stopPropagation();
    onSubmit?.();
  };
  const content = (
    <>
      <div className={css.body}>{children}</div>
      {footer && <footer className={css.footer}>{footer}</footer>}
    </>
  );
  return (
    <Base.Root open={open} onOpenChange={(next) => next || onClose()}>
      <Base.Portal>
        <Base.Overlay className={css.scrim} />
        <Base.Content
          className={`${css.dialog} ${wide ? css.wide : ""}`}
          onOpenAutoFocus={focusFirst}
          {...(description ? {} : { "aria-describedby": undefined })}
        >
          <header className={css.header}>
            <div>
              <Base.Title className={css.title}>{title}</Base.Title>
              {description && <Base.Description className={css.about}>{description}</Base.Description>}
            </div>
            <Base.Close asChild>
              <IconButton label="Close" size="small">
                <X />
              </IconButton>
            </Base.Close>
          </header>
          {onSubmit ? (
            <form className={css.form} onSubmit={submit}>
              {content}
            </form>
          ) : (
            content
          )}
        </Base.Content>
      </Base.Portal>
    </Base.Root>
  );
}
