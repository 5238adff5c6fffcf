/** Shows the changes of one or two sessions by file, side by side. */
import { type ReactNode, useMemo } from "react";
import { plural } from "@/lib/format";
import { DiffView } from "@/ui/diff/DiffView";
import { Empty } from "@/ui/feedback/Placeholders";
import css from "./SideBySideDiff.module.css";
import { filesOf, splitByFile } from "./splitPatch";

export interface Side {
  key: string;
  title: ReactNode;
  /** Undefined while it loads. */
  patch: string | undefined;
  note?: string | null;
}

export function SideBySideDiff({ sides }: { sides: Side[] }) {
  const patches = useMemo(() => sides.map((side) => splitByFile(side.patch ?? "")), [sides]);
  const files = useMemo(() => filesOf(patches), [patches]);
  const notes = sides.filter((side) => side.note);
  if (!files.length && sides.every((side) => side.patch !== undefined))
    return <Empty title="No changes">{notes[0]?.note ?? "No files were changed."}</Empty>;
  return (
    <div className={css.sides}>
      <p className={css.facts}>{plural(files.length, "changed file")}</p>
      {notes.map((side) => (
        <p key={side.key} className={css.facts}>
          {side.title}: {side.note}
        </p>
      ))}
      {files.map((file) => (
        <section key={file} className={css.file} aria-label={file}>
          <h3 className="visually-hidden">{file}</h3>
          <div className={css.pair} data-sides={sides.length}>
            {sides.map((side, at) => (
              <div key={side.key} className={css.side}>
                {sides.length > 1 && <p className={css.whose}>{side.title}</p>}
                {patches[at]!.has(file) ? (
                  <DiffView patch={patches[at]!.get(file)!} />
                ) : (
                  <p className={css.none}>{side.patch === undefined ? "Loading…" : "Not changed."}</p>
                )}
              </div>
            ))}
          </div>
        </section>
      ))}
    </div>
  );
}
