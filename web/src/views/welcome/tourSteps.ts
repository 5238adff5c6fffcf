/** The steps of the tour. They use the same requests as the page's buttons; progress is read from the tree, so that a reload
 * continues the tour. */
import { askSideQuestion, createSession, forkSession, promptSession, spawnSession } from "@/api/actions";
import type { Agent, AgentTour, Node, Tree } from "@/api/types";

export interface TourIds {
  repoId: string;
  rootId: string;
}

export interface Step {
  name: string;
  words: string;
  button: string;
  run: (rootId: string, prompts: AgentTour) => Promise<unknown>;
  /** Reads its progress from the tree. */
  state: (tree: Tree) => "todo" | "running" | "done";
  /** Returns the session to show. */
  shows: (tree: Tree) => string;
}

const rootOf = (tree: Tree) => tree.sessions.find((session) => session.id === tree.rootSessionId);
const ofKind = (tree: Tree, kind: Node["kind"]) => tree.sessions.find((session) => session.kind === kind);
const isBusy = (item: Node) =>
  item.activity === "running" || item.activity === "waiting_permission" || item.queued > 0;

/** Returns the progress of a fork, child or side question. */
const stateOf = (item: Node | undefined) =>
  !item ? "todo" : isBusy(item) || item.turns < 1 ? "running" : "done";

/** Returns the progress of one of the root's own turns. */
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
      "A session is one conversation with one agent in one folder. This one was asked for a small file. Watch it think, plan, edit and answer.",
    button: "Start a session",
    run: (rootId, prompts) => promptSession(rootId, { text: prompts.session }),
    state: rootState(1),
    shows: showsRoot,
  },
  {
    name: "An approval",
    words:
      "Its mode allows edits in its folder, but not commands: the agent waits for your approval, which you can give here, on the home page, in the terminal or in your editor.",
    button: "Ask it to run the tests",
    run: (rootId, prompts) => promptSession(rootId, { text: prompts.approval }),
    state: rootState(2),
    shows: showsRoot,
  },
  {
    name: "A fork",
    words:
      "A fork starts with a copy of the conversation. This one is asked what you have asked for so far, and remembers.",
    button: "Fork it",
    run: (rootId, prompts) => forkSession(rootId, { title: "What was asked so far", prompt: prompts.fork }),
    state: (tree) => stateOf(ofKind(tree, "fork")),
    shows: (tree) => ofKind(tree, "fork")?.id ?? tree.rootSessionId,
  },
  {
    name: "A child that reports back",
    words:
      "A child starts with no context, with any agent. When it finishes, its report is sent to its parent as a prompt. Agents do the same through Bough's tools.",
    button: "Spawn a child",
    run: (rootId, prompts) => spawnSession(rootId, { title: "Write the notes", prompt: prompts.child }),
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
    name: "A side question",
    words:
      "The session starts a long turn. Meanwhile you ask it a side question, which is answered at once without interrupting the turn.",
    button: "Keep it busy and ask",
    run: async (rootId, prompts) => {
      await promptSession(rootId, { text: prompts.longTurn });
      await askSideQuestion(rootId, { prompt: prompts.sideQuestion });
    },
    state: (tree) => {
      const own = stateOf(ofKind(tree, "btw"));
      const root = rootOf(tree);
      // The tour is over when the long turn, the root's fourth, is over too.
      return own === "done" && root && root.turns < 4 && isBusy(root) ? "running" : own;
    },
    shows: showsRoot,
  },
];

/** Returns the first agent that can play the tour. */
export const tourAgent = (agents: Agent[]) =>
  agents.find((agent): agent is Agent & { tour: AgentTour } => agent.installed && agent.tour !== null);

/** Returns the first step that is not done. */
export const currentStep = (tree: Tree): number => {
  const at = STEPS.findIndex((step) => step.state(tree) !== "done");
  return at < 0 ? STEPS.length : at;
};

/** Tells whether a session of the tour waits for an approval. */
export const waitsForUser = (tree: Tree): boolean =>
  tree.sessions.some(({ activity }) => activity === "waiting_permission");

/** Returns the session to show: that of the latest step that was begun, so that its result stays until the next begins. */
export const shownSession = (tree: Tree): string => {
  const at = Math.min(currentStep(tree), STEPS.length - 1);
  const begun = at > 0 && STEPS[at]!.state(tree) === "todo" ? at - 1 : at;
  return STEPS[begun]!.shows(tree);
};

/** Returns the sessions of a complete tour that still count as unread. The tour has shown each of them at work. */
export const unreadAfterTour = (tree: Tree): string[] =>
  currentStep(tree) < STEPS.length ? [] : tree.sessions.filter(({ unread }) => unread).map(({ id }) => id);

export const createTourSession = (repoId: string, agent: string) =>
  createSession({
    repoId,
    agent,
    title: "The tour",
    permissionMode: "acceptEdits",
    description: "A small example tree.",
    makeRoom: true,
  });
