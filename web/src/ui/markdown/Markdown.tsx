/** Markdown as React elements, safe by construction. Text that grows is cheap: only its last blocks are read and drawn
 * again. */
import type { Token } from "marked";
import { memo, useRef, useState } from "react";
import { Button } from "../controls/Button";
import css from "./Markdown.module.css";
import { type Block, type Blocks, blocks, none } from "./markdownBlocks";
import { element } from "./markdownElements";

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

/** Blocks by the dozen: in a long text most dozens are as they were, and are passed over as a whole. */
const DOZEN = 48;
/** So many of them are drawn of a very long text, from its end, where the news is; the others when they are asked for. */
const MOST = 8;

const Chunk = memo(
  function Chunk({ blocks: some, growing }: { blocks: readonly Block[]; growing: boolean }) {
    return some.map(({ start, token, cut }, at) => (
      <Shown key={start} token={token} cut={cut} growing={growing && at === some.length - 1} />
    ));
  },
  (before, after) =>
    before.growing === after.growing &&
    before.blocks.length === after.blocks.length &&
    before.blocks.every((block, at) => block === after.blocks[at]),
);

/** `growing` says that the end of the text is not there yet: long code then shows its last lines. */
export function Markdown({ text, growing = false }: { text: string; growing?: boolean }) {
  const known = useRef<Blocks>(none);
  known.current = blocks(text, known.current);
  const { list } = known.current;
  const [most, setMost] = useState(MOST);
  const count = Math.ceil(list.length / DOZEN);
  const first = Math.max(0, count - most);
  return (
    <div className={css.markdown}>
      {first > 0 && (
        <Button size="small" onClick={() => setMost(most + 2 * MOST)}>
          Show what comes before ({Math.round((first / count) * 100)}% of the text)
        </Button>
      )}
      {Array.from({ length: count - first }, (_, n) => (first + n) * DOZEN).map((at) => (
        <Chunk key={at} blocks={list.slice(at, at + DOZEN)} growing={growing && at + DOZEN >= list.length} />
      ))}
    </div>
  );
}
