/** Answers what is selected in the inbox. */
import { Check, X } from "lucide-react";
import { useState } from "react";
import { runRequest, seeSession } from "@/api/actions";
import { plural } from "@/lib/format";
import { Button } from "@/ui/controls/Button";
import { answerAll } from "./answerAll";
import css from "./Inbox.module.css";

export interface Selected {
  approvals: string[];
  sessions: string[];
}

export function SelectionBar({ selected, clear }: { selected: Selected; clear: () => void }) {
  const [busy, setBusy] = useState<"allow" | "deny" | "see" | null>(null);
  const { approvals, sessions } = selected;
  const run = async (which: "allow" | "deny" | "see") => {
    setBusy(which);
    let done = true;
    if (which === "see") await runRequest(() => Promise.all(sessions.map((id) => seeSession(id))));
    else done = await answerAll(approvals, which);
    setBusy(null);
    // What was not answered stays selected.
    if (done) clear();
  };
  if (!approvals.length && !sessions.length) return null;
  const disabled = busy !== null;
  return (
    <div className={css.bar} role="toolbar" aria-label="Selected items">
      <span className={css.barCount}>{plural(approvals.length + sessions.length, "item")} selected</span>
      {approvals.length > 0 && (
        <>
          <Button
            size="small"
            variant="primary"
            icon={<Check />}
            busy={busy === "allow"}
            disabled={disabled}
            onClick={() => void run("allow")}
          >
            Allow {approvals.length}
          </Button>
          <Button
            size="small"
            variant="danger"
            icon={<X />}
            busy={busy === "deny"}
            disabled={disabled}
            onClick={() => void run("deny")}
          >
            Deny {approvals.length}
          </Button>
        </>
      )}
      {sessions.length > 0 && (
        <Button size="small" busy={busy === "see"} disabled={disabled} onClick={() => void run("see")}>
          Mark {sessions.length} as read
        </Button>
      )}
      <Button size="small" variant="quiet" disabled={disabled} onClick={clear}>
        Clear
      </Button>
    </div>
  );
}
