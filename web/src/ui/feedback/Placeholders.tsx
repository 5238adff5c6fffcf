/** Shown in place of content that is empty, loading or failed to load. */
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
  /** `h1` where this is the whole view. */
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

/** Gray lines in place of text that is loading. */
export function Skeleton({ lines = 3, block = false }: { lines?: number; block?: boolean }) {
  return (
    <div className={css.skeleton} role="status" aria-label="Loading">
      {Array.from({ length: lines }, (_, index) => index).map((index) => (
        <span
          key={index}
          className={block ? css.block : css.line}
          style={{ width: `${92 - ((index * 23) % 45)}%` }}
        />
      ))}
    </div>
  );
}

/** Shows the server's error message and what to do next. */
export function Problem({ error, retry }: { error: unknown; retry?: () => void }) {
  const apiError = error instanceof ApiError ? error : null;
  const retryButton = retry && (
    <Button icon={<RotateCw />} onClick={retry}>
      Try again
    </Button>
  );
  if (apiError?.code === "offline")
    return (
      <Empty icon={<CloudOff />} title="Can’t reach the server" actions={retryButton}>
        Retrying automatically. If you stopped the server, start it again with <code>bough serve</code>;
        nothing is lost.
      </Empty>
    );
  if (apiError?.status === 401 || apiError?.status === 403)
    return (
      <Empty
        icon={<Lock />}
        title={apiError.status === 401 ? "This page is locked" : "Not allowed"}
        actions={retryButton}
      >
        {apiError.message}
      </Empty>
    );
  if (apiError?.status === 404)
    return (
      <Empty icon={<SearchX />} title="Not found" actions={<ButtonLink href="/">Go home</ButtonLink>}>
        {apiError.message} It may have been deleted.
      </Empty>
    );
  return (
    <Empty icon={<CircleAlert />} title="Something went wrong" actions={retryButton}>
      {apiError ? apiError.message : error instanceof Error ? error.message : String(error)}
      {apiError?.id && <div className={css.id}>Error ID in the server log: {apiError.id}</div>}
    </Empty>
  );
}

/** Shows a query's data, or its loading or failed state. */
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
