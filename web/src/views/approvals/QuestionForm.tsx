/** An agent's question: its form, or the address that it asks a person to open. */
import { useState } from "react";
import { ApiError } from "@/api/client";
import type { Answer, Approval } from "@/api/types";
import { Button } from "@/ui/controls/Button";
import { Field, Input, Select, Switch, TextArea } from "@/ui/controls/Field";
import css from "./ApprovalCard.module.css";
import {
  contentOf,
  type Entries,
  hintOf,
  initialEntries,
  labelOf,
  type Question,
  type QuestionField,
  questionOf,
} from "./questionForm";

interface Props {
  approval: Approval;
  busy: string | null;
  error: unknown;
  readOnly: boolean;
  answer: (which: string, body: Answer) => Promise<void>;
}

/** Returns what the server says about each field. */
export function fieldErrors(error: unknown): Record<string, string> {
  const fields = error instanceof ApiError ? error.details.fields : undefined;
  return typeof fields === "object" && fields !== null ? (fields as Record<string, string>) : {};
}

export function QuestionForm({ approval, busy, error, readOnly, answer }: Props) {
  const question = questionOf(approval);
  const fields = question.fields ?? [];
  const [entries, setEntries] = useState<Entries>(() => initialEntries(fields));
  const errors = fieldErrors(error);
  const disabled = busy !== null || readOnly;
  return (
    <form
      className={css.form}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        const content = question.mode === "url" ? null : contentOf(fields, entries);
        void answer("accept", { action: "accept", content });
      }}
    >
      <p className={css.text}>{question.message}</p>
      {question.title && <p className={css.title}>{question.title}</p>}
      {question.description && <p className={css.reason}>{question.description}</p>}
      {question.mode === "url" && <Address question={question} />}
      {fields.map((field) => (
        <FieldControl
          key={field.name}
          field={field}
          entry={entries[field.name] ?? ""}
          error={errors[field.name] ?? null}
          disabled={disabled}
          onChange={(entry) => setEntries({ ...entries, [field.name]: entry })}
        />
      ))}
      {!readOnly && (
        <div className={css.answers}>
          <Button type="submit" variant="primary" busy={busy === "accept"} disabled={disabled}>
            {question.mode === "url" ? "I have opened it" : "Answer"}
          </Button>
          <Button
            variant="danger"
            busy={busy === "decline"}
            disabled={disabled}
            onClick={() => answer("decline", { action: "decline" })}
          >
            Decline
          </Button>
          <Button
            variant="quiet"
            busy={busy === "cancel"}
            disabled={disabled}
            onClick={() => answer("cancel", { action: "cancel" })}
          >
            Dismiss
          </Button>
        </div>
      )}
    </form>
  );
}

/** The address is a link that a person follows; nothing opens it by itself. */
const Address = ({ question }: { question: Question }) => (
  <dl className={css.facts}>
    <div>
      <dt>Host</dt>
      <dd>
        <strong>{question.host}</strong>
      </dd>
    </div>
    <div>
      <dt>Address</dt>
      <dd>
        <a href={question.url} target="_blank" rel="noopener noreferrer nofollow">
          {question.url}
        </a>
      </dd>
    </div>
  </dl>
);

interface ControlProps {
  field: QuestionField;
  entry: string | boolean | string[];
  error: string | null;
  disabled: boolean;
  onChange: (entry: string | boolean | string[]) => void;
}

const INPUT_TYPES: Record<string, string> = { email: "email", uri: "url", date: "date" };

function FieldControl({ field, entry, error, disabled, onChange }: ControlProps) {
  const label = field.required ? `${labelOf(field)} *` : labelOf(field);
  const hint = hintOf(field);
  if (field.type === "boolean")
    return (
      <Switch
        label={label}
        hint={error ?? hint}
        checked={entry === true}
        onChange={onChange}
        disabled={disabled}
      />
    );
  if (field.type === "choices")
    return <Choices {...{ field, entry, error, disabled, onChange }} label={label} hint={hint} />;
  const shared = {
    value: String(entry),
    disabled,
    "aria-required": field.required,
    onChange: (event: { target: { value: string } }) => onChange(event.target.value),
  };
  if (field.type === "choice") {
    const chosen = field.choices?.find(({ value }) => value === entry);
    const about = [chosen?.description, hint].filter(Boolean).join(" · ");
    return (
      <>
        <Field label={label} hint={about} error={error}>
          <Select {...shared}>
            <option value="">Choose…</option>
            {field.choices?.map(({ value, title }) => (
              <option key={value} value={value}>
                {title}
              </option>
            ))}
          </Select>
        </Field>
        {chosen?.preview && <pre className={css.command}>{chosen.preview}</pre>}
      </>
    );
  }
  const isLong = field.type === "text" && !field.secret && !field.format && (field.maxLength ?? 1000) > 200;
  const isNumber = field.type !== "text";
  return (
    <Field label={label} hint={hint} error={error}>
      {isLong ? (
        <TextArea {...shared} rows={2} />
      ) : (
        <Input
          {...shared}
          type={field.secret ? "password" : (INPUT_TYPES[field.format ?? ""] ?? "text")}
          inputMode={isNumber ? "decimal" : undefined}
          autoComplete={field.secret ? "off" : undefined}
        />
      )}
    </Field>
  );
}

function Choices({
  field,
  entry,
  error,
  disabled,
  onChange,
  label,
  hint,
}: ControlProps & { label: string; hint: string }) {
  const chosen = Array.isArray(entry) ? entry : [];
  return (
    <fieldset className={css.choices} disabled={disabled} aria-invalid={error ? true : undefined}>
      <legend>{label}</legend>
      {field.choices?.map(({ value, title, description }) => (
        <label key={value}>
          <input
            type="checkbox"
            checked={chosen.includes(value)}
            onChange={(event) =>
              onChange(event.target.checked ? [...chosen, value] : chosen.filter((item) => item !== value))
            }
          />{" "}
          {title}
          {description && <span className={css.reason}> — {description}</span>}
        </label>
      ))}
      <p className={error ? css.error : css.reason} role={error ? "alert" : undefined}>
        {error ?? hint}
      </p>
    </fieldset>
  );
}
