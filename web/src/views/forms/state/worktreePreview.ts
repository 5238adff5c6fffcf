/** Previews a new worktree: its path, whether its branch exists, and problems. */
import { useQuery } from "@tanstack/react-query";
import { previewQuery } from "@/api/queries";
import type { components } from "@/api/schema";
import { useDebounced } from "./useDebounced";

export type Preview = components["schemas"]["Preview"];

const PAUSE = 200;

export interface PreviewResult {
  /** The preview does not match the current input yet. */
  waiting: boolean;
  preview: Preview | undefined;
  error: unknown;
}

export function usePreview(repoId: string, branch: string, path: string, base: string): PreviewResult {
  // One string, so that all three values change together.
  const typed = JSON.stringify([branch.trim(), path.trim(), base.trim()]);
  const settled = useDebounced(typed, PAUSE);
  const [asked, where, from] = JSON.parse(settled) as [string, string, string];
  const query = useQuery({
    ...previewQuery(repoId, asked, where, from),
    enabled: Boolean(repoId && asked),
    placeholderData: (known) => known,
  });
  return {
    waiting: typed !== settled || query.isFetching,
    preview: asked ? query.data : undefined,
    error: query.error,
  };
}

export interface PreviewLine {
  text: string;
  tone: "path" | "plain" | "bad";
}

export interface PreviewText {
  lines: PreviewLine[];
  /** A branch name that would work. */
  suggestion: string | null;
}

/** Describes a preview. With `branching`, the worktree is for a fork or child, whose branch Bough may name. */
export function describePreview(
  branch: string,
  { preview, error }: PreviewResult,
  branching: boolean,
): PreviewText {
  const plain = (text: string): PreviewLine => ({ text, tone: "plain" });
  if (!branch.trim())
    return {
      lines: [
        plain(
          branching
            ? "Bough names the branch after the title and puts the folder next to the other worktrees."
            : "Enter a branch to see where the worktree will be.",
        ),
      ],
      suggestion: null,
    };
  if (!preview)
    return {
      lines: [plain(error ? "The folder cannot be previewed right now." : "Loading…")],
      suggestion: null,
    };
  const lines: PreviewLine[] = [{ text: preview.path, tone: "path" }];
  if (preview.problem) lines.push({ text: preview.problem, tone: "bad" });
  else if (preview.pathExists) lines.push({ text: "This path already exists.", tone: "bad" });
  else if (preview.branchExists)
    lines.push(
      plain(
        branching
          ? "The branch exists. It is reused only if it has the same commits as the session's folder."
          : "The branch exists and is reused.",
      ),
    );
  else lines.push(plain("Creates a new branch."));
  return { lines, suggestion: preview.suggestion };
}
