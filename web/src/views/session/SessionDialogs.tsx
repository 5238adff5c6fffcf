/** The dialogs that a session opens; at most one at a time. */
import type { Session } from "@/api/types";
import { DeleteDialog } from "@/views/forms/dialogs/DeleteDialog";
import { ForkDialog } from "@/views/forms/dialogs/ForkDialog";
import { RaceDialog } from "@/views/forms/dialogs/RaceDialog";
import { AsideDialog } from "@/views/forms/dialogs/SideQuestionDialog";
import { SpawnDialog } from "@/views/forms/dialogs/SpawnDialog";

export type Opened = "fork" | "spawn" | "aside" | "race" | "delete";

export function SessionDialogs({
  session,
  opened,
  onClose,
}: {
  session: Session;
  opened: { which: Opened; taskId?: string } | null;
  onClose: () => void;
}) {
  const is = (which: Opened) => ({ session, open: opened?.which === which, onClose });
  return (
    <>
      <ForkDialog {...is("fork")} taskId={opened?.taskId} />
      <SpawnDialog {...is("spawn")} />
      <AsideDialog {...is("aside")} />
      <RaceDialog {...is("race")} />
      <DeleteDialog {...is("delete")} />
    </>
  );
}
