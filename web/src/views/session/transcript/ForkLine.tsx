/** Where a fork parts from the session that it was made from. */
import { GitFork } from "lucide-react";
import { Link } from "wouter";
import { useSession } from "@/api/queries";
import { routes } from "@/app/routes";
import { nameOf } from "@/lib/words";
import { useAround } from "./TranscriptContext";
import css from "./TranscriptView.module.css";

export function ForkLine() {
  const { session } = useAround();
  const from = session.forkedFromSessionId ?? "";
  const { data } = useSession(from);
  return (
    <div className={css.fork} data-row="fork">
      <GitFork aria-hidden />
      <span>
        {session.kind === "btw" ? "Asked aside here, from " : "Forked here from "}
        <Link href={routes.session(from)}>{data ? nameOf(data) : "another session"}</Link>
      </span>
    </div>
  );
}
