/** Short words about what was just done or refused, in a corner; read out, and gone by themselves unless they are about
 * something that failed. */
import { X } from "lucide-react";
import { External, useExternal } from "@/lib/external";
import { Button, IconButton } from "../controls/Button";
import css from "./toast.module.css";

interface Toast {
  id: number;
  text: string;
  tone: "plain" | "failed";
  action?: { label: string; run: () => void };
}

const STAYS = 6000;
const MOST = 4;
const toasts = new External<Toast[]>([]);
let next = 1;

const dismiss = (id: number) => toasts.set(toasts.get().filter((one) => one.id !== id));

export function toast(text: string, options: Partial<Omit<Toast, "id" | "text">> = {}): void {
  const one: Toast = { id: next++, text, tone: "plain", ...options };
  toasts.set([...toasts.get().filter((other) => other.text !== text), one].slice(-MOST));
  if (one.tone === "plain") setTimeout(() => dismiss(one.id), STAYS);
}

/** Says why something was refused. */
export const toastError = (error: unknown): void =>
  toast(error instanceof Error ? error.message : String(error), { tone: "failed" });

export function Toaster() {
  const shown = useExternal(toasts);
  return (
    <section className={css.toaster} aria-live="polite" aria-label="Notices">
      {shown.map((one) => (
        <div key={one.id} className={`${css.toast} ${one.tone === "failed" ? css.failed : ""}`}>
          <span className={css.text}>{one.text}</span>
          {one.action && (
            <Button
              size="small"
              look="quiet"
              onClick={() => {
                one.action?.run();
                dismiss(one.id);
              }}
            >
              {one.action.label}
            </Button>
          )}
          <IconButton label="Dismiss" size="small" onClick={() => dismiss(one.id)}>
            <X />
          </IconButton>
        </div>
      ))}
    </section>
  );
}
