/** Marks where a fork's own messages begin, with a link to the session it was forked from. */
import { GitFork } from "lucide-react";
import { Link } from "wouter";
import { useSession } from "@/api/queries";
import { routes } from "@/app/routes";
import { sessionName } from "@/lib/words";
import { useTranscriptContext } from "./TranscriptContext";
import css from "./TranscriptView.module.css";

export function ForkLine() {
  const { session } = useTranscriptContext();
  const originId = session.forkedFromSessionId ?? "";
  const { data: origin } = useSession(originId);
  return (
    <div className={css.fork} data-row="fork">
      <GitFork aria-hidden />
      <span>
        {session.kind === "btw" ? "Side question to " : "Forked from "}
        <Link href={routes.session(originId)}>{origin ? sessionName(origin) : "another session"}</Link>
      </span>
    </div>
  );
}
