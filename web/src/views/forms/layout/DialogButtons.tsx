/** The buttons of a form in a dialog. */
import type { ReactNode } from "react";
import { Button } from "@/ui/controls/Button";
import { Kbd } from "@/ui/controls/Kbd";
import css from "./form.module.css";

export function DialogButtons({
  busy,
  onClose,
  children,
  danger = false,
  disabled = false,
}: {
  busy: boolean;
  onClose: () => void;
  children: ReactNode;
  danger?: boolean;
  disabled?: boolean;
}) {
  return (
    <>
      <span className={css.keys}>
        <Kbd keys="mod+enter" />
      </span>
      <Button onClick={onClose}>Cancel</Button>
      <Button type="submit" variant={danger ? "danger" : "primary"} busy={busy} disabled={disabled}>
        {children}
      </Button>
    </>
  );
}
