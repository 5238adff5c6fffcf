/** Explains the edges of the canvas. */

import edgeCss from "./edges/TreeEdge.module.css";
import css from "./Legend.module.css";

const LINES = [
  { words: "Child", className: edgeCss.spawn },
  { words: "Fork", className: edgeCss.fork },
  { words: "Side question", className: edgeCss.sideQuestion },
  { words: "Report to parent", className: `${edgeCss.report} ${edgeCss.queued}`, head: "queued" },
];

export const Legend = () => (
  <ul className={css.legend} aria-label="Legend">
    {LINES.map(({ words, className, head }) => (
      <li key={words}>
        <svg width="36" height="12" aria-hidden>
          <path
            d={head ? "M34 6 L2 6" : "M2 6 L34 6"}
            className={`${edgeCss.edge} ${className}`}
            markerEnd={head && `url(#report-${head})`}
          />
        </svg>
        {words}
      </li>
    ))}
  </ul>
);
