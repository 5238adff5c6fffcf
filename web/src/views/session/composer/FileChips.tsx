/** Shows the files attached to a prompt, each with a remove button. */
import { FileText, Image, X } from "lucide-react";
import { bytes } from "@/lib/format";
import { IconButton } from "@/ui/controls/Button";
import type { AttachedFile } from "./attachments";
import css from "./Composer.module.css";

export function FileChips({ files, onRemove }: { files: AttachedFile[]; onRemove: (id: string) => void }) {
  if (!files.length) return null;
  return (
    <ul className={css.chips} aria-label="Attached files">
      {files.map((file) => (
        <li key={file.id} className={css.chip}>
          {file.data === undefined ? <FileText aria-hidden /> : <Image aria-hidden />}
          <span className={css.fileName}>{file.name}</span>
          <span className={css.size}>{bytes(file.size)}</span>
          <IconButton label={`Remove ${file.name}`} size="small" onClick={() => onRemove(file.id)}>
            <X />
          </IconButton>
        </li>
      ))}
    </ul>
  );
}
