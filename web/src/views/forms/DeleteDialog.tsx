import type { Session } from "@/api/types";

export interface DeleteDialogProps {
  session: Session;
  open: boolean;
  onClose: () => void;
}

export function DeleteDialog({ open }: DeleteDialogProps) {
  return open ? <p>Delete</p> : null;
}
