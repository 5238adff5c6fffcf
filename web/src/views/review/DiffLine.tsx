/** Draws one line of a diff, or two lines side by side. */
import { memo } from "react";
import type { Line, LinePair } from "@/ui/diff/parsePatch";
import { sideOf } from "./diffModel";
import { changedRanges, type LineHighlighter, marked } from "./lineText";
import css from "./Review.module.css";

const LABELS = { "+": "added: ", "-": "removed: ", " ": "" };
const TONES = { "+": "added", "-": "removed", " ": undefined };

export interface LineProps {
  highlighter: LineHighlighter;
  onNumber: (line: Line, extend: boolean) => void;
  mayWork: boolean;
  isChosen: (line: Line | null) => boolean;
  isCursor: boolean;
}

function Text({
  line,
  partner,
  highlighter,
}: {
  line: Line;
  partner: Line | null;
  highlighter: LineHighlighter;
}) {
  const pieces = marked(highlighter.pieces(line), changedRanges(line, partner));
  return (
    <code className={css.text} data-tone={TONES[line.sign]}>
      <span className={css.sign} aria-hidden>
        {line.sign}
      </span>
      {LABELS[line.sign] && <span className="visually-hidden">{LABELS[line.sign]}</span>}
      {pieces.map((piece, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the pieces of a line never move
        <span key={at} className={piece.syntax} data-changed={piece.changed || undefined}>
          {piece.text}
        </span>
      ))}
    </code>
  );
}

function LineNumber({
  at,
  line,
  props,
}: {
  at: number | null | undefined;
  line: Line | null;
  props: LineProps;
}) {
  const tone = line ? TONES[line.sign] : "none";
  if (!line || at == null || !props.mayWork)
    return (
      <span className={css.number} data-tone={tone}>
        {at}
      </span>
    );
  return (
    <button
      type="button"
      // Reached by the arrow keys: a diff may have thousands.
      tabIndex={-1}
      className={css.number}
      data-tone={tone}
      aria-label={`Comment on ${sideOf(line) === "old" ? "removed " : ""}line ${at}`}
      onClick={(event) => props.onNumber(line, event.shiftKey)}
    >
      {at}
    </button>
  );
}

export const UnifiedLine = memo(function UnifiedLine({
  line,
  partner,
  ...props
}: LineProps & { line: Line; partner: Line | null }) {
  const isOld = line.sign === "-";
  return (
    <div
      className={css.unified}
      data-chosen={props.isChosen(line) || undefined}
      data-cursor={props.isCursor || undefined}
    >
      <LineNumber at={line.old} line={isOld ? line : null} props={props} />
      <LineNumber at={line.new} line={isOld ? null : line} props={props} />
      <Text line={line} partner={partner} highlighter={props.highlighter} />
    </div>
  );
});

export const SplitLine = memo(function SplitLine({ pair, ...props }: LineProps & { pair: LinePair }) {
  const { left, right } = pair;
  const unchanged = left === right;
  return (
    <div className={css.split} data-cursor={props.isCursor || undefined}>
      {left ? (
        <LineNumber at={left.old} line={unchanged ? null : left} props={props} />
      ) : (
        <span className={css.none} />
      )}
      <div className={css.half} data-chosen={(!unchanged && props.isChosen(left)) || undefined}>
        {left ? (
          <Text line={left} partner={right} highlighter={props.highlighter} />
        ) : (
          <span className={css.none} />
        )}
      </div>
      {right ? <LineNumber at={right.new} line={right} props={props} /> : <span className={css.none} />}
      <div className={css.half} data-chosen={props.isChosen(right) || undefined}>
        {right ? (
          <Text line={right} partner={left} highlighter={props.highlighter} />
        ) : (
          <span className={css.none} />
        )}
      </div>
    </div>
  );
});
