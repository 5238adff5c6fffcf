/** The view of a race: its racers side by side, their changes, and keeping one of them. */
import { useQueries } from "@tanstack/react-query";
import { Network } from "lucide-react";
import { useMemo, useState } from "react";
import { Link } from "wouter";
import { raceDiffQuery, useRace } from "@/api/queries";
import type { Race as RaceRecord, RacerStatus } from "@/api/types";
import { useActions } from "@/app/keyboard/shortcuts";
import { routes } from "@/app/routes";
import { useTitle } from "@/app/title";
import { firstLine, plural } from "@/lib/format";
import { ButtonLink } from "@/ui/controls/Button";
import { QueryResult, Skeleton } from "@/ui/feedback/Placeholders";
import { Time } from "@/ui/labels/Time";
import { SideBySideDiff } from "@/views/compare/SideBySideDiff";
import { KeepDialog, type KeepResult } from "./KeepDialog";
import css from "./Race.module.css";
import { RacerCard } from "./RacerCard";

export default function Race({ params }: { params: { raceId: string } }) {
  const query = useRace(params.raceId);
  return (
    <QueryResult query={query} loading={<Skeleton lines={4} block />}>
      {(race) => <RaceView key={race.raceId} race={race} />}
    </QueryResult>
  );
}

/** Toggles a racer; a third choice replaces the oldest. */
const toggle = (known: string[], id: string) =>
  known.includes(id) ? known.filter((name) => name !== id) : [...known, id].slice(-2);

function RaceView({ race }: { race: RaceRecord }) {
  const [shown, setShown] = useState(() =>
    race.contenders
      .filter((racer) => racer.files)
      .slice(0, 2)
      .map((racer) => racer.sessionId),
  );
  const [keeping, setKeeping] = useState<RacerStatus | null>(null);
  const [keepResult, setKeepResult] = useState<KeepResult | null>(null);
  const name = firstLine(race.prompt, 90) || "Race";
  useTitle(`${name} · Race`);
  useActions(
    race.contenders.map((racer) => ({
      label: `Show changes of racer ${racer.number}`,
      group: "Race",
      run: () => setShown(toggle(shown, racer.sessionId)),
    })),
  );
  return (
    <div className={css.view}>
      <header className={css.header}>
        <div className={css.names}>
          <h1 className={css.title}>{name}</h1>
          <p className={css.facts}>
            <RaceState race={race} /> · {race.kind === "fork" ? "Forks of" : "Children of"}{" "}
            <Link href={routes.session(race.sessionId)}>this session</Link> · started{" "}
            <Time at={race.createdAt} />
          </p>
        </div>
        <ButtonLink href={routes.tree(race.sessionId)} icon={<Network />}>
          View tree
        </ButtonLink>
      </header>
      {race.prompt.trim() !== name && (
        <details className={css.prompt}>
          <summary>Full prompt</summary>
          <pre>{race.prompt}</pre>
        </details>
      )}
      {keepResult && <Outcome result={keepResult} />}
      <div className={css.contenders}>
        {race.contenders.map((racer) => (
          <RacerCard
            key={racer.sessionId}
            race={race}
            racer={racer}
            shown={shown.includes(racer.sessionId)}
            onShow={() => setShown(toggle(shown, racer.sessionId))}
            onKeep={() => setKeeping(racer)}
          />
        ))}
      </div>
      <Changes race={race} shown={shown} />
      {keeping && (
        <KeepDialog race={race} racer={keeping} onClose={() => setKeeping(null)} onKept={setKeepResult} />
      )}
    </div>
  );
}

function RaceState({ race }: { race: RaceRecord }) {
  const winner = race.contenders.find((racer) => racer.kept);
  if (winner) return <>Decided: kept racer {winner.number}</>;
  const open = race.contenders.filter(
    (racer) => !["completed", "failed", "cancelled"].includes(racer.taskStatus ?? "completed"),
  );
  return open.length ? <>{plural(open.length, "racer")} still working</> : <>All finished</>;
}

function Changes({ race, shown }: { race: RaceRecord; shown: string[] }) {
  const racers = race.contenders.filter((racer) => shown.includes(racer.sessionId));
  // If the server could not count a racer's changes, it has no diff either: its worktree is gone, or about to be.
  const diffs = useQueries({
    queries: racers.map((racer) => ({
      ...raceDiffQuery(race.raceId, racer.sessionId),
      enabled: racer.files !== null,
    })),
  });
  const texts = diffs.map((diff) => diff.data?.text);
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs when the texts change
  const sides = useMemo(
    () =>
      racers.map((racer, at) => {
        const diff = diffs[at]!;
        const unknown = diff.error !== null || racer.files === null;
        return {
          key: racer.sessionId,
          title: `Racer ${racer.number}, ${racer.title || [racer.agent, racer.model].filter(Boolean).join(" ")}`,
          patch: texts[at] ?? (unknown ? "" : undefined),
          note: diff.error?.message ?? (diff.data ? diff.data.note : racer.note),
        };
      }),
    [shown.join(), ...texts, ...racers.map((racer) => racer.files === null)],
  );
  return (
    <section className={css.changes} aria-labelledby="race-changes">
      <h2 id="race-changes">Changes</h2>
      {sides.length ? (
        <SideBySideDiff sides={sides} />
      ) : (
        <p className={css.facts}>Choose one or two racers to see their changes.</p>
      )}
    </section>
  );
}

function Outcome({ result }: { result: KeepResult }) {
  const into = result.into ? ` into ${result.into}` : "";
  const words = {
    merge: result.merged === "none" ? "Nothing to merge." : `Merged${into}.`,
    checkout: "Its files were copied, not committed.",
    branch: `Its branch${result.branch ? ` ${result.branch}` : ""} was kept.`,
  };
  const recoverable = (result.others ?? []).filter((item) => item.recover || item.message);
  return (
    <section className={css.outcome} role="status" aria-label="Result">
      <p>{words[result.how]}</p>
      {recoverable.length > 0 && (
        <>
          <p>The others were archived. To recover one:</p>
          <ul>
            {recoverable.map((item) => (
              <li key={item.sessionId}>
                {item.message} {item.recover && <code>{item.recover}</code>}
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}
