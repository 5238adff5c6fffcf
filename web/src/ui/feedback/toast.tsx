/** Short messages in a corner of the page about what just happened. Errors stay until they are dismissed. */
import { X } from "lucide-react";
import { ExternalStore, useExternal } from "@/lib/external";
import { Button, IconButton } from "../controls/Button";
import css from "./toast.module.css";

interface Toast {
  id: number;
  text: string;
  tone: "plain" | "failed";
  action?: { label: string; run: () => void };
  /** No longer true once the server can be reached. */
  untilLive?: boolean;
}

const DURATION = 6000;
const MAX_TOASTS = 4;
const toasts = new ExternalStore<Toast[]>([]);
let nextId = 1;

const dismiss = (id: number) => toasts.set(toasts.get().filter((toast) => toast.id !== id));

export function toast(text: string, options: Partial<Omit<Toast, "id" | "text">> = {}): void {
  const added: Toast = { id: nextId++, text, tone: "plain", ...options };
  toasts.set([...toasts.get().filter((other) => other.text !== text), added].slice(-MAX_TOASTS));
  if (added.tone === "plain") setTimeout(() => dismiss(added.id), DURATION);
}

/** Shows an error's message. */
export const toastError = (error: unknown): void =>
  toast(error instanceof Error ? error.message : String(error), {
    tone: "failed",
    untilLive: (error as { code?: unknown } | null)?.code === "offline",
  });

/** Removes messages that the server cannot be reached, because it can. */
export const dismissOffline = (): void => toasts.set(toasts.get().filter((shown) => !shown.untilLive));

export function Toaster() {
  const shown = useExternal(toasts);
  return (
    <section className={css.toaster} aria-live="polite" aria-label="Notifications">
      {shown.map(({ id, text, tone, action }) => (
        <div key={id} className={`${css.toast} ${tone === "failed" ? css.failed : ""}`}>
          <span className={css.text}>{text}</span>
          {action && (
            <Button
              size="small"
              variant="quiet"
              onClick={() => {
                action.run();
                dismiss(id);
              }}
            >
              {action.label}
            </Button>
          )}
          <IconButton label="Dismiss" size="small" onClick={() => dismiss(id)}>
            <X />
          </IconButton>
        </div>
      ))}
    </section>
  );
}
