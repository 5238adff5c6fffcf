/** The addresses of the page's views and of what they link to. */

export const routes = {
  home: "/",
  board: "/board",
  boardOf: (boardId: string) => `/board/${boardId}`,
  tree: (sessionId: string) => `/tree/${sessionId}`,
  compare: (sessionId: string, left: string, right: string) => `/tree/${sessionId}/compare/${left}/${right}`,
  session: (sessionId: string, messageId?: string) =>
    `/session/${sessionId}${messageId ? `?message=${messageId}` : ""}`,
  review: (kind: "worktree" | "session" | "task", id: string) => `/review/${kind}/${id}`,
  race: (raceId: string) => `/race/${raceId}`,
  search: (words = "") => (words ? `/search?q=${encodeURIComponent(words)}` : "/search"),
  new: "/new",
  newIn: (repoId: string) => `/new?repo=${repoId}`,
  import: "/import",
  addRepo: "/repos/add",
  /** The form for a new session, filled in with an agent's proposal. */
  proposal: (approvalId: string) => `/new?approval=${approvalId}`,
  settings: "/settings",
  settingsOf: (part: string) => `/settings/${part}`,
  welcome: "/welcome",
} as const;
