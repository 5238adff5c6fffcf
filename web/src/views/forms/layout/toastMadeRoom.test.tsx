import { cleanup, render, screen } from "@testing-library/react";
import { Tooltip } from "radix-ui";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { sendReview } from "@/api/actions";
import { Toaster } from "@/ui/feedback/toast";
import { retry } from "./toastMadeRoom";

const madeRoom = { id: "s9", title: "Old work", agent: "demo", idleSince: "2026-01-01T00:00:00Z" };

describe("prompts that are sent again, and reviews", () => {
  const sent: Request[] = [];
  beforeEach(() => {
    sent.length = 0;
    vi.stubGlobal("fetch", async (request: Request) => {
      sent.push(request);
      return new Response(JSON.stringify({ id: "t2", madeRoom }), {
        status: 202,
        headers: { "content-type": "application/json" },
      });
    });
    render(
      <Tooltip.Provider>
        <Toaster />
      </Tooltip.Provider>,
    );
  });
  afterEach(() => {
    cleanup();
    vi.unstubAllGlobals();
  });

  it("make room for a session that has ended, and say which one was completed", async () => {
    expect(await retry("t1")).toBe(true);
    expect(await sent[0]!.json()).toEqual({ makeRoom: true });
    await screen.findByText(/“Old work” was idle and is completed now, to make room/);
  });

  it("send a review in the place of an idle session", async () => {
    expect(await sendReview("session", "s1", { sessionId: "s1" }, "key")).toMatchObject({ madeRoom });
    expect(await sent[0]!.json()).toEqual({ resume: true, makeRoom: true, sessionId: "s1" });
  });
});
