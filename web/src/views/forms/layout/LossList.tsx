/** Lists the work that would be lost with a worktree: files and commits that exist nowhere else. */
import { plural } from "@/lib/format";
import type { Losses } from "@/views/forms/dialogs/deletion";
import css from "./form.module.css";
import own from "./LossList.module.css";

function Group({ label, names, total }: { label: string; names: string[]; total: number }) {
  if (!total) return null;
  return (
    <div>
      <h3>{label}</h3>
      <ul tabIndex={names.length > 5 ? 0 : undefined} aria-label={label}>
        {names.map((name, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: two commits may be called the same
          <li key={at} className={css.mono}>
            {name}
          </li>
        ))}
        {total > names.length && <li className={css.hint}>and {total - names.length} more</li>}
      </ul>
    </div>
  );
}

export function LossList({ losses }: { losses: Losses }) {
  const { counts } = losses;
  return (
    <section className={own.losses} aria-label="Work that would be lost">
      <Group
        label={plural(counts.uncommitted, "uncommitted file")}
        names={losses.uncommitted}
        total={counts.uncommitted}
      />
      <Group
        label={plural(counts.untracked, "untracked file")}
        names={losses.untracked}
        total={counts.untracked}
      />
      <Group
        label={plural(counts.unpushed, "unpushed commit")}
        names={losses.unpushed.map((item) => `${item.sha.slice(0, 8)} ${item.subject}`)}
        total={counts.unpushed}
      />
    </section>
  );
}
