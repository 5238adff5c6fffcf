/** A prompt with attached files, which are chosen, dropped or pasted. */
import { Paperclip, X } from "lucide-react";
import { type ClipboardEvent, type DragEvent, useEffect, useId, useRef } from "react";
import { bytes } from "@/lib/format";
import { Button, IconButton } from "@/ui/controls/Button";
import { Field, TextArea } from "@/ui/controls/Field";
import { toast } from "@/ui/feedback/toast";
import css from "@/views/forms/layout/form.module.css";
import { type AttachedFile, attachFiles } from "@/views/session/composer/attachments";
import fields from "./fields.module.css";

export function PromptField({
  label,
  hint,
  value,
  onChange,
  files,
  onFiles,
  error,
  rows = 4,
  placeholder,
  focus = true,
}: {
  label: string;
  hint?: string;
  value: string;
  onChange: (text: string) => void;
  /** If omitted, the prompt takes no files. */
  files?: AttachedFile[];
  onFiles?: (files: AttachedFile[]) => void;
  error?: string | null;
  rows?: number;
  placeholder?: string;
  /** Focuses the field on devices with a mouse; on a phone the keyboard would cover the form. */
  focus?: boolean;
}) {
  const area = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    if (focus && window.matchMedia("(pointer: fine)").matches) area.current?.focus();
  }, [focus]);
  const input = useRef<HTMLInputElement>(null);
  const id = useId();
  const take = async (added: File[]) => {
    if (!files || !onFiles || !added.length) return;
    const taken = await attachFiles(files, added);
    onFiles(taken.files);
    for (const why of taken.errors) toast(why, { tone: "failed" });
  };
  const onPaste = (event: ClipboardEvent) => {
    if (!event.clipboardData.files.length) return;
    event.preventDefault();
    void take([...event.clipboardData.files]);
  };
  const onDrop = (event: DragEvent) => {
    if (!event.dataTransfer.files.length) return;
    event.preventDefault();
    void take([...event.dataTransfer.files]);
  };
  return (
    <div className={css.part}>
      <Field label={label} hint={hint} error={error}>
        <TextArea
          ref={area}
          rows={rows}
          value={value}
          onChange={(event) => onChange(event.target.value)}
          onPaste={onPaste}
          onDrop={onDrop}
          onDragOver={(event) => event.preventDefault()}
          placeholder={placeholder}
        />
      </Field>
      {files && (
        <div className={css.row}>
          <Button size="small" icon={<Paperclip />} onClick={() => input.current?.click()}>
            Add files
          </Button>
          <input
            ref={input}
            id={id}
            type="file"
            multiple
            hidden
            aria-label="Attached files"
            onChange={(event) => {
              void take([...(event.target.files ?? [])]);
              event.target.value = "";
            }}
          />
          {files.map((file) => (
            <span key={file.id} className={fields.file}>
              {file.name} <span className={css.hint}>{bytes(file.size)}</span>
              <IconButton
                label={`Remove ${file.name}`}
                size="small"
                onClick={() => onFiles?.(files.filter((attachedFile) => attachedFile.id !== file.id))}
              >
                <X />
              </IconButton>
            </span>
          ))}
        </div>
      )}
    </div>
  );
}
