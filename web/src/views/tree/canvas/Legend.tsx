/** What the lines of the canvas mean. */
import css from "./Legend.module.css";
import edge from "./TreeEdge.module.css";

const LINES = [
  { words: "Child", className: edge.spawn },
  { words: "Fork", className: edge.fork },
  { words: "Aside", className: edge.aside },
  { words: "Report to its parent", className: `${edge.report} ${edge.queued}`, head: "queued" },
];

export const Legend = () => (
  <ul className={css.legend} aria-label="What the lines mean">
    {LINES.map(({ words, className, head }) => (
      <li key={words}>
        <svg width="36" height="12" aria-hidden>
          <path
            d={head ? "M34 6 L2 6" : "M2 6 L34 6"}
            className={`${edge.tie} ${className}`}
            markerEnd={head && `url(#report-${head})`}
          />
        </svg>
        {words}
      </li>
    ))}
  </ul>
);
