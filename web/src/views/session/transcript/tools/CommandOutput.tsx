/** Shows a command and its output like a terminal; of long output only the end, until it is expanded. */
import { useState } from "react";
import { CopyButton } from "@/ui/code/Code";
import { foldLines } from "@/ui/code/foldLines";
import { Button } from "@/ui/controls/Button";
import css from "./CommandOutput.module.css";
import type { Terminal } from "./toolMessage";

/** As many lines as fit without scrolling. */
const MAX_LINES = 20;

export function CommandOutput({ terminal, running }: { terminal: Terminal; running: boolean }) {
  const [open, setOpen] = useState(false);
  const { text, lines, folded } = foldLines(terminal.output.replace(/\n+$/, ""), open, true, MAX_LINES);
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
        <Button variant="quiet" size="small" className={css.more} onClick={() => setOpen(true)}>
          Show all {lines} lines
        </Button>
      )}
      {text ? (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: scroll areas must be reachable by keyboard
        <pre className={css.text} tabIndex={0}>
          {text}
        </pre>
      ) : (
        <p className={css.none}>{running ? "No output yet" : "No output"}</p>
      )}
      {failed && (
        <p className={css.failed}>
          {terminal.signal ? `Killed by ${terminal.signal}` : `Exit code ${terminal.exitCode}`}
        </p>
      )}
    </div>
  );
}
