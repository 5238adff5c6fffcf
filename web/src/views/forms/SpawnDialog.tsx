import type { Session } from "@/api/types";

export interface SpawnDialogProps {
  session: Session;
  open: boolean;
  onClose: () => void;
}

export function SpawnDialog({ open }: SpawnDialogProps) {
  return open ? <p>Spawn</p> : null;
}
