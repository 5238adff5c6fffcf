/** Reviews the changes of a worktree, session or task: file tree, diff, comments, and the bar that sends them. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { ArrowLeft, ChevronDown, ChevronUp, FileCheck, RotateCw } from "lucide-react";
import { useCallback, useMemo } from "react";
import { useSearchParams } from "wouter";
import { runRequest, viewFile } from "@/api/actions";
import { useMay } from "@/api/queries";
import { type ReviewKind, reviewFileQuery, reviewQuery } from "@/api/queries/reviews";
import type { ReviewFile, Review as ReviewRecord } from "@/api/types";
import { useActions } from "@/app/keyboard/shortcuts";
import { routes } from "@/app/routes";
import { useTitle } from "@/app/title";
import { plural } from "@/lib/format";
import { useMedia } from "@/lib/media";
import { usePref } from "@/lib/prefs";
import { ButtonLink, IconButton } from "@/ui/controls/Button";
import { Select, Switch } from "@/ui/controls/Field";
import { DiffCounts } from "@/ui/diff/DiffView";
import { Empty, QueryResult, Skeleton } from "@/ui/feedback/Placeholders";
import { CommentView } from "./CommentView";
import { DraftBar } from "./DraftBar";
import { FileDiffPane } from "./FileDiffPane";
import { FileTree, ordered } from "./FileTree";
import css from "./Review.module.css";

const KINDS: Record<string, ReviewKind> = { worktree: "worktree", session: "session", task: "task" };
const WIDE = "(min-width: 60rem)";
const NARROW = "(max-width: 48rem)";

export default function Review({ params }: { params: { kind: string; subjectId: string } }) {
  const kind = KINDS[params.kind] ?? "session";
  const query = useQuery(reviewQuery(kind, params.subjectId));
  return (
    <QueryResult query={query} loading={<Skeleton lines={8} />}>
      {(review) => <LoadedReview kind={kind} review={review} onRefresh={() => void query.refetch()} />}
    </QueryResult>
  );
}

function LoadedReview({
  kind,
  review,
  onRefresh,
}: {
  kind: ReviewKind;
  review: ReviewRecord;
  onRefresh: () => void;
}) {
  useTitle(`${review.title || "Review"} · Review`);
  const queries = useQueryClient();
  const mayWork = useMay("operator");
  const isWide = useMedia(WIDE);
  const isNarrow = useMedia(NARROW);
  const [split, setSplit] = usePref("diff.split", true);
  const [whole, setWhole] = usePref("review.whole", false);
  const [search, setSearch] = useSearchParams();
  const files = useMemo(() => ordered(review.files), [review.files]);
  const file = files.find(({ path }) => path === search.get("file")) ?? files[0];
  const at = file ? files.indexOf(file) : -1;
  const select = useCallback(
    (path: string | undefined) => path !== undefined && setSearch({ file: path }, { replace: true }),
    [setSearch],
  );
  const refresh = () => {
    void queries.invalidateQueries({ queryKey: ["review"] });
    void queries.invalidateQueries({ queryKey: ["reviewComments"] });
  };
  const setViewed = async (of: ReviewFile, viewed: boolean) => {
    // The tick is drawn at once; the server's answer follows.
    queries.setQueryData(reviewQuery(kind, review.id).queryKey, (known) =>
      known
        ? { ...known, files: known.files.map((item) => (item.path === of.path ? { ...item, viewed } : item)) }
        : known,
    );
    await runRequest(() => viewFile(kind, review.id, { path: of.path, hash: of.hash, viewed }));
    refresh();
  };
  const viewedCount = files.filter(({ viewed }) => viewed).length;
  useActions([
    { keys: "]", label: "Next file", group: "Review", run: () => select(files[at + 1]?.path) },
    { keys: "[", label: "Previous file", group: "Review", run: () => select(files[at - 1]?.path) },
    ...(mayWork && file
      ? [
          {
            keys: "v",
            label: "Toggle viewed",
            group: "Review",
            run: () => void setViewed(file, !file.viewed),
          },
        ]
      : []),
  ]);
  const messages = review.comments.filter(({ path }) => path === null);
  const gone = review.comments.filter(({ path }) => path && !files.some((item) => item.path === path));
  const sessionId = kind === "session" ? review.id : review.sessions.at(-1)?.id;
  return (
    <div className={css.view}>
      <header className={css.header}>
        {sessionId && (
          <ButtonLink href={routes.session(sessionId)} variant="quiet" icon={<ArrowLeft />}>
            Session
          </ButtonLink>
        )}
        <h1 className={css.title}>
          Review <span className={css.subject}>{review.title}</span>
        </h1>
        <span className={css.totals}>
          {plural(files.length, "file")}{" "}
          <DiffCounts additions={review.additions} deletions={review.deletions} />
          {files.length > 0 && ` · ${viewedCount} viewed`}
        </span>
        {!isNarrow && <Switch label="Side by side" checked={split} onChange={setSplit} />}
        <Switch label="Whole file" checked={whole} onChange={setWhole} />
        <IconButton label="Refresh" onClick={onRefresh}>
          <RotateCw />
        </IconButton>
      </header>
      {review.note && <p className={css.note}>{review.note}</p>}
      {(messages.length > 0 || gone.length > 0) && (
        <details className={css.others} open={messages.some(({ sentAt }) => !sentAt)}>
          <summary>{plural(messages.length + gone.length, "comment")} on messages and other files</summary>
          {[...messages, ...gone].map((comment) => (
            <CommentView key={comment.id} comment={comment} quote mayWork={mayWork} onChange={refresh} />
          ))}
        </details>
      )}
      {file ? (
        <div className={css.body}>
          {isWide ? (
            <nav className={css.files} aria-label="Changed files">
              <FileTree files={files} selected={file.path} onSelect={select} />
            </nav>
          ) : (
            <Select
              aria-label="Changed files"
              className={css.filePicker}
              value={file.path}
              onChange={(event) => select(event.target.value)}
            >
              {files.map(({ path, viewed, additions, deletions }) => (
                <option key={path} value={path}>
                  {viewed ? "✓ " : ""}
                  {path} +{additions} −{deletions}
                </option>
              ))}
            </Select>
          )}
          <div className={css.pane}>
            <div className={css.fileHead}>
              <h2 className={css.path}>
                {file.oldPath && `${file.oldPath} → `}
                {file.path}
              </h2>
              {isWide && <DiffCounts additions={file.additions} deletions={file.deletions} />}
              <label className={css.viewed}>
                <input
                  type="checkbox"
                  checked={file.viewed}
                  disabled={!mayWork}
                  onChange={(event) => void setViewed(file, event.target.checked)}
                />
                Viewed
              </label>
              <IconButton
                label="Previous file"
                size="small"
                shortcut="["
                disabled={at === 0}
                onClick={() => select(files[at - 1]?.path)}
              >
                <ChevronUp />
              </IconButton>
              <IconButton
                label="Next file"
                size="small"
                shortcut="]"
                disabled={at === files.length - 1}
                onClick={() => select(files[at + 1]?.path)}
              >
                <ChevronDown />
              </IconButton>
            </div>
            <FileContent
              kind={kind}
              review={review}
              file={file}
              whole={whole}
              split={split && !isNarrow}
              mayWork={mayWork}
              onChange={refresh}
            />
          </div>
        </div>
      ) : (
        <Empty icon={<FileCheck />} title="No changes">
          There is nothing to review.
        </Empty>
      )}
      {mayWork && review.drafts > 0 && (
        <DraftBar
          kind={kind}
          subjectId={review.id}
          drafts={review.drafts}
          sessions={review.sessions}
          offerToOpen
        />
      )}
    </div>
  );
}

function FileContent({
  kind,
  review,
  file,
  whole,
  ...rest
}: {
  kind: ReviewKind;
  review: ReviewRecord;
  file: ReviewFile;
  whole: boolean;
  split: boolean;
  mayWork: boolean;
  onChange: () => void;
}) {
  const query = useQuery({
    ...reviewFileQuery(kind, review.id, file.path, file.hash, whole),
    // Stays in place while a new version of the same file is fetched.
    placeholderData: (known) => (known?.path === file.path ? known : undefined),
  });
  const comments = useMemo(
    () => review.comments.filter(({ path }) => path === file.path),
    [review.comments, file.path],
  );
  return (
    <QueryResult query={query} loading={<Skeleton lines={8} />}>
      {(content) => (
        <FileDiffPane kind={kind} subjectId={review.id} file={content} comments={comments} {...rest} />
      )}
    </QueryResult>
  );
}
