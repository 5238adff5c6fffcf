/** Submits a form once at a time, by button or mod+Enter, and keeps each error beside its field. */
import { CircleAlert } from "lucide-react";
import { type KeyboardEvent, type ReactNode, useState } from "react";
import { Link } from "wouter";
import { ApiError } from "@/api/client";
import { routes } from "@/app/routes";
import { useWhenLive } from "@/live/hooks";
import { errorField, type FieldName, messageOf } from "./errorFields";
import css from "./form.module.css";

export interface FormSubmission {
  busy: boolean;
  error: unknown;
  /** The error of a field. */
  at: (field: FieldName) => string | null;
  submit: () => void;
  refuse: (field: FieldName, text: string) => void;
}

export function useSubmit<T>(
  work: () => Promise<T>,
  done: (answer: T) => void,
  offered?: readonly FieldName[],
): FormSubmission {
  const [busy, setBusy] = useState(false);
  const [wrong, setWrong] = useState<{ error: unknown; field: FieldName; text: string } | null>(null);
  useWhenLive(() => wrong?.error instanceof ApiError && wrong.error.code === "offline" && setWrong(null));
  const run = async () => {
    if (busy) return;
    setBusy(true);
    setWrong(null);
    try {
      done(await work());
    } catch (error) {
      setWrong({ error, field: errorField(error, offered), text: messageOf(error) });
    } finally {
      setBusy(false);
    }
  };
  return {
    busy,
    error: wrong?.error ?? null,
    at: (field) => (wrong?.field === field ? wrong.text : null),
    submit: () => void run(),
    refuse: (field, text) => setWrong({ error: null, field, text }),
  };
}

/** Shows an error that concerns the whole form. */
export function FormProblem({ of }: { of: FormSubmission }) {
  const text = of.at("form");
  if (!text) return null;
  const full = of.error instanceof ApiError && of.error.code === "too_many_sessions";
  return (
    <div className={css.problem} role="alert">
      <CircleAlert aria-hidden />
      <span>
        {text} {full && <Link href={routes.home}>Show active sessions</Link>}
      </span>
    </div>
  );
}

/** Submits the surrounding form on mod+Enter, also from a text area. */
export function SubmitKeys({
  onSubmit,
  children,
  className,
}: {
  onSubmit: () => void;
  children: ReactNode;
  className?: string;
}) {
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || !(event.metaKey || event.ctrlKey)) return;
    event.preventDefault();
    event.stopPropagation();
    onSubmit();
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it only handles keys of the inputs inside
    <div onKeyDown={onKeyDown} className={className ?? css.stack}>
      {children}
    </div>
  );
}
