/** The end of what one command printed. It follows the newest line until the person scrolls up. */
import { useEffect, useRef } from "react";
import { useRunLog } from "@/api/queries";
import type { Run } from "@/api/types";
import { QueryResult } from "@/ui/feedback/Placeholders";
import css from "./Runs.module.css";
import { runName } from "./runs";

/** Pixels from the end within which a log counts as scrolled to it. */
const NEAR = 24;

export function RunLog({ run }: { run: Run }) {
  const query = useRunLog(run);
  const box = useRef<HTMLPreElement>(null);
  const follows = useRef(true);
  const text = query.data?.text;
  // biome-ignore lint/correctness/useExhaustiveDependencies: scrolls when the text grows
  useEffect(() => {
    if (box.current && follows.current) box.current.scrollTop = box.current.scrollHeight;
  }, [text]);
  const onScroll = () => {
    const node = box.current;
    if (node) follows.current = node.scrollHeight - node.scrollTop - node.clientHeight < NEAR;
  };
  return (
    <section aria-label={`Log of ${runName(run)}`}>
      <h3 className={css.heading}>Log of {run.name ?? "this command"}</h3>
      <QueryResult query={query}>
        {(log) => (
          <>
            {log.cut && <p className={css.soft}>Only the end is shown.</p>}
            {/* Scrollable, so that it must be reachable with the keyboard. */}
            {/* biome-ignore lint/a11y/noNoninteractiveTabindex: see above */}
            <pre ref={box} className={css.log} tabIndex={0} onScroll={onScroll}>
              {log.text || (run.state === "running" ? "Nothing printed yet." : "Nothing was printed.")}
            </pre>
          </>
        )}
      </QueryResult>
    </section>
  );
}
