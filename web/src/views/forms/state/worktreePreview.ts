/** What is told of a worktree before it is made: where it goes, whether its branch is there, what stands in the way. */
import { useQuery } from "@tanstack/react-query";
import { previewQuery } from "@/api/queries";
import type { components } from "@/api/schema";
import { useSettled } from "./useDebounced";

export type Preview = components["schemas"]["Preview"];

const PAUSE = 200;

export interface Previewed {
  /** What was asked about last is not what is typed now. */
  waiting: boolean;
  preview: Preview | undefined;
  error: unknown;
}

export function usePreview(repoId: string, branch: string, path: string, base: string): Previewed {
  // One text, so that the three settle together.
  const typed = JSON.stringify([branch.trim(), path.trim(), base.trim()]);
  const settled = useSettled(typed, PAUSE);
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

export interface Told {
  lines: PreviewLine[];
  /** A branch that would do instead. */
  suggestion: string | null;
}

/** `branching`: of a session, whose files a fork or child begins with; its branch may be left to Bough. */
export function previewWords(branch: string, { preview, error }: Previewed, branching: boolean): Told {
  const plain = (text: string): PreviewLine => ({ text, tone: "plain" });
  if (!branch.trim())
    return {
      lines: [
        plain(
          branching
            ? "Bough names the branch after the title, and puts the folder beside the other worktrees."
            : "Name a branch to see where the worktree will be.",
        ),
      ],
      suggestion: null,
    };
  if (!preview)
    return { lines: [plain(error ? "The folder cannot be told just now." : "Looking…")], suggestion: null };
  const lines: PreviewLine[] = [{ text: preview.path, tone: "path" }];
  if (preview.problem) lines.push({ text: preview.problem, tone: "bad" });
  else if (preview.pathExists) lines.push({ text: "This path exists already.", tone: "bad" });
  else if (preview.branchExists)
    lines.push(
      plain(
        branching
          ? "The branch exists. It is taken only if it holds the same commits as the session's folder."
          : "The branch exists: it is reused.",
      ),
    );
  else lines.push(plain("A new branch is made."));
  return { lines, suggestion: preview.suggestion };
}
