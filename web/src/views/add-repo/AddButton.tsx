/** Registers a folder, or leads to a new session in it if it is registered. */
import { useState } from "react";
import { addRepo } from "@/api/actions";
import { routes } from "@/app/routes";
import { Button, ButtonLink } from "@/ui/controls/Button";
import { toast, toastError } from "@/ui/feedback/toast";

export function AddButton({ name, path, repoId }: { name: string; path: string; repoId?: string | null }) {
  const [busy, setBusy] = useState(false);
  const add = async () => {
    setBusy(true);
    try {
      const repo = await addRepo({ path });
      toast(`Added ${repo.name}.`);
    } catch (error) {
      toastError(error);
    } finally {
      setBusy(false);
    }
  };
  return repoId ? (
    <ButtonLink size="small" variant="quiet" href={routes.newIn(repoId)} label={`New session in ${name}`}>
      New session
    </ButtonLink>
  ) : (
    <Button size="small" busy={busy} aria-label={`Add ${name}`} onClick={() => void add()}>
      Add
    </Button>
  );
}
