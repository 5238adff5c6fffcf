/** A racer: its state, usage, changes and last answer. */
import { useQuery } from "@tanstack/react-query";
import { ArrowUpRight, Check, Trophy } from "lucide-react";
import { lastTextQuery } from "@/api/queries";
import type { Race, RacerStatus } from "@/api/types";
import { routes } from "@/app/routes";
import { duration, money, plural, tokens } from "@/lib/format";
import { Button, ButtonLink } from "@/ui/controls/Button";
import { AgentMark } from "@/ui/labels/AgentMark";
import { Badge, StateMark } from "@/ui/labels/Badge";
import { Markdown } from "@/ui/markdown/Markdown";
import css from "./RacerCard.module.css";

export interface RacerCardProps {
  race: Race;
  one: RacerStatus;
  shown: boolean;
  onShow: () => void;
  onKeep: () => void;
}

export function RacerCard({ race, one, shown, onShow, onKeep }: RacerCardProps) {
  const answer = useQuery(lastTextQuery(one.sessionId));
  const decided = race.keptSessionId !== null;
  const busy = one.activity === "running" || one.activity === "waiting_permission";
  const id = `racer-${one.number}`;
  return (
    <article
      className={css.card}
      data-kept={one.kept || undefined}
      data-shown={shown || undefined}
      aria-labelledby={id}
    >
      <div className={css.top}>
        <StateMark state={one} showLabel />
        {one.kept && (
          <Badge tone="accent" icon={<Trophy />}>
            Kept
          </Badge>
        )}
        {decided && !one.kept && <Badge>Archived</Badge>}
      </div>
      <h2 id={id} className={css.name}>
        <span className={css.number}>{one.number}</span>
        <AgentMark agent={one.agent} showName />
        {one.model && <code>{one.model}</code>}
      </h2>
      {one.title && <p className={css.title}>{one.title}</p>}
      <dl className={css.facts}>
        <div>
          <dt>Time</dt>
          <dd>{one.turns ? duration(one.seconds) : busy ? "working" : "–"}</dd>
        </div>
        <div>
          <dt>Tokens</dt>
          <dd>{tokens(one.tokens)}</dd>
        </div>
        <div>
          <dt>Cost</dt>
          <dd>{money(one.cost)}</dd>
        </div>
        <div>
          <dt>Changed</dt>
          <dd>
            {one.files === null ? (
              "–"
            ) : (
              <>
                {plural(one.files, "file")} <span className={css.added}>+{one.insertions}</span>{" "}
                <span className={css.removed}>−{one.deletions}</span>
              </>
            )}
          </dd>
        </div>
      </dl>
      {one.note && <p className={css.note}>{one.note}</p>}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard */}
      <section className={css.words} tabIndex={0} aria-label={`Last answer of racer ${one.number}`}>
        {answer.data ? <Markdown text={answer.data} /> : <p className={css.none}>No messages yet.</p>}
      </section>
      <div className={css.actions}>
        <Button size="small" aria-pressed={shown} icon={shown ? <Check /> : undefined} onClick={onShow}>
          {shown ? "Changes shown" : "Show changes"}
        </Button>
        <ButtonLink size="small" href={routes.session(one.sessionId)} icon={<ArrowUpRight />}>
          Open
        </ButtonLink>
        {(!decided || one.kept) && (
          <Button
            size="small"
            variant={decided ? "plain" : "primary"}
            icon={<Trophy />}
            disabled={busy}
            onClick={onKeep}
          >
            {decided ? "Apply its changes…" : "Keep this one…"}
          </Button>
        )}
      </div>
    </article>
  );
}
