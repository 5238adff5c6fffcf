/** The addresses of the page: every view, and everything in it that is worth a link, has one. */

export const routes = {
  home: "/",
  board: "/board",
  boardOf: (boardId: string) => `/board/${boardId}`,
  tree: (sessionId: string) => `/tree/${sessionId}`,
  compare: (sessionId: string, left: string, right: string) => `/tree/${sessionId}/compare/${left}/${right}`,
  session: (sessionId: string, messageId?: string) =>
    `/session/${sessionId}${messageId ? `?message=${messageId}` : ""}`,
  race: (raceId: string) => `/race/${raceId}`,
  search: (words = "") => (words ? `/search?q=${encodeURIComponent(words)}` : "/search"),
  new: "/new",
  /** The form of a new session, filled in with what an agent proposes. */
  proposal: (approvalId: string) => `/new?approval=${approvalId}`,
  settings: "/settings",
  settingsOf: (part: string) => `/settings/${part}`,
  welcome: "/welcome",
} as const;
