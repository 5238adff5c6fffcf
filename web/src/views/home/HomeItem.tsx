/** A session in a list of the home page. The whole item takes the focus; Enter opens the session. */
import type { KeyboardEvent, ReactNode } from "react";
import { Link, useLocation } from "wouter";
import { routes } from "@/app/routes";
import { AgentMark } from "@/ui/labels/AgentMark";
import css from "./Home.module.css";
import { type HomeSession, repoAndBranch } from "./summaries";

export function HomeItem({
  session,
  canDismiss = false,
  tone,
  mark,
  meta,
  children,
  actions,
  messageHref,
  select,
}: {
  /** Selects the item. */
  select?: ReactNode;
  session: HomeSession;
  /** It can be marked as read. */
  canDismiss?: boolean;
  tone?: "failed" | "done";
  mark?: ReactNode;
  meta?: ReactNode;
  children?: ReactNode;
  actions?: ReactNode;
  messageHref?: string;
}) {
  const [, navigate] = useLocation();
  const href = messageHref ?? routes.session(session.id);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter" && event.target === event.currentTarget) navigate(href);
  };
  return (
    <li
      className={`${css.item} ${tone ? css[tone] : ""}`}
      data-item
      data-dismiss={canDismiss ? session.id : undefined}
      tabIndex={-1}
      onKeyDown={onKeyDown}
    >
      <div className={css.head}>
        {select}
        {mark}
        <h3 className={css.title}>
          <Link href={href}>{session.title || "Untitled session"}</Link>
        </h3>
        <span className={css.meta}>{meta}</span>
      </div>
      <div className={css.place}>
        <AgentMark agent={session.agent} showName />
        <span>{repoAndBranch(session)}</span>
      </div>
      {children}
      {actions && <div className={css.actions}>{actions}</div>}
    </li>
  );
}

/** An item of another kind, such as an approval, whose card takes the focus. Enter opens the session. */
export function FocusableItem({ href, children }: { href: string; children: ReactNode }) {
  const [, navigate] = useLocation();
  return (
    <li
      onKeyDown={(event) => {
        if (event.key === "Enter" && (event.target as HTMLElement).matches("[data-item]")) navigate(href);
      }}
    >
      {children}
    </li>
  );
}
