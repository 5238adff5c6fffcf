/** The buttons beside the title: stop or resume always, branching where there is room. */
import { useState } from "react";
import { Button } from "@/ui/controls/Button";
import css from "./Header.module.css";
import type { SessionAction } from "./sessionActions";

export function HeaderActions({ actions }: { actions: SessionAction[] }) {
  const [busyId, setBusyId] = useState<string | null>(null);
  const run = async (action: SessionAction) => {
    setBusyId(action.id);
    await action.run();
    setBusyId(null);
  };
  return actions
    .filter((action) => action.button)
    .map((action) => (
      <Button
        key={action.id}
        icon={action.icon}
        variant={action.danger ? "danger" : action.button === "urgent" ? "primary" : "plain"}
        busy={busyId === action.id}
        className={action.button === "often" ? css.often : ""}
        aria-keyshortcuts={action.keys}
        onClick={() => void run(action)}
      >
        {action.label}
      </Button>
    ));
}
