/** Shows the command that continues a session in its agent's own terminal program. Bough ends its idle agent for this. */
import { useQuery } from "@tanstack/react-query";
import { terminalCommand } from "@/api/actions";
import type { Session } from "@/api/types";
import { Code } from "@/ui/code/Code";
import { Button } from "@/ui/controls/Button";
import { Dialog } from "@/ui/controls/Dialog";
import { Problem, Skeleton } from "@/ui/feedback/Placeholders";

export interface TerminalDialogProps {
  session: Session;
  open: boolean;
  onClose: () => void;
}

export function TerminalDialog(props: TerminalDialogProps) {
  return props.open ? <Command {...props} /> : null;
}

function Command({ session, onClose }: TerminalDialogProps) {
  const command = useQuery({
    queryKey: ["terminalCommand", session.id],
    queryFn: () => terminalCommand(session.id),
    staleTime: 0,
    gcTime: 0,
    retry: false,
    refetchOnWindowFocus: false,
  });
  return (
    <Dialog
      open
      onClose={onClose}
      title="Open in terminal"
      description="Run this on the server’s machine. What you say there is added to this transcript before the next turn. Do not prompt the session here meanwhile."
      footer={<Button onClick={onClose}>Close</Button>}
    >
      {command.error ? (
        <Problem error={command.error} retry={() => void command.refetch()} />
      ) : command.data ? (
        <Code text={command.data.command} language="sh" />
      ) : (
        <Skeleton lines={1} />
      )}
    </Dialog>
  );
}
