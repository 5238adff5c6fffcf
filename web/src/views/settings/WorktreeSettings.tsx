/** How much disk worktrees and repositories use, and a sweep of the worktrees that nobody needs any longer. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Brush, HardDrive } from "lucide-react";
import { useId, useState } from "react";
import { runRequest, sweepWorktrees } from "@/api/actions";
import { diskQuery, useMay, useRepos, useWorktrees } from "@/api/queries";
import type { DiskUse, Repo, Swept, Worktree } from "@/api/types";
import { ago, bytes, plural } from "@/lib/format";
import { withoutFields } from "@/lib/refusals";
import { Button } from "@/ui/controls/Button";
import { Dialog } from "@/ui/controls/Dialog";
import { Empty, QueryResult } from "@/ui/feedback/Placeholders";
import { toast } from "@/ui/feedback/toast";
import css from "./Settings.module.css";

export function WorktreeSettings() {
  const mayWork = useMay("operator");
  const disk = useQuery(diskQuery);
  const repos = useRepos().data ?? [];
  const worktrees = useWorktrees().data ?? [];
  const [preview, setPreview] = useState<Swept | null>(null);
  const [busy, setBusy] = useState(false);
  const look = async () => {
    setBusy(true);
    await runRequest(async () => setPreview(await sweepWorktrees({ dryRun: true })));
    setBusy(false);
  };
  const sizes = new Map(disk.data?.worktrees.map((item) => [item.worktreeId, item.bytes]));
  return (
    <>
      {mayWork && (
        <div className={css.actions}>
          <Button variant="primary" icon={<Brush />} busy={busy} onClick={() => void look()}>
            Clean up merged worktrees…
          </Button>
        </div>
      )}
      <QueryResult query={disk}>
        {(use) => (
          <>
            <p className={css.soft} role="status">
              {use.measuredAt
                ? `Measured ${ago(use.measuredAt)}${use.pending ? "; measuring again…" : "."}`
                : "Measuring…"}
            </p>
            <DiskTable use={use} repos={repos} worktrees={worktrees} />
          </>
        )}
      </QueryResult>
      {preview && <SweepDialog preview={preview} sizes={sizes} onClose={() => setPreview(null)} />}
    </>
  );
}

function DiskTable({ use, repos, worktrees }: { use: DiskUse; repos: Repo[]; worktrees: Worktree[] }) {
  const names = new Map(worktrees.map((worktree) => [worktree.id, worktree.name]));
  const shown = repos.flatMap((repo) => {
    const size = use.repos.find(({ repoId }) => repoId === repo.id);
    const own = use.worktrees.filter(({ repoId }) => repoId === repo.id).sort((a, b) => b.bytes - a.bytes);
    return size ? [{ repo, size, own }] : [];
  });
  if (!shown.length)
    return use.measuredAt ? <Empty icon={<HardDrive />} title="No repositories yet" /> : null;
  return (
    <ul className={css.list}>
      {shown
        .sort((a, b) => b.size.ownBytes + b.size.worktreesBytes - a.size.ownBytes - a.size.worktreesBytes)
        .map(({ repo, size, own }) => (
          <li key={repo.id} className={css.card}>
            <div className={css.row}>
              <h2 className={`${css.grow} ${css.name}`}>{repo.name}</h2>
              <span>{bytes(size.ownBytes + size.worktreesBytes)}</span>
            </div>
            <table className={css.table} aria-label={`Disk use of ${repo.name}`}>
              <thead>
                <tr>
                  <th scope="col">Folder</th>
                  <th scope="col">Size</th>
                </tr>
              </thead>
              <tbody>
                <tr>
                  <td>Main folder, with the history</td>
                  <td>{bytes(size.ownBytes)}</td>
                </tr>
                {own.map((item) => (
                  <tr key={item.worktreeId}>
                    <td>{names.get(item.worktreeId) ?? "A new worktree"}</td>
                    <td>{bytes(item.bytes)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </li>
        ))}
    </ul>
  );
}

/** Shows what a sweep would remove, and why it keeps the others; removes what stays selected. */
function SweepDialog({
  preview,
  sizes,
  onClose,
}: {
  preview: Swept;
  sizes: Map<string, number>;
  onClose: () => void;
}) {
  const client = useQueryClient();
  const removable = preview.worktrees.filter(({ outcome }) => outcome === "removable");
  const staying = preview.worktrees.filter(({ outcome }) => outcome === "kept");
  const [chosen, setChosen] = useState(() => new Set(removable.map(({ worktreeId }) => worktreeId)));
  const [busy, setBusy] = useState(false);
  const headingId = useId();
  const toggle = (id: string) => {
    const next = new Set(chosen);
    if (!next.delete(id)) next.add(id);
    setChosen(next);
  };
  const sweep = async () => {
    setBusy(true);
    const done = await runRequest(async () => {
      const swept = await sweepWorktrees({ worktreeIds: [...chosen], dryRun: false });
      const removed = swept.worktrees.filter(({ outcome }) => outcome === "removed").length;
      toast(`Removed ${plural(removed, "worktree")}. They can be recovered.`);
    });
    setBusy(false);
    void client.invalidateQueries({ queryKey: ["disk"] });
    if (done) onClose();
  };
  const freedBytes = [...chosen].reduce((sum, id) => sum + (sizes.get(id) ?? 0), 0);
  return (
    <Dialog
      open
      onClose={onClose}
      title="Clean up merged worktrees"
      description="Ended sessions are archived and merged branches deleted. What is removed can be recovered."
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="danger" busy={busy} disabled={!chosen.size} onClick={() => void sweep()}>
            Remove {plural(chosen.size, "worktree")}
            {freedBytes > 0 && ` (${bytes(freedBytes)})`}
          </Button>
        </>
      }
    >
      {removable.length ? (
        <section aria-labelledby={headingId}>
          <h3 id={headingId}>To remove</h3>
          <ul className={css.list}>
            {removable.map(({ worktreeId, name, steps = [] }) => (
              <li key={worktreeId}>
                <label className={css.row}>
                  <input
                    type="checkbox"
                    checked={chosen.has(worktreeId)}
                    onChange={() => toggle(worktreeId)}
                  />
                  <span className={css.grow}>{name}</span>
                  {sizes.has(worktreeId) && <span>{bytes(sizes.get(worktreeId)!)}</span>}
                </label>
                <ul className={css.soft}>
                  {steps.map((step) => (
                    <li key={step}>{step}</li>
                  ))}
                </ul>
              </li>
            ))}
          </ul>
        </section>
      ) : (
        <p>No worktree is merged and unused.</p>
      )}
      {staying.length > 0 && (
        <details>
          <summary>{plural(staying.length, "worktree")} to keep</summary>
          <ul className={css.list}>
            {staying.map(({ worktreeId, name, reason }) => (
              <li key={worktreeId}>
                {name} <span className={css.soft}>{withoutFields(reason ?? "")}</span>
              </li>
            ))}
          </ul>
        </details>
      )}
    </Dialog>
  );
}
