/** The tour: what each of its steps does, through the same acts as every button of the page, and how one knows that it
 * has been done. Where a tour stands is read from its tree, so that a reload goes on. */
import { askAside, createSession, forkSession, promptSession, spawnSession } from "@/api/actions";
import type { Node, Tree } from "@/api/types";

export interface Place {
  repoId: string;
  rootId: string;
}

export interface Step {
  name: string;
  words: string;
  button: string;
  run: (place: Place) => Promise<unknown>;
  /** How far it is, by the tree. */
  state: (tree: Tree) => "todo" | "running" | "done";
  /** Which session shows it. */
  shows: (tree: Tree) => string;
}

const FIRST =
  "[[think The person is new here. A plan first, then a file.]][[plan Look around; Write a greeting; Report]]" +
  "[[write HELLO.md # Hello\n\nThis file was written by the demo agent, in a scratch repository.]]" +
  "[[say I wrote `HELLO.md`. The **plan**, the *edit* with its diff, and these words are all in the transcript.]]";
const ASKS = "[[run python3 -m unittest -q]][[say The tests ran, because you allowed it.]]";
const FORK = "[[recall]]";
const CHILD = "[[slow 6 3]][[write NOTES.md Notes by the child.]][[say The notes are in NOTES.md.]]";
const BUSY = "[[slow 60 20]][[say That was a long turn.]]";
const ASIDE = "[[say The answer beside the work: I am counting to 60.]]";

const rootOf = (tree: Tree) => tree.sessions.find((one) => one.id === tree.rootSessionId);
const ofKind = (tree: Tree, kind: Node["kind"]) => tree.sessions.find((one) => one.kind === kind);
const isBusy = (one: Node) =>
  one.activity === "running" || one.activity === "waiting_permission" || one.queued > 0;

/** A branch of the tree: not there, at work, finished. */
const stateOf = (one: Node | undefined) =>
  !one ? "todo" : isBusy(one) || one.turns < 1 ? "running" : "done";

/** The root's own turns: which one is the newest that has ended. */
const rootState = (turn: number) => (tree: Tree) => {
  const root = rootOf(tree);
  if (!root) return "todo";
  if (root.turns >= turn) return "done";
  return root.turns === turn - 1 && isBusy(root) ? "running" : "todo";
};

const showsRoot = (tree: Tree) => tree.rootSessionId;

export const STEPS: Step[] = [
  {
    name: "A session",
    words:
      "A session is one conversation with one agent, in one folder. This one has been asked for a small file. Watch it think, plan, edit and answer.",
    button: "Open a session",
    run: ({ rootId }) => promptSession(rootId, { text: FIRST }),
    state: rootState(1),
    shows: showsRoot,
  },
  {
    name: "An approval",
    words:
      "Edits in its folder were allowed by its mode. A command is not: the agent waits, and the question reaches you here, on the start page, in the terminal and in your editor. Answer it below.",
    button: "Ask it to run the tests",
    run: ({ rootId }) => promptSession(rootId, { text: ASKS }),
    state: rootState(2),
    shows: showsRoot,
  },
  {
    name: "A fork",
    words:
      "A fork begins with the conversation so far and goes its own way. It is asked what it was told before, and it knows.",
    button: "Fork it",
    run: ({ rootId }) => forkSession(rootId, { title: "What was said before?", prompt: FORK }),
    state: (tree) => stateOf(ofKind(tree, "fork")),
    shows: (tree) => ofKind(tree, "fork")?.id ?? tree.rootSessionId,
  },
  {
    name: "A child that reports back",
    words:
      "A child begins afresh, with any agent, and does its part. When it is done, its report is queued to its parent and starts the parent's next turn. Agents do the same through Bough's tools.",
    button: "Spawn a child",
    run: ({ rootId }) => spawnSession(rootId, { title: "Write the notes", prompt: CHILD }),
    state: (tree) => {
      const child = ofKind(tree, "subsession");
      const own = stateOf(child);
      const root = rootOf(tree);
      // The turn in which the parent reads the report is its third.
      return own === "done" && root && root.turns < 3 && isBusy(root) ? "running" : own;
    },
    shows: (tree) => {
      const child = ofKind(tree, "subsession");
      return child && stateOf(child) === "running" ? child.id : tree.rootSessionId;
    },
  },
  {
    name: "An aside",
    words:
      "The session gets a long turn, and while it is busy you ask it something beside its work. The answer comes at once, and nothing that runs is disturbed.",
    button: "Keep it busy, and ask",
    run: async ({ rootId }) => {
      await promptSession(rootId, { text: BUSY });
      await askAside(rootId, { prompt: ASIDE });
    },
    state: (tree) => stateOf(ofKind(tree, "btw")),
    shows: showsRoot,
  },
];

/** The first step that has not been done. */
export const current = (tree: Tree): number => {
  const at = STEPS.findIndex((step) => step.state(tree) !== "done");
  return at < 0 ? STEPS.length : at;
};

export const openRoot = (repoId: string) =>
  createSession({
    repoId,
    agent: "demo",
    title: "The tour",
    permissionMode: "acceptEdits",
    description: "A small tree, played live.",
  });
