/** A search result, linked to its message. */
import { Link } from "wouter";
import type { SearchHit } from "@/api/types";
import { routes } from "@/app/routes";
import { AgentMark } from "@/ui/labels/AgentMark";
import { Badge } from "@/ui/labels/Badge";
import { Time } from "@/ui/labels/Time";
import css from "./Search.module.css";
import { splitAtMarks } from "./searchParams";

const KINDS: Record<string, string> = {
  thought: "Thought",
  tool: "Tool",
  plan: "Plan",
  callback: "Report",
  btw: "Side question",
  error: "Error",
  session: "Title",
};

export function SearchResult({ hit }: { hit: SearchHit }) {
  const kind = KINDS[hit.type] ?? (hit.role === "user" ? "Prompt" : "Answer");
  return (
    <Link href={routes.session(hit.sessionId, hit.messageId ?? undefined)} className={css.hit}>
      <span className={css.about}>
        <AgentMark agent={hit.agent} />
        <span className={css.title}>{hit.sessionTitle || "Untitled session"}</span>
        <Badge>{kind}</Badge>
        <span className={css.time}>
          <Time at={hit.createdAt} />
        </span>
      </span>
      <span className={css.snippet}>
        {splitAtMarks(hit.snippet, hit.marks).map((part, at) =>
          // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a snippet never change their order
          part.hit ? <mark key={at}>{part.text}</mark> : <span key={at}>{part.text}</span>,
        )}
      </span>
    </Link>
  );
}
