/** Usage as a chart: a column per day, or a bar per agent, repository or tree. A table with the numbers is behind it. */
import { ChartColumn, Table2 } from "lucide-react";
import { useState } from "react";
import { Link } from "wouter";
import { useUsage } from "@/api/queries";
import type { components } from "@/api/schema";
import { routes } from "@/app/routes";
import { money, tokens } from "@/lib/format";
import { usePref } from "@/lib/prefs";
import { IconButton } from "@/ui/controls/Button";
import { Select } from "@/ui/controls/Field";
import { Skeleton } from "@/ui/feedback/Placeholders";
import { dayName, MEASURES, type Measure, niceCeiling, type UsageGroup } from "./measures";
import css from "./Usage.module.css";

type Usage = components["schemas"]["UsageReport"];
type Grouping = Usage["by"];

const GROUPINGS: { by: Grouping; name: string; column: string }[] = [
  { by: "day", name: "Days", column: "Day" },
  { by: "agent", name: "Agents", column: "Agent" },
  { by: "repo", name: "Repositories", column: "Repository" },
  { by: "tree", name: "Trees", column: "Tree" },
];
const RANGES = [7, 14, 30, 90, 366];
/** Bars that are drawn; the table has all. */
const MOST_BARS = 8;

export function UsageReport() {
  const [by, setBy] = usePref<Grouping>("usage.by", "day");
  const [days, setDays] = usePref("usage.days", 14);
  const [measure, setMeasure] = usePref<Measure>("usage.measure", "tokens");
  const [asTable, setAsTable] = useState(false);
  const report = useUsage(by, days).data;
  return (
    <div className={css.report}>
      <div className={css.choices}>
        <Select
          aria-label="Group usage by"
          value={by}
          onChange={(event) => setBy(event.target.value as Grouping)}
        >
          {GROUPINGS.map((grouping) => (
            <option key={grouping.by} value={grouping.by}>
              {grouping.name}
            </option>
          ))}
        </Select>
        <Select
          aria-label="Measure"
          value={measure}
          onChange={(event) => setMeasure(event.target.value as Measure)}
        >
          {Object.entries(MEASURES).map(([name, { label }]) => (
            <option key={name} value={name}>
              {label}
            </option>
          ))}
        </Select>
        <Select aria-label="Period" value={days} onChange={(event) => setDays(Number(event.target.value))}>
          {RANGES.map((range) => (
            <option key={range} value={range}>
              {range === 366 ? "1 year" : `${range} days`}
            </option>
          ))}
        </Select>
        <IconButton
          label={asTable ? "Show as chart" : "Show as table"}
          size="small"
          aria-pressed={asTable}
          onClick={() => setAsTable(!asTable)}
        >
          {asTable ? <ChartColumn /> : <Table2 />}
        </IconButton>
      </div>
      {report ? (
        <>
          {!asTable &&
            (by === "day" ? (
              <Columns report={report} measure={measure} />
            ) : (
              <Bars report={report} measure={measure} />
            ))}
          <div className={asTable ? css.scroll : "visually-hidden"}>
            <UsageTable report={report} />
          </div>
        </>
      ) : (
        <Skeleton lines={4} />
      )}
    </div>
  );
}

const WIDTH = 320;
const HEIGHT = 112;
const TOP = 14;
const GAP = 0.22;

function Columns({ report, measure }: { report: Usage; measure: Measure }) {
  const { read, show } = MEASURES[measure];
  const groups = report.groups;
  const most = niceCeiling(Math.max(0, ...groups.map(read)), measure);
  const step = WIDTH / groups.length;
  const drawn = HEIGHT - TOP;
  return (
    <figure className={css.figure} aria-hidden>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} className={css.svg} role="presentation">
        <line x1={0} x2={WIDTH} y1={TOP} y2={TOP} className={css.grid} />
        <line x1={0} x2={WIDTH} y1={TOP + drawn / 2} y2={TOP + drawn / 2} className={css.grid} />
        <text x={0} y={TOP - 4} className={css.scale}>
          {show(most)}
        </text>
        {groups.map((group, at) => {
          const height = most ? Math.max((read(group) / most) * drawn, read(group) ? 1.5 : 0) : 0;
          return (
            <g key={group.id} className={css.day}>
              <title>{`${dayName(group.id)}: ${show(read(group))}`}</title>
              <rect x={at * step} y={TOP} width={step} height={drawn} className={css.hit} />
              <rect
                x={at * step + (step * GAP) / 2}
                y={HEIGHT - height}
                width={step * (1 - GAP)}
                height={height}
                rx={Math.min(2, step / 4)}
                className={css.column}
              />
            </g>
          );
        })}
        <line x1={0} x2={WIDTH} y1={HEIGHT - 0.5} y2={HEIGHT - 0.5} className={css.axis} />
      </svg>
      <figcaption className={css.ends}>
        <span>{dayName(groups[0]!.id)}</span>
        <span>Today</span>
      </figcaption>
    </figure>
  );
}

function Bars({ report, measure }: { report: Usage; measure: Measure }) {
  const { read, show } = MEASURES[measure];
  const groups = report.groups.toSorted((a, b) => read(b) - read(a)).slice(0, MOST_BARS);
  const most = Math.max(0, ...groups.map(read));
  if (!groups.length) return <p className={css.none}>No turns in this period.</p>;
  return (
    <ul className={css.bars} aria-hidden>
      {groups.map((group) => (
        <li key={group.id}>
          <span className={css.barName}>{groupName(report.by, group)}</span>
          <span className={css.number}>{show(read(group))}</span>
          <svg viewBox="0 0 100 4" preserveAspectRatio="none" className={css.bar} role="presentation">
            <rect width={100} height={4} rx={2} className={css.track} />
            <rect width={most ? (read(group) / most) * 100 : 0} height={4} rx={2} className={css.column} />
          </svg>
        </li>
      ))}
    </ul>
  );
}

const groupName = (by: Grouping, group: UsageGroup): string =>
  by === "day" ? dayName(group.id) : group.name || (by === "tree" ? "Removed tree" : "Removed repository");

function UsageTable({ report }: { report: Usage }) {
  const { column } = GROUPINGS.find(({ by }) => by === report.by)!;
  const others = { id: "", name: "Others", ...report.rest };
  return (
    <table className={css.table}>
      <caption className="visually-hidden">Usage by {column.toLowerCase()}</caption>
      <thead>
        <tr>
          <th scope="col">{column}</th>
          <th scope="col">Turns</th>
          <th scope="col">Tokens</th>
          <th scope="col">Cost</th>
        </tr>
      </thead>
      <tbody>
        {(report.by === "day" ? report.groups.toReversed() : report.groups).map((group) => (
          <Row key={group.id} group={group}>
            {report.by === "tree" && group.name ? (
              <Link href={routes.tree(group.id)}>{group.name}</Link>
            ) : (
              groupName(report.by, group)
            )}
          </Row>
        ))}
        {report.rest.turns > 0 && <Row group={others}>{others.name}</Row>}
      </tbody>
    </table>
  );
}

const Row = ({ group, children }: { group: UsageGroup; children: React.ReactNode }) => (
  <tr>
    <th scope="row">{children}</th>
    <td>{group.turns}</td>
    <td>{tokens(group.tokens)}</td>
    <td>{money(group.cost)}</td>
  </tr>
);
