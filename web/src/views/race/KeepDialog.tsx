/** Keeps one racer: asks how to apply its changes, and says what happens to the others. */
import { useState } from "react";
import { keepRacer } from "@/api/actions";
import { ApiError } from "@/api/client";
import type { Race, RacerStatus } from "@/api/types";
import { plural } from "@/lib/format";
import { Button } from "@/ui/controls/Button";
import { Dialog } from "@/ui/controls/Dialog";
import { Switch } from "@/ui/controls/Field";
import css from "./KeepDialog.module.css";

export type KeepResult = Awaited<ReturnType<typeof keepRacer>>;
type How = KeepResult["how"];

const WAYS: { how: How; name: string; words: (race: Race) => string }[] = [
  {
    how: "merge",
    name: "Merge",
    words: (race) => `Merges its commits into the branch checked out in ${race.cwd}.`,
  },
  {
    how: "checkout",
    name: "Copy its files",
    words: (race) => `Replaces the files in ${race.cwd} with its files, uncommitted. Can be undone.`,
  },
  {
    how: "branch",
    name: "Keep its branch only",
    words: () => "Merges nothing. Its branch and worktree stay.",
  },
];
/** Refusals that the user can override. */
const FORCEABLE = new Set(["folder_busy", "source_changed"]);

export function KeepDialog({
  race,
  racer,
  onClose,
  onKept,
}: {
  race: Race;
  racer: RacerStatus;
  onClose: () => void;
  onKept: (result: KeepResult) => void;
}) {
  const [how, setHow] = useState<How>("merge");
  const [force, setForce] = useState(false);
  const [busy, setBusy] = useState(false);
  const [refused, setRefused] = useState<ApiError | null>(null);
  const others = race.contenders.filter((other) => other.sessionId !== racer.sessionId && !other.archived);
  const working = others.filter((other) => other.activity !== "idle" && other.activity !== "not_started");
  // Overrides only the last refusal, not another one that follows.
  const forceable = refused !== null && FORCEABLE.has(refused.code);
  const choose = (next: How) => {
    setHow(next);
    setRefused(null);
    setForce(false);
  };
  const keep = async () => {
    setBusy(true);
    try {
      onKept(await keepRacer(race.raceId, { sessionId: racer.sessionId, how, force: forceable && force }));
      onClose();
    } catch (error) {
      setForce(false);
      setRefused(error instanceof ApiError ? error : new ApiError("unknown", String(error), 0));
    }
    setBusy(false);
  };
  return (
    <Dialog
      open
      onClose={onClose}
      onSubmit={() => void keep()}
      title={`Keep racer ${racer.number}, ${racer.agent}?`}
      description="Uncommitted changes are first committed to its branch."
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" variant="primary" busy={busy}>
            Keep this one
          </Button>
        </>
      }
    >
      <fieldset className={css.ways}>
        <legend className={css.legend}>How to apply its changes</legend>
        {WAYS.map((way) => (
          <label key={way.how} className={css.way}>
            <input type="radio" name="how" checked={how === way.how} onChange={() => choose(way.how)} />
            <span>
              <strong>{way.name}</strong>
              <span className={css.words}>{way.words(race)}</span>
            </span>
          </label>
        ))}
      </fieldset>
      {others.length > 0 && (
        <div className={css.others}>
          <h3>Other racers</h3>
          <p>
            {plural(others.length, "session is", "sessions are")} archived
            {working.length > 0 && `; ${plural(working.length, "is", "are")} stopped first`}, with their
            descendants. Their worktrees are removed and can be recovered.
          </p>
        </div>
      )}
      {refused && (
        <p className={css.refused} role="alert">
          {refused.message}
        </p>
      )}
      {forceable && <Switch label="Override" checked={force} onChange={setForce} />}
    </Dialog>
  );
}
