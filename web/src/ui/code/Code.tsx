/** Shows code with syntax highlighting and a copy button; long code is folded. */
import { Check, Copy } from "lucide-react";
import { memo, type ReactNode, useEffect, useMemo, useState } from "react";
import { Button, IconButton } from "../controls/Button";
import { toastError } from "../feedback/toast";
import css from "./Code.module.css";
import { foldLines } from "./foldLines";
import { type HighlightedNodes, highlight, useHighlighter } from "./highlight";

const COPIED_FOR = 1500;

export function CopyButton({
  text,
  label = "Copy",
  className,
}: {
  text: string;
  label?: string;
  className?: string;
}) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), COPIED_FOR);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = () => navigator.clipboard.writeText(text).then(() => setCopied(true), toastError);
  return (
    <IconButton
      label={copied ? "Copied" : label}
      size="small"
      className={className}
      onClick={() => void copy()}
    >
      {copied ? <Check /> : <Copy />}
    </IconButton>
  );
}

const renderNodes = (nodes: HighlightedNodes): ReactNode =>
  nodes.map((node, index) => {
    if (node.type === "text") return node.value;
    if (node.type !== "element") return null;
    const names = node.properties.className;
    return (
      // biome-ignore lint/suspicious/noArrayIndexKey: the pieces of a text never move
      <span key={index} className={Array.isArray(names) ? names.join(" ") : undefined}>
        {renderNodes(node.children as HighlightedNodes)}
      </span>
    );
  });

export interface CodeProps {
  text: string;
  language?: string;
  /** The code is still being written: shows its last lines instead of the first. */
  growing?: boolean;
  /** Leaves out the frame and the buttons. */
  bare?: boolean;
}

export const Code = memo(function Code({ text, language, growing = false, bare = false }: CodeProps) {
  const [open, setOpen] = useState(false);
  const highlighter = useHighlighter();
  const {
    text: visible,
    lines,
    folded,
  } = useMemo(() => foldLines(text, open, growing), [text, open, growing]);
  const highlighted = useMemo(
    () => highlight(highlighter, visible, language),
    [highlighter, visible, language],
  );
  return (
    <div className={bare ? css.bare : css.frame}>
      {!bare && (
        <div className={css.bar}>
          <span className={css.language}>{language || "text"}</span>
          <CopyButton text={text} label="Copy code" />
        </div>
      )}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scroll areas must be reachable by keyboard */}
      <pre className={css.code} tabIndex={0} data-tail={(growing && folded) || undefined}>
        <code>{highlighted ? renderNodes(highlighted) : visible}</code>
      </pre>
      {folded && (
        <Button variant="quiet" size="small" className={css.more} onClick={() => setOpen(true)}>
          Show all {lines} lines
        </Button>
      )}
    </div>
  );
});
