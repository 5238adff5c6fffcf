/** Chooses a repository, or adds one by its path. */
import { useQueryClient } from "@tanstack/react-query";
import { FolderPlus } from "lucide-react";
import { useState } from "react";
import { Link } from "wouter";
import { addRepo } from "@/api/actions";
import { reposQuery } from "@/api/queries";
import type { Repo } from "@/api/types";
import { routes } from "@/app/routes";
import { Button } from "@/ui/controls/Button";
import { Field, Input, Select } from "@/ui/controls/Field";
import { messageOf } from "@/views/forms/layout/errorFields";
import css from "@/views/forms/layout/form.module.css";
import fields from "./fields.module.css";

export function RepoPicker({
  repos,
  value,
  onChange,
  error,
}: {
  repos: Repo[];
  value: string | null;
  onChange: (repoId: string) => void;
  error?: string | null;
}) {
  const [adding, setAdding] = useState(false);
  const repo = repos.find((entry) => entry.id === value);
  if (adding || !repos.length)
    return (
      <AddRepo
        onAdded={(added) => {
          setAdding(false);
          onChange(added.id);
        }}
        onBack={repos.length ? () => setAdding(false) : undefined}
      />
    );
  return (
    <div className={fields.addable}>
      <Field label="Repository" hint={repo && <code>{repo.path}</code>} error={error}>
        <Select value={value ?? ""} onChange={(event) => onChange(event.target.value)}>
          {!repo && <option value="">Choose a repository</option>}
          {repos.map((entry) => (
            <option key={entry.id} value={entry.id}>
              {entry.name}
              {entry.kind === "plain" ? " (plain folder)" : ""}
            </option>
          ))}
        </Select>
      </Field>
      <Button icon={<FolderPlus />} onClick={() => setAdding(true)} className={fields.beside}>
        Add
      </Button>
    </div>
  );
}

function AddRepo({ onAdded, onBack }: { onAdded: (repo: Repo) => void; onBack?: () => void }) {
  const queries = useQueryClient();
  const [path, setPath] = useState("");
  const [wrong, setWrong] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const add = async () => {
    if (busy) return;
    if (!path.trim()) return setWrong("Enter the full path of the folder.");
    setBusy(true);
    setWrong(null);
    try {
      const repo = await addRepo({ path: path.trim() });
      // Shown at once, before the list is fetched again.
      queries.setQueryData<Repo[]>(reposQuery.queryKey, (known) =>
        known?.some((item) => item.id === repo.id) ? known : [...(known ?? []), repo],
      );
      onAdded(repo);
    } catch (error) {
      setWrong(messageOf(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <div className={css.part}>
      <Field
        label="Repository path"
        hint={
          <>
            Full path on the machine where Bough runs. Folders without git work too. Or{" "}
            <Link href={routes.addRepo}>find, browse or clone</Link> one.
          </>
        }
        error={wrong}
      >
        <Input
          value={path}
          onChange={(event) => setPath(event.target.value)}
          onKeyDown={(event) => {
            if (event.key !== "Enter") return;
            // Enter adds the folder and does not submit the form.
            event.preventDefault();
            event.stopPropagation();
            void add();
          }}
          placeholder="/home/me/project"
          autoCapitalize="none"
          autoComplete="off"
          spellCheck={false}
        />
      </Field>
      <div className={css.row}>
        <Button variant="primary" busy={busy} onClick={() => void add()} icon={<FolderPlus />}>
          Add folder
        </Button>
        {onBack && <Button onClick={onBack}>Back</Button>}
      </div>
    </div>
  );
}
