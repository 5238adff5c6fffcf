/** Markdown as React elements, safe by construction. Text that grows is cheap: only its last blocks are read and drawn
 * again. */
import type { Token } from "marked";
import { memo, useRef } from "react";
import css from "./Markdown.module.css";
import { type Blocks, blocks, none } from "./MarkdownBlocks";
import { element } from "./MarkdownElements";

const Shown = memo(
  function Shown({ token, cut, growing }: { token: Token; cut?: boolean; growing: boolean }) {
    return cut ? <div className={css.cut}>{element(token)}</div> : element(token, growing);
  },
  (before, after) =>
    before.token.raw === after.token.raw &&
    before.token.type === after.token.type &&
    before.cut === after.cut &&
    before.growing === after.growing,
);

/** `growing` says that the end of the text is not there yet: long code then shows its last lines. */
export function Markdown({ text, growing = false }: { text: string; growing?: boolean }) {
  const known = useRef<Blocks>(none);
  known.current = blocks(text, known.current);
  const { list } = known.current;
  return (
    <div className={css.markdown}>
      {list.map(({ start, token, cut }, at) => (
        <Shown key={start} token={token} cut={cut} growing={growing && at === list.length - 1} />
      ))}
    </div>
  );
}
