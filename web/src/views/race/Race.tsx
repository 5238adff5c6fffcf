/** A race: those who run side by side, what each has changed, and keeping one of them. */
import { useQueries } from "@tanstack/react-query";
import { Network } from "lucide-react";
import { useMemo, useState } from "react";
import { Link } from "wouter";
import { raceDiffQuery, useRace } from "@/api/queries";
import type { Race as RaceRecord, Standing } from "@/api/types";
import { useActions } from "@/app/keyboard/shortcuts";
import { routes } from "@/app/routes";
import { useTitle } from "@/app/title";
import { firstLine, plural } from "@/lib/format";
import { ButtonLink } from "@/ui/controls/Button";
import { QueryResult, Skeleton } from "@/ui/feedback/Placeholders";
import { Time } from "@/ui/labels/Time";
import { SideBySide } from "@/views/compare/SideBySideDiff";
import { KeepDialog, type Kept } from "./KeepDialog";
import css from "./Race.module.css";
import { Contender } from "./RacerCard";

export default function Race({ params }: { params: { raceId: string } }) {
  const query = useRace(params.raceId);
  return (
    <QueryResult query={query} loading={<Skeleton lines={4} block />}>
      {(race) => <Shown key={race.raceId} race={race} />}
    </QueryResult>
  );
}

/** The newest choice replaces the older of two. */
const chosen = (known: string[], id: string) =>
  known.includes(id) ? known.filter((one) => one !== id) : [...known, id].slice(-2);

function Shown({ race }: { race: RaceRecord }) {
  const [looked, setLooked] = useState(() =>
    race.contenders
      .filter((one) => one.files)
      .slice(0, 2)
      .map((one) => one.sessionId),
  );
  const [keeping, setKeeping] = useState<Standing | null>(null);
  const [kept, setKept] = useState<Kept | null>(null);
  const name = firstLine(race.prompt, 90) || "A race";
  useTitle(`${name} · Race`);
  useActions(
    race.contenders.map((one) => ({
      label: `Show changes of racer ${one.number}`,
      group: "Race",
      run: () => setLooked(chosen(looked, one.sessionId)),
    })),
  );
  return (
    <div className={css.view}>
      <header className={css.header}>
        <div className={css.names}>
          <h1 className={css.title}>{name}</h1>
          <p className={css.facts}>
            <StateOf race={race} /> · {race.kind === "fork" ? "Forks of" : "Children of"}{" "}
            <Link href={routes.session(race.sessionId)}>this session</Link> · begun{" "}
            <Time at={race.createdAt} />
          </p>
        </div>
        <ButtonLink href={routes.tree(race.sessionId)} icon={<Network />}>
          Its tree
        </ButtonLink>
      </header>
      {race.prompt.trim() !== name && (
        <details className={css.prompt}>
          <summary>The whole prompt</summary>
          <pre>{race.prompt}</pre>
        </details>
      )}
      {kept && <Outcome kept={kept} />}
      <div className={css.contenders}>
        {race.contenders.map((one) => (
          <Contender
            key={one.sessionId}
            {...{ race, one }}
            looked={looked.includes(one.sessionId)}
            onLook={() => setLooked(chosen(looked, one.sessionId))}
            onKeep={() => setKeeping(one)}
          />
        ))}
      </div>
      <Changes race={race} looked={looked} />
      {keeping && <KeepDialog race={race} one={keeping} onClose={() => setKeeping(null)} onKept={setKept} />}
    </div>
  );
}

function StateOf({ race }: { race: RaceRecord }) {
  const kept = race.contenders.find((one) => one.kept);
  if (kept) return <>Decided: racer {kept.number} was kept</>;
  const open = race.contenders.filter(
    (one) => !["completed", "failed", "cancelled"].includes(one.taskStatus ?? "completed"),
  );
  return open.length ? <>{plural(open.length, "racer")} still at work</> : <>All have finished</>;
}

function Changes({ race, looked }: { race: RaceRecord; looked: string[] }) {
  const shown = race.contenders.filter((one) => looked.includes(one.sessionId));
  const answers = useQueries({ queries: shown.map((one) => raceDiffQuery(race.raceId, one.sessionId)) });
  const texts = answers.map((one) => one.data?.text);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the texts are what counts
  const sides = useMemo(
    () =>
      shown.map((one, at) => ({
        key: one.sessionId,
        title: `Racer ${one.number}, ${one.title || [one.agent, one.model].filter(Boolean).join(" ")}`,
        patch: texts[at] ?? (answers[at]?.error ? "" : undefined),
        note: answers[at]?.error?.message ?? answers[at]?.data?.note,
      })),
    [looked.join(), ...texts],
  );
  return (
    <section className={css.changes} aria-labelledby="race-changes">
      <h2 id="race-changes">Changes</h2>
      {sides.length ? (
        <SideBySide sides={sides} />
      ) : (
        <p className={css.facts}>Choose one or two racers above to see what they changed.</p>
      )}
    </section>
  );
}

function Outcome({ kept }: { kept: Kept }) {
  const into = kept.into ? ` into ${kept.into}` : "";
  const words = {
    merge: kept.merged === "none" ? "There was nothing to merge." : `It was merged${into}.`,
    checkout: "Its files were taken, not committed.",
    branch: `Its branch${kept.branch ? ` ${kept.branch}` : ""} is there to be used.`,
  };
  const back = (kept.others ?? []).filter((one) => one.recover || one.message);
  return (
    <section className={css.outcome} role="status" aria-label="What was done">
      <p>{words[kept.how]}</p>
      {back.length > 0 && (
        <>
          <p>The others were put away. To get one back:</p>
          <ul>
            {back.map((one) => (
              <li key={one.sessionId}>
                {one.message} {one.recover && <code>{one.recover}</code>}
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}
