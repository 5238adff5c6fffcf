/** The buttons of a dialog that is a form. */
import type { ReactNode } from "react";
import { Button } from "@/ui/controls/Button";
import { Kbd } from "@/ui/controls/Kbd";
import css from "./form.module.css";

export function Footer({
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
      <Button onClick={onClose}>Not now</Button>
      <Button type="submit" look={danger ? "danger" : "primary"} busy={busy} disabled={disabled}>
        {children}
      </Button>
    </>
  );
}
