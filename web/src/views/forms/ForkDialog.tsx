import type { Session } from "@/api/types";

export interface ForkDialogProps {
  session: Session;
  open: boolean;
  onClose: () => void;
  /** Fork after this task; the last finished one if it is not given. */
  taskId?: string;
}

export function ForkDialog({ open }: ForkDialogProps) {
  return open ? <p>Fork</p> : null;
}
