/** Says, above the composer, that the running turn works in another mode than the next prompt will, and offers to apply it. */
import { ShieldAlert } from "lucide-react";
import { useState } from "react";
import { applyMode, runRequest } from "@/api/actions";
import type { Session, Task } from "@/api/types";
import { modeName } from "@/lib/words";
import { Button } from "@/ui/controls/Button";
import css from "./Session.module.css";
import { turnMode } from "./sessionState";

export function ModeNotice({ session, task }: { session: Session; task: Task | null }) {
  const [busy, setBusy] = useState(false);
  const current = turnMode(session, task);
  if (!current) return null;
  const apply = async () => {
    setBusy(true);
    await runRequest(() => applyMode(session.id));
    setBusy(false);
  };
  return (
    <div className={`${css.banner} ${css.waiting}`} role="status">
      <ShieldAlert aria-hidden />
      <p>
        Mode {modeName(session.permissionMode)} counts from the next prompt. This turn works in mode{" "}
        {modeName(current)}.
      </p>
      <Button size="small" busy={busy} onClick={() => void apply()}>
        Apply now
      </Button>
    </div>
  );
}
