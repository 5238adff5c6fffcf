/** The recent trees, and the total usage. */
import { Link } from "wouter";
import { routes } from "@/app/routes";
import { money, tokens } from "@/lib/format";
import { AgentMark } from "@/ui/labels/AgentMark";
import { StateMark } from "@/ui/labels/Badge";
import { Time } from "@/ui/labels/Time";
import css from "./Home.module.css";
import { describeTree, type HomeData, type HomeTree, repoAndBranch } from "./summaries";

export function Trees({ trees }: { trees: HomeTree[] }) {
  return (
    <ul className={css.trees}>
      {trees.map((tree) => (
        <li key={tree.session.id}>
          <Link href={routes.tree(tree.session.id)} className={css.tree}>
            <StateMark
              state={{
                ...tree.session,
                asking: tree.asking,
                activity: tree.running ? "running" : tree.session.activity,
                queued: tree.queued,
                failed: tree.session.unread && tree.session.lastTask?.status === "failed",
              }}
            />
            <span className={css.treeText}>
              <span className={css.treeTitle}>{tree.session.title || "Untitled session"}</span>
              <span className={css.treeAbout}>{describeTree(tree)}</span>
              <span className={css.treeAbout}>
                <AgentMark agent={tree.session.agent} /> {repoAndBranch(tree.session)} ·{" "}
                <Time at={tree.activeAt} />
                {tree.tokens > 0 && ` · ${tokens(tree.tokens)} tokens`}
              </span>
            </span>
          </Link>
        </li>
      ))}
    </ul>
  );
}

const ROWS = [
  ["today", "Today"],
  ["week", "Last 7 days"],
  ["all", "All time"],
] as const;

export function Totals({ totals }: { totals: HomeData["totals"] }) {
  return (
    <table className={css.totals}>
      <thead>
        <tr>
          <th scope="col">
            <span className="visually-hidden">Period</span>
          </th>
          <th scope="col">Turns</th>
          <th scope="col">Tokens</th>
          <th scope="col">Cost</th>
        </tr>
      </thead>
      <tbody>
        {ROWS.map(([name, label]) => (
          <tr key={name}>
            <th scope="row">{label}</th>
            <td>{totals[name].turns}</td>
            <td>{tokens(totals[name].tokens)}</td>
            <td>{money(totals[name].cost)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
