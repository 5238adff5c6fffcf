/** Compares two sessions of a tree: usage, transcripts and changes side by side. */
import { useQueries } from "@tanstack/react-query";
import { ArrowLeftRight, Network } from "lucide-react";
import { Tabs } from "radix-ui";
import { useCallback, useMemo } from "react";
import { Link, useLocation } from "wouter";
import { sessionDiffQuery, useSession, useTasks, useTree } from "@/api/queries";
import type { Node } from "@/api/types";
import { routes } from "@/app/routes";
import { useTitle } from "@/app/title";
import { duration, money, tokens } from "@/lib/format";
import { useMedia } from "@/lib/media";
import { usePref } from "@/lib/prefs";
import { sessionName } from "@/lib/words";
import { useTranscript } from "@/live/hooks";
import { Button, ButtonLink } from "@/ui/controls/Button";
import { Empty, QueryResult, Skeleton } from "@/ui/feedback/Placeholders";
import { AgentMark } from "@/ui/labels/AgentMark";
import { StateMark } from "@/ui/labels/Badge";
import { TranscriptView } from "@/views/session/transcript/TranscriptView";
import css from "./Compare.module.css";
import { SideBySideDiff } from "./SideBySideDiff";

interface Params {
  sessionId: string;
  left: string;
  right: string;
}

export default function Compare({ params }: { params: Params }) {
  const query = useTree(params.sessionId);
  return (
    <QueryResult query={query} loading={<Skeleton lines={4} block />}>
      {(tree) => {
        const pair = [params.left, params.right].map((id) =>
          tree.sessions.find((session) => session.id === id),
        );
        if (!pair[0] || !pair[1])
          return (
            <Empty
              title="Session not found in this tree"
              actions={<ButtonLink href={routes.tree(params.sessionId)}>Back to the tree</ButtonLink>}
            >
              One of the two may have been removed.
            </Empty>
          );
        return <ComparisonView treeId={params.sessionId} pair={[pair[0], pair[1]]} />;
      }}
    </QueryResult>
  );
}

function ComparisonView({ treeId, pair }: { treeId: string; pair: [Node, Node] }) {
  const [, navigate] = useLocation();
  const [tab, setTab] = usePref("compareTab", "words");
  const diffs = useQueries({ queries: pair.map((item) => sessionDiffQuery(item.id)) });
  useTitle(`${sessionName(pair[0])} and ${sessionName(pair[1])} · Compare`);
  const texts = diffs.map((diff) => diff.data?.text);
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs when the texts change
  const sides = useMemo(
    () =>
      pair.map((item, at) => ({
        key: item.id,
        title: `${"AB"[at]}: ${sessionName(item)}`,
        patch: texts[at] ?? (diffs[at]?.error ? "" : undefined),
        note: diffs[at]?.error?.message ?? diffs[at]?.data?.note,
      })),
    [pair[0].id, pair[1].id, ...texts],
  );
  return (
    <div className={css.view}>
      <header className={css.header}>
        <h1 className={css.title}>Compare sessions</h1>
        <Button
          icon={<ArrowLeftRight />}
          onClick={() => navigate(routes.compare(treeId, pair[1].id, pair[0].id))}
        >
          Swap
        </Button>
        <ButtonLink href={routes.tree(treeId)} icon={<Network />}>
          View tree
        </ButtonLink>
      </header>
      <UsageTable pair={pair} files={diffs.map((diff) => diff.data)} />
      <Tabs.Root value={tab} onValueChange={setTab} className={css.tabs}>
        <Tabs.List className={css.tabList} aria-label="Comparison">
          <Tabs.Trigger value="words" className={css.tab}>
            Transcripts
          </Tabs.Trigger>
          <Tabs.Trigger value="changes" className={css.tab}>
            Changes
          </Tabs.Trigger>
        </Tabs.List>
        <Tabs.Content value="words" className={css.words}>
          <Transcripts pair={pair} />
        </Tabs.Content>
        <Tabs.Content value="changes" className={css.changes}>
          <SideBySideDiff sides={sides} />
        </Tabs.Content>
      </Tabs.Root>
    </div>
  );
}

interface DiffStats {
  files: unknown[];
  additions: number;
  deletions: number;
}

function UsageTable({ pair, files }: { pair: [Node, Node]; files: (DiffStats | undefined)[] }) {
  const lines: [string, (item: Node, at: number) => string | number][] = [
    ["Turns", (item) => item.turns],
    ["Time", (item) => duration(item.seconds)],
    ["Tokens", (item) => tokens(item.tokens)],
    ["Cost", (item) => money(item.cost)],
    ["Files", (_, at) => files[at]?.files.length ?? "–"],
    ["Lines", (_, at) => (files[at] ? `+${files[at].additions} −${files[at].deletions}` : "–")],
  ];
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard
    <section className={css.scroll} tabIndex={0} aria-label="Usage">
      <table className={css.numbers}>
        <thead>
          <tr>
            <th scope="col">Session</th>
            <th scope="col">State</th>
            {lines.map(([name]) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {pair.map((item, at) => (
            <tr key={item.id}>
              <th scope="row">
                <span className={css.who}>
                  <span className={css.letter}>{"AB"[at]}</span>
                  <AgentMark agent={item.agent} />
                  <Link href={routes.session(item.id)}>{sessionName(item)}</Link>
                </span>
              </th>
              <td>
                <StateMark state={item} showLabel />
              </td>
              {lines.map(([name, value]) => (
                <td key={name}>{value(item, at)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Transcripts({ pair }: { pair: [Node, Node] }) {
  const wide = useMedia("(min-width: 48rem)");
  if (wide)
    return (
      // Remounted on a swap, because elements that are moved lose their scroll position.
      <div key={pair[0].id} className={css.pair}>
        {pair.map((item, at) => (
          <section key={item.id} className={css.side} aria-label={`${"AB"[at]}: ${sessionName(item)}`}>
            <SessionTranscript node={item} />
          </section>
        ))}
      </div>
    );
  return (
    <Tabs.Root defaultValue="A" className={css.tabs}>
      <Tabs.List className={css.tabList} aria-label="Session">
        {pair.map((item, at) => (
          <Tabs.Trigger key={item.id} value={"AB"[at]!} className={css.tab}>
            {"AB"[at]}: {sessionName(item)}
          </Tabs.Trigger>
        ))}
      </Tabs.List>
      {pair.map((item, at) => (
        <Tabs.Content key={item.id} value={"AB"[at]!} className={css.side}>
          <SessionTranscript node={item} />
        </Tabs.Content>
      ))}
    </Tabs.Root>
  );
}

function SessionTranscript({ node }: { node: Node }) {
  const [, navigate] = useLocation();
  const query = useSession(node.id);
  const tasks = useTasks(node.id);
  const transcript = useTranscript(node.id);
  const open = useCallback(() => navigate(routes.session(node.id)), [navigate, node.id]);
  return (
    <QueryResult query={query}>
      {(session) => (
        <TranscriptView session={session} tasks={tasks.data ?? []} transcript={transcript} onFork={open} />
      )}
    </QueryResult>
  );
}
