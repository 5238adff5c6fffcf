/** The form that starts a clone. */
import { useQueryClient } from "@tanstack/react-query";
import { Download } from "lucide-react";
import { type FormEvent, useState } from "react";
import { startClone } from "@/api/actions";
import { clonesQuery } from "@/api/queries";
import { Button } from "@/ui/controls/Button";
import { Field, Input } from "@/ui/controls/Field";
import { messageOf } from "@/views/forms/layout/errorFields";
import css from "./AddRepo.module.css";

const WORDS = { autoCapitalize: "none", autoComplete: "off", spellCheck: false } as const;

export function CloneForm() {
  const queries = useQueryClient();
  const [address, setAddress] = useState("");
  const [path, setPath] = useState("");
  const [wrong, setWrong] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (busy) return;
    if (!address.trim()) return setWrong("Enter the address of a repository.");
    setBusy(true);
    setWrong(null);
    try {
      await startClone({ address: address.trim(), path: path.trim() || null });
      setAddress("");
      setPath("");
      await queries.invalidateQueries(clonesQuery);
    } catch (error) {
      setWrong(messageOf(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <form className={css.form} aria-label="Clone a repository" onSubmit={(event) => void submit(event)}>
      <div className={css.address}>
        <Field
          label="Address"
          hint="An https or ssh address. Git uses the logins of the account that runs the server."
          error={wrong}
        >
          <Input
            {...WORDS}
            value={address}
            placeholder="git@example.com:team/project.git"
            onChange={(event) => setAddress(event.target.value)}
          />
        </Field>
      </div>
      <Field label="Folder" hint="Optional, in the workspace root.">
        <Input
          {...WORDS}
          value={path}
          placeholder="project"
          onChange={(event) => setPath(event.target.value)}
        />
      </Field>
      <Button type="submit" variant="primary" icon={<Download />} busy={busy} className={css.submit}>
        Clone
      </Button>
    </form>
  );
}
