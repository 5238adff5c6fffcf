import { describe, expect, it } from "vitest";
import type { Card, CardSession } from "@/api/types";
import { columnOf } from "./columnOf";

const session = (more: Partial<CardSession> = {}) =>
  ({ status: "active", activity: "idle", archived: false, unread: false, queued: 0, ...more }) as CardSession;
const card = (...sessions: CardSession[]) => ({ worktree: { id: "w", setupError: null }, sessions }) as Card;
const progress = (changedFiles: number, merged = false) => ({ worktreeId: "w", changedFiles, merged });

describe("the column of a card", () => {
  it("puts attention before work, and work before what git says", () => {
    const asks = session({ activity: "waiting_permission" });
    const runs = session({ activity: "running" });
    expect(columnOf(card(runs, asks), progress(1, true))).toBe("needsYou");
    expect(columnOf(card(session({ failed: true } as Partial<CardSession>)), undefined)).toBe("needsYou");
    expect(columnOf(card(runs, session()), progress(1, true))).toBe("working");
    expect(columnOf(card(session({ queued: 1 })), undefined)).toBe("working");
    expect(columnOf({ ...card(), worktree: { id: "w", setupError: "no" } } as Card, undefined)).toBe(
      "needsYou",
    );
  });

  it("tells what is merged, to review and to do", () => {
    expect(columnOf(card(session()), progress(0, true))).toBe("merged");
    expect(columnOf(card(session()), progress(3))).toBe("review");
    expect(columnOf(card(session({ unread: true })), progress(0))).toBe("review");
    expect(columnOf(card(), progress(0))).toBe("toDo");
    expect(columnOf({ worktree: null, sessions: [session()] } as unknown as Card, undefined)).toBe("toDo");
  });

  it("ignores archived sessions", () => {
    const gone = session({ archived: true, failed: true } as Partial<CardSession>);
    expect(columnOf(card(gone), progress(0))).toBe("toDo");
  });
});
