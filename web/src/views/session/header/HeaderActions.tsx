/** The acts that stand beside the title: stopping and resuming always, branching where there is room. */
import { useState } from "react";
import { Button } from "@/ui/controls/Button";
import css from "./Header.module.css";
import type { Act } from "./sessionActions";

export function MainActs({ acts }: { acts: Act[] }) {
  const [busy, setBusy] = useState<string | null>(null);
  const run = async (one: Act) => {
    setBusy(one.id);
    await one.run();
    setBusy(null);
  };
  return acts
    .filter((one) => one.main)
    .map((one) => (
      <Button
        key={one.id}
        icon={one.icon}
        look={one.danger ? "danger" : one.main === "urgent" ? "primary" : "plain"}
        busy={busy === one.id}
        className={one.main === "often" ? css.often : ""}
        aria-keyshortcuts={one.keys}
        onClick={() => void run(one)}
      >
        {one.label}
      </Button>
    ));
}
