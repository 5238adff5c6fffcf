/** What git may run in a repository: the question on its card, and the switches in its dialog. */
import { useRepoGit } from "@/api/queries";
import type { GitReport, Repo } from "@/api/types";
import { Button } from "@/ui/controls/Button";
import { Switch } from "@/ui/controls/Field";
import css from "./Settings.module.css";

export const GIT_KINDS = ["hooks", "filters", "submodules", "fetch"] as const;
export type GitKind = (typeof GIT_KINDS)[number];
export type GitChoice = Partial<Record<GitKind, boolean>>;

const LABELS: Record<GitKind, string> = {
  hooks: "Run hooks",
  filters: "Run filters and merge drivers",
  submodules: "Check out submodules",
  fetch: "Fetch missing files",
};

/** Points out what a repository uses and nobody has decided. */
export function UndecidedGit({ repo, onDecide }: { repo: Repo; onDecide: () => void }) {
  const report = useRepoGit(repo.id, repo.kind === "git" && repo.gitPermissions === null);
  if (!report.data?.undecided.length) return null;
  return (
    <div className={css.row}>
      <p className={`${css.grow} ${css.soft}`}>
        Uses {report.data.undecided.join(", ")}, which Bough does not run until you allow it.
      </p>
      <Button size="small" onClick={onDecide}>
        Decide
      </Button>
    </div>
  );
}

/** Switches for each kind, with what the repository has of it. */
export function GitSwitches({
  repoId,
  choice,
  onChange,
}: {
  repoId: string;
  choice: GitChoice;
  onChange: (choice: GitChoice) => void;
}) {
  const report = useRepoGit(repoId, true).data;
  if (!report) return null;
  return (
    <fieldset className={css.list}>
      <legend>What git may run</legend>
      {GIT_KINDS.map((kind) => (
        <Switch
          key={kind}
          label={LABELS[kind]}
          hint={describe(report, kind)}
          checked={choice[kind] ?? report.allowed?.[kind] ?? false}
          onChange={(checked) => onChange({ ...choice, [kind]: checked })}
        />
      ))}
    </fieldset>
  );
}

/** Says what the repository has of one kind. */
export function describe(report: GitReport, kind: GitKind): string {
  if (kind === "hooks") return report.hooks.join(", ") || "No hooks.";
  if (kind === "submodules") return report.submodules ? "Has submodules." : "No submodules.";
  if (kind === "fetch") return report.partialClone ? "A partial clone." : "Not a partial clone.";
  const commands = Object.entries(report.programs).map(([name, command]) => `${name} = ${command}`);
  const changed = report.changed.length
    ? ` Changed since allowed, and off: ${report.changed.join(", ")}.`
    : "";
  return `${commands.join("; ") || "None configured."}${changed}`;
}
