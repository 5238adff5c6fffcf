/** A command and what it printed, as a terminal would show it; of long output the end, where the news is. */
import { useState } from "react";
import { CopyButton } from "@/ui/code/Code";
import { part } from "@/ui/code/foldLines";
import { Button } from "@/ui/controls/Button";
import css from "./CommandOutput.module.css";
import type { Terminal } from "./toolMessage";

/** What fits without scrolling. */
const LINES = 20;

export function Output({ terminal, running }: { terminal: Terminal; running: boolean }) {
  const [open, setOpen] = useState(false);
  const { text, lines, folded } = part(terminal.output.replace(/\n+$/, ""), open, true, LINES);
  const failed = terminal.signal !== null || (terminal.exitCode !== null && terminal.exitCode !== 0);
  return (
    <div className={css.terminal}>
      <div className={css.top}>
        <code className={css.command}>
          <span aria-hidden className={css.prompt}>
            ${" "}
          </span>
          {terminal.command}
        </code>
        <CopyButton text={terminal.output} label="Copy output" />
      </div>
      {folded && (
        <Button look="quiet" size="small" className={css.more} onClick={() => setOpen(true)}>
          Show all {lines} lines
        </Button>
      )}
      {text ? (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        <pre className={css.text} tabIndex={0}>
          {text}
        </pre>
      ) : (
        <p className={css.none}>{running ? "Nothing printed yet." : "Nothing was printed."}</p>
      )}
      {failed && (
        <p className={css.failed}>
          {terminal.signal ? `Ended by ${terminal.signal}` : `Exit code ${terminal.exitCode}`}
        </p>
      )}
    </div>
  );
}
