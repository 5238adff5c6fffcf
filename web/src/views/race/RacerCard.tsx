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
  racer: RacerStatus;
  shown: boolean;
  onShow: () => void;
  onKeep: () => void;
}

export function RacerCard({ race, racer, shown, onShow, onKeep }: RacerCardProps) {
  const answer = useQuery(lastTextQuery(racer.sessionId));
  const decided = race.keptSessionId !== null;
  const busy = racer.activity === "running" || racer.activity === "waiting_permission";
  const id = `racer-${racer.number}`;
  return (
    <article
      className={css.card}
      data-kept={racer.kept || undefined}
      data-shown={shown || undefined}
      aria-labelledby={id}
    >
      <div className={css.top}>
        <StateMark state={racer} showLabel />
        {racer.kept && (
          <Badge tone="accent" icon={<Trophy />}>
            Kept
          </Badge>
        )}
        {decided && !racer.kept && <Badge>Archived</Badge>}
      </div>
      <h2 id={id} className={css.name}>
        <span className={css.number}>{racer.number}</span>
        <AgentMark agent={racer.agent} showName />
        {racer.model && <code>{racer.model}</code>}
      </h2>
      {racer.title && <p className={css.title}>{racer.title}</p>}
      <dl className={css.facts}>
        <div>
          <dt>Time</dt>
          <dd>{racer.turns ? duration(racer.seconds) : busy ? "working" : "–"}</dd>
        </div>
        <div>
          <dt>Tokens</dt>
          <dd>{tokens(racer.tokens)}</dd>
        </div>
        <div>
          <dt>Cost</dt>
          <dd>{money(racer.cost)}</dd>
        </div>
        <div>
          <dt>Changed</dt>
          <dd>
            {racer.files === null ? (
              "–"
            ) : (
              <>
                {plural(racer.files, "file")} <span className={css.added}>+{racer.insertions}</span>{" "}
                <span className={css.removed}>−{racer.deletions}</span>
              </>
            )}
          </dd>
        </div>
      </dl>
      {racer.note && <p className={css.note}>{racer.note}</p>}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard */}
      <section className={css.words} tabIndex={0} aria-label={`Last answer of racer ${racer.number}`}>
        {answer.data ? <Markdown text={answer.data} /> : <p className={css.none}>No messages yet.</p>}
      </section>
      <div className={css.actions}>
        <Button size="small" aria-pressed={shown} icon={shown ? <Check /> : undefined} onClick={onShow}>
          {shown ? "Changes shown" : "Show changes"}
        </Button>
        <ButtonLink size="small" href={routes.session(racer.sessionId)} icon={<ArrowUpRight />}>
          Open
        </ButtonLink>
        {(!decided || racer.kept) && (
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
