/** Arranges the sidebar: pinned sessions first, then a group per repository. */
import type { components } from "@/api/schema";

export type SidebarSession = components["schemas"]["SidebarSession"];

export interface SessionGroup {
  id: string;
  name: string;
  sessions: SidebarSession[];
  /** Sessions that need a person: they wait for an answer or have unread work. */
  attention: number;
}

export const needsAttention = (session: SidebarSession): boolean => session.asking > 0 || session.unread;

/** Groups sessions by repository; the repository that was active last comes first. */
export function groupSessions(sessions: readonly SidebarSession[]): SessionGroup[] {
  const group = (id: string, name: string, members: SidebarSession[]): SessionGroup => ({
    id,
    name,
    sessions: members,
    attention: members.filter(needsAttention).length,
  });
  const pinned = sessions.filter((session) => session.pinned);
  const repos = Map.groupBy(
    sessions.filter((session) => !session.pinned),
    (session) => session.repoId,
  );
  return [
    ...(pinned.length ? [group("pinned", "Pinned", pinned)] : []),
    ...[...repos].map(([id, members]) => group(id, members[0]!.repoName, members)),
  ];
}
