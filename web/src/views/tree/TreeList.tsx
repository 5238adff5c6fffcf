/** A tree as an indented list of links. Archived sessions and side questions are folded below. */
import { ChevronRight, Network } from "lucide-react";
import { useMemo } from "react";
import { Link } from "wouter";
import { useTree } from "@/api/queries";
import type { Node } from "@/api/types";
import { routes } from "@/app/routes";
import { plural } from "@/lib/format";
import { usePref } from "@/lib/prefs";
import { sessionName } from "@/lib/words";
import { QueryResult } from "@/ui/feedback/Placeholders";
import { AgentMark } from "@/ui/labels/AgentMark";
import { StateMark } from "@/ui/labels/Badge";
import { buildTree, splitFolded, type TreeBranch } from "./lineage";
import { KindMark, SessionMarks } from "./SessionMarks";
import css from "./TreeList.module.css";

export function TreeList({ sessionId, current }: { sessionId: string; current?: string }) {
  const query = useTree(sessionId);
  return (
    <nav aria-label="Sessions in this tree" className={css.tree}>
      <QueryResult query={query}>
        {(tree) => (
          <>
            <Listed nodes={tree.sessions} current={current ?? sessionId} />
            {tree.sessions.length > 1 && (
              <Link href={routes.tree(sessionId)} className={css.all}>
                <Network aria-hidden />
                View tree
              </Link>
            )}
          </>
        )}
      </QueryResult>
    </nav>
  );
}

function Listed({ nodes, current }: { nodes: Node[]; current: string }) {
  const { shown, folded } = useMemo(() => splitFolded(buildTree(nodes)), [nodes]);
  const [open, setOpen] = usePref("treeFoldOpen", false);
  const isOpen = open || folded.some((item) => item.id === current);
  return (
    <>
      <Level branches={shown} current={current} />
      {folded.length > 0 && (
        <div className={css.fold}>
          <button
            type="button"
            className={css.toggle}
            aria-expanded={isOpen}
            onClick={() => setOpen(!isOpen || undefined)}
          >
            <ChevronRight aria-hidden />
            Side questions and archived
            <span className={css.number}>
              <span aria-hidden>{folded.length}</span>
              <span className="visually-hidden">{plural(folded.length, "session")}</span>
            </span>
          </button>
          {isOpen && <Level branches={folded.map((node) => ({ node, children: [] }))} current={current} />}
        </div>
      )}
    </>
  );
}

const Level = ({ branches, current }: { branches: TreeBranch<Node>[]; current: string }) => (
  <ul className={css.level}>
    {branches.map(({ node, children }) => (
      <li key={node.id}>
        <Row node={node} current={node.id === current} />
        {children.length > 0 && <Level branches={children} current={current} />}
      </li>
    ))}
  </ul>
);

const Row = ({ node, current }: { node: Node; current: boolean }) => (
  <Link
    href={routes.session(node.id)}
    className={`${css.row} ${node.archived ? css.archived : ""}`}
    aria-current={current ? "page" : undefined}
  >
    <StateMark state={node} />
    <AgentMark agent={node.agent} />
    <KindMark kind={node.kind} />
    <span className={css.title} title={sessionName(node)}>
      {sessionName(node)}
    </span>
    <SessionMarks of={node} />
  </Link>
);
