/** Shows the agent's thinking as one line that expands. */
import { Brain } from "lucide-react";
import { firstLine } from "@/lib/format";
import { Markdown } from "@/ui/markdown/Markdown";
import { Fold } from "./Fold";
import css from "./Notes.module.css";

export function Thought({ id, text, partial }: { id: string; text: string; partial: boolean }) {
  const line = partial ? (text.trimEnd().split("\n").at(-1) ?? "") : firstLine(text, 160);
  return (
    <Fold
      name={id}
      icon={<Brain className={partial ? css.pulse : undefined} />}
      line={
        <>
          <span className={css.label}>{partial ? "Thinking…" : "Thought"}</span>{" "}
          <span className={css.faint}>{line.replaceAll(/[*_`#]/g, "").slice(-200)}</span>
        </>
      }
    >
      {() => (
        <div className={css.thought}>
          <Markdown text={text} growing={partial} />
        </div>
      )}
    </Fold>
  );
}
