import type { Session } from "@/api/types";

export interface AsideDialogProps {
  session: Session;
  open: boolean;
  onClose: () => void;
}

export function AsideDialog({ open }: AsideDialogProps) {
  return open ? <p>Aside</p> : null;
}
