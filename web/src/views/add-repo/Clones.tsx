/** The clones under way with their progress, and the last that ended. */
import { useQuery } from "@tanstack/react-query";
import { CircleAlert, CircleCheck, CircleSlash, LoaderCircle } from "lucide-react";
import { cancelClone, runRequest } from "@/api/actions";
import { clonesQuery } from "@/api/queries";
import type { Clone } from "@/api/types";
import { routes } from "@/app/routes";
import { bytes } from "@/lib/format";
import { Button, ButtonLink } from "@/ui/controls/Button";
import { Problem } from "@/ui/feedback/Placeholders";
import { Time } from "@/ui/labels/Time";
import css from "./AddRepo.module.css";

const MOST_SHOWN = 5;
const PHASES: Record<Clone["phase"], string> = {
  connecting: "Connecting",
  receiving: "Receiving",
  resolving: "Resolving",
  checking_out: "Writing files",
  placing: "Finishing",
};
const MARKS = {
  cloning: <LoaderCircle aria-hidden className={css.turning} />,
  done: <CircleCheck aria-hidden className={css.done} />,
  failed: <CircleAlert aria-hidden className={css.failed} />,
  cancelled: <CircleSlash aria-hidden className={css.ended} />,
};

export function Clones() {
  const query = useQuery(clonesQuery);
  if (query.error && !query.data) return <Problem error={query.error} retry={() => void query.refetch()} />;
  const clones = query.data ?? [];
  if (!clones.length) return null;
  const shown = clones.filter((clone, at) => clone.state === "cloning" || at < MOST_SHOWN);
  return (
    <ul className={css.rows} aria-label="Clones">
      {shown.map((clone) => (
        <Row key={clone.id} clone={clone} />
      ))}
    </ul>
  );
}

function Row({ clone }: { clone: Clone }) {
  const { address, path, state, error, repoId } = clone;
  return (
    <li className={css.row}>
      {MARKS[state]}
      <div className={css.words}>
        <span className={css.name}>{address}</span>
        <span className={css.path} title={path}>
          {path}
        </span>
        {state === "cloning" && <Progress clone={clone} />}
        {error && <p className={css.error}>{error}</p>}
      </div>
      {clone.endedAt && state !== "cloning" && (
        <span className={css.when}>
          {state === "cancelled" ? "Cancelled " : ""}
          <Time at={clone.endedAt} />
        </span>
      )}
      {state === "cloning" && clone.phase !== "placing" && (
        <Button
          size="small"
          aria-label={`Cancel the clone of ${address}`}
          onClick={() => void runRequest(() => cancelClone(clone.id))}
        >
          Cancel
        </Button>
      )}
      {state === "done" && repoId && (
        <ButtonLink size="small" href={routes.newIn(repoId)}>
          New session
        </ButtonLink>
      )}
    </li>
  );
}

function Progress({ clone }: { clone: Clone }) {
  const { phase, percent, received } = clone;
  const words = [
    PHASES[phase],
    percent === null ? "" : `${percent}%`,
    received === null ? "" : bytes(received),
  ];
  return (
    <div className={css.progress}>
      <progress aria-label={`Clone of ${clone.address}`} max={100} value={percent ?? undefined} />
      <span>{words.filter(Boolean).join(" · ")}</span>
    </div>
  );
}
