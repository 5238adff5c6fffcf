/** Keeping one contender: in which way, and what becomes of the others, said before it is done. */
import { useState } from "react";
import { keepContender } from "@/api/actions";
import { ApiError } from "@/api/client";
import type { Race, Standing } from "@/api/types";
import { plural } from "@/lib/format";
import { Button } from "@/ui/controls/Button";
import { Dialog } from "@/ui/controls/Dialog";
import { Switch } from "@/ui/controls/Field";
import css from "./KeepDialog.module.css";

export type Kept = Awaited<ReturnType<typeof keepContender>>;
type How = Kept["how"];

const WAYS: { how: How; name: string; words: (race: Race) => string }[] = [
  {
    how: "merge",
    name: "Merge it",
    words: (race) => `Its commits are merged into the branch that is checked out in ${race.cwd}.`,
  },
  {
    how: "checkout",
    name: "Take its files",
    words: (race) => `The files in ${race.cwd} become its files, not committed. This can be undone.`,
  },
  {
    how: "branch",
    name: "Only keep its branch",
    words: () => "Nothing is merged. Its branch and worktree stay.",
  },
];
/** Refusals that a person may overrule. */
const FORCEABLE = new Set(["folder_busy", "source_changed"]);

export function KeepDialog({
  race,
  one,
  onClose,
  onKept,
}: {
  race: Race;
  one: Standing;
  onClose: () => void;
  onKept: (kept: Kept) => void;
}) {
  const [how, setHow] = useState<How>("merge");
  const [force, setForce] = useState(false);
  const [busy, setBusy] = useState(false);
  const [refused, setRefused] = useState<ApiError | null>(null);
  const others = race.contenders.filter((other) => other.sessionId !== one.sessionId && !other.archived);
  const atWork = others.filter((other) => other.activity !== "idle" && other.activity !== "not_started");
  // Only what was refused just now is overruled, never something else that is in the way later.
  const forceable = refused !== null && FORCEABLE.has(refused.code);
  const choose = (next: How) => {
    setHow(next);
    setRefused(null);
    setForce(false);
  };
  const keep = async () => {
    setBusy(true);
    try {
      onKept(await keepContender(race.raceId, { sessionId: one.sessionId, how, force: forceable && force }));
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
      title={`Keep racer ${one.number}, ${one.agent}?`}
      description="What it has not committed becomes a commit on its branch first."
      footer={
        <>
          <Button onClick={onClose}>Not yet</Button>
          <Button type="submit" look="primary" busy={busy}>
            Keep this one
          </Button>
        </>
      }
    >
      <fieldset className={css.ways}>
        <legend className={css.legend}>What to do with its work</legend>
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
          <h3>The others</h3>
          <p>
            {plural(others.length, "other session is", "other sessions are")} archived
            {atWork.length > 0 && `; ${plural(atWork.length, "is", "are")} stopped first`}, with all that came
            from them. Their worktrees are removed, after every file in them is kept so that it can be brought
            back.
          </p>
        </div>
      )}
      {refused && (
        <p className={css.refused} role="alert">
          {refused.message}
        </p>
      )}
      {forceable && <Switch label="Do it anyway" checked={force} onChange={setForce} />}
    </Dialog>
  );
}
