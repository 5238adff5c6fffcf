/** Code with its language's colours and a button that copies it; long code is folded. */
import { Check, Copy } from "lucide-react";
import { memo, type ReactNode, useEffect, useMemo, useState } from "react";
import { Button, IconButton } from "../controls/Button";
import { toastError } from "../feedback/toast";
import css from "./Code.module.css";
import { part } from "./foldLines";
import { type Coloured, coloured, useColours } from "./highlight";

const SAID_FOR = 1500;

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
    const timer = setTimeout(() => setCopied(false), SAID_FOR);
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

const shown = (nodes: Coloured): ReactNode =>
  nodes.map((node, at) => {
    if (node.type === "text") return node.value;
    if (node.type !== "element") return null;
    const names = node.properties.className;
    return (
      // biome-ignore lint/suspicious/noArrayIndexKey: pieces of one text never change their places
      <span key={at} className={Array.isArray(names) ? names.join(" ") : undefined}>
        {shown(node.children as Coloured)}
      </span>
    );
  });

export interface CodeProps {
  text: string;
  language?: string;
  /** More is being written: the last lines are shown instead of the first. */
  growing?: boolean;
  /** Without frame and buttons, for places that have their own. */
  bare?: boolean;
}

export const Code = memo(function Code({ text, language, growing = false, bare = false }: CodeProps) {
  const [open, setOpen] = useState(false);
  const lowlight = useColours();
  const { text: visible, lines, folded } = useMemo(() => part(text, open, growing), [text, open, growing]);
  const colours = useMemo(() => coloured(lowlight, visible, language), [lowlight, visible, language]);
  return (
    <div className={bare ? css.bare : css.frame}>
      {!bare && (
        <div className={css.bar}>
          <span className={css.language}>{language || "text"}</span>
          <CopyButton text={text} label="Copy code" />
        </div>
      )}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <pre className={css.code} tabIndex={0} data-tail={(growing && folded) || undefined}>
        <code>{colours ? shown(colours) : visible}</code>
      </pre>
      {folded && (
        <Button look="quiet" size="small" className={css.more} onClick={() => setOpen(true)}>
          Show all {lines} lines
        </Button>
      )}
    </div>
  );
});
