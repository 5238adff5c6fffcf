import type { Session } from "@/api/types";

export interface RaceDialogProps {
  session: Session;
  open: boolean;
  onClose: () => void;
}

export function RaceDialog({ open }: RaceDialogProps) {
  return open ? <p>Race</p> : null;
}
