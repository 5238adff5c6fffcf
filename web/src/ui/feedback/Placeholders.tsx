/** What a view shows when it has nothing, not yet, or not any more: empty, loading, refused, gone. */
import type { UseQueryResult } from "@tanstack/react-query";
import { CircleAlert, CloudOff, Lock, RotateCw, SearchX } from "lucide-react";
import type { ReactNode } from "react";
import { ApiError } from "@/api/client";
import { Button, ButtonLink } from "../controls/Button";
import css from "./Placeholders.module.css";

export function Empty({
  icon,
  title,
  heading: Heading = "h2",
  children,
  actions,
}: {
  icon?: ReactNode;
  title: string;
  /** `h1` where it is all that a view has to say. */
  heading?: "h1" | "h2";
  children?: ReactNode;
  actions?: ReactNode;
}) {
  return (
    <div className={css.state}>
      {icon && (
        <div className={css.icon} aria-hidden>
          {icon}
        </div>
      )}
      <Heading className={css.title}>{title}</Heading>
      {children && <div className={css.text}>{children}</div>}
      {actions && <div className={css.actions}>{actions}</div>}
    </div>
  );
}

/** Grey shapes where text will be. */
export function Skeleton({ lines = 3, block = false }: { lines?: number; block?: boolean }) {
  return (
    <div className={css.skeleton} role="status" aria-label="Loading">
      {Array.from({ length: lines }, (_, at) => at).map((at) => (
        <span
          key={at}
          className={block ? css.block : css.line}
          style={{ width: `${92 - ((at * 23) % 45)}%` }}
        />
      ))}
    </div>
  );
}

/** What went wrong, in the server's own sentence, and the next step. */
export function Problem({ error, retry }: { error: unknown; retry?: () => void }) {
  const known = error instanceof ApiError ? error : null;
  const again = retry && (
    <Button icon={<RotateCw />} onClick={retry}>
      Try again
    </Button>
  );
  if (known?.code === "offline")
    return (
      <Empty icon={<CloudOff />} title="The server cannot be reached" actions={again}>
        The page tries again by itself. If you stopped the server, start it with <code>bough serve</code>;
        nothing is lost.
      </Empty>
    );
  if (known?.status === 401 || known?.status === 403)
    return (
      <Empty
        icon={<Lock />}
        title={known.status === 401 ? "This page is locked" : "This is not allowed"}
        actions={again}
      >
        {known.message}
      </Empty>
    );
  if (known?.status === 404)
    return (
      <Empty
        icon={<SearchX />}
        title="There is no such thing"
        actions={<ButtonLink href="/">Go home</ButtonLink>}
      >
        {known.message} It may have been removed.
      </Empty>
    );
  return (
    <Empty icon={<CircleAlert />} title="That did not work" actions={again}>
      {known ? known.message : error instanceof Error ? error.message : String(error)}
      {known?.id && <div className={css.id}>Its id in the server's log: {known.id}</div>}
    </Empty>
  );
}

/** A question's answer, or how it stands with it. */
export function QueryResult<T>({
  query,
  children,
  loading,
}: {
  query: UseQueryResult<T>;
  children: (data: T) => ReactNode;
  loading?: ReactNode;
}) {
  if (query.data !== undefined) return children(query.data);
  if (query.error) return <Problem error={query.error} retry={() => void query.refetch()} />;
  return loading ?? <Skeleton />;
}
