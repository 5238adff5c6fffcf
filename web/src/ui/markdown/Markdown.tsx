/** Shows Markdown as React elements. When the text grows, only its last blocks are parsed and drawn again. */
import type { Token } from "marked";
import { memo, useRef, useState } from "react";
import { Button } from "../controls/Button";
import css from "./Markdown.module.css";
import { type Block, type Blocks, NO_BLOCKS, parseBlocks } from "./markdownBlocks";
import { renderToken } from "./markdownElements";

const BlockView = memo(
  function BlockView({ token, cut, growing }: { token: Token; cut?: boolean; growing: boolean }) {
    return cut ? <div className={css.cut}>{renderToken(token)}</div> : renderToken(token, growing);
  },
  (before, after) =>
    before.token.raw === after.token.raw &&
    before.token.type === after.token.type &&
    before.cut === after.cut &&
    before.growing === after.growing,
);

/** Blocks are memoized in chunks of this size, so that unchanged parts of a long text are skipped as a whole. */
const CHUNK_SIZE = 48;
/** Only this many chunks at the end of a very long text are drawn at first. */
const MAX_CHUNKS = 8;

const Chunk = memo(
  function Chunk({ blocks, growing }: { blocks: readonly Block[]; growing: boolean }) {
    return blocks.map(({ start, token, cut }, index) => (
      <BlockView key={start} token={token} cut={cut} growing={growing && index === blocks.length - 1} />
    ));
  },
  (before, after) =>
    before.growing === after.growing &&
    before.blocks.length === after.blocks.length &&
    before.blocks.every((block, index) => block === after.blocks[index]),
);

/** `growing` means that the text is still being written: long code then shows its last lines. */
export function Markdown({ text, growing = false }: { text: string; growing?: boolean }) {
  const parsed = useRef<Blocks>(NO_BLOCKS);
  parsed.current = parseBlocks(text, parsed.current);
  const { list } = parsed.current;
  const [maxChunks, setMaxChunks] = useState(MAX_CHUNKS);
  const count = Math.ceil(list.length / CHUNK_SIZE);
  const first = Math.max(0, count - maxChunks);
  return (
    <div className={css.markdown}>
      {first > 0 && (
        <Button size="small" onClick={() => setMaxChunks(maxChunks + 2 * MAX_CHUNKS)}>
          Show earlier text ({Math.round((first / count) * 100)}% hidden)
        </Button>
      )}
      {Array.from({ length: count - first }, (_, n) => (first + n) * CHUNK_SIZE).map((at) => (
        <Chunk
          key={at}
          blocks={list.slice(at, at + CHUNK_SIZE)}
          growing={growing && at + CHUNK_SIZE >= list.length}
        />
      ))}
    </div>
  );
}
