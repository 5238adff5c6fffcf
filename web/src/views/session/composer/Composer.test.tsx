import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { Tooltip } from "radix-ui";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Session } from "@/api/types";
import { setPref } from "@/lib/prefs";
import { sessionState } from "../sessionState";
import { Composer } from "./Composer";

const session = {
  id: "s1",
  agent: "other",
  status: "active",
  activity: "idle",
  queuePaused: false,
  metadata: { commands: [{ name: "help", description: "" }] },
} as unknown as Session;

const answer = (status: number, body: unknown) =>
  new Response(JSON.stringify(body), { status, headers: { "content-type": "application/json" } });

/** What every query is answered with. */
const EMPTY = { sessions: [], prompts: [], agents: [], models: [], efforts: [], commands: [] };

describe("the composer", () => {
  const sent: Request[] = [];
  const onSideQuestion = vi.fn();
  let next = () => answer(202, { taskId: "t1" });
  beforeEach(() => {
    sent.length = 0;
    setPref("draft.s1", undefined);
    setPref("enterSends", true);
    vi.stubGlobal("fetch", async (request: Request) => {
      if (request.method === "GET") return answer(200, EMPTY);
      sent.push(request);
      return next();
    });
    render(
      <QueryClientProvider client={new QueryClient()}>
        <Tooltip.Provider>
          <Composer {...{ session, onSideQuestion }} tasks={[]} state={sessionState(session, [], [])} />
        </Tooltip.Provider>
      </QueryClientProvider>,
    );
  });
  afterEach(() => {
    cleanup();
    vi.unstubAllGlobals();
  });
  const field = () => screen.getByRole<HTMLTextAreaElement>("textbox", { name: "Prompt" });
  const type = (value: string) => fireEvent.change(field(), { target: { value } });

  it("sends on Enter, not on Shift+Enter, and is cleared", async () => {
    next = () => answer(202, { taskId: "t1" });
    type("hello");
    fireEvent.keyDown(field(), { key: "Enter", shiftKey: true });
    expect(sent).toHaveLength(0);
    fireEvent.keyDown(field(), { key: "Enter" });
    await waitFor(() => expect(field().value).toBe(""));
    expect(await sent[0]!.json()).toEqual({ resume: true, makeRoom: true, text: "hello" });
  });

  it("keeps a refused prompt, shows the error, and retries it as the same prompt", async () => {
    next = () => answer(409, { error: { code: "x", message: "Not now." } });
    type("hello");
    fireEvent.keyDown(field(), { key: "Enter" });
    await screen.findByText("Not now.");
    expect(field().value).toBe("hello");
    fireEvent.keyDown(field(), { key: "Enter" });
    await waitFor(() => expect(sent).toHaveLength(2));
    const key = (at: number) => sent[at]!.headers.get("idempotency-key");
    expect(key(0)).toBe(key(1));
    await waitFor(() => expect(field().readOnly).toBe(false));
    type("another");
    fireEvent.keyDown(field(), { key: "Enter" });
    await waitFor(() => expect(sent).toHaveLength(3));
    expect(key(2)).not.toBe(key(0));
  });

  it("asks a side question beside the prompt, and keeps the draft", () => {
    type("half a thought");
    fireEvent.click(screen.getByRole("button", { name: "Ask without interrupting" }));
    expect(onSideQuestion).toHaveBeenCalledOnce();
    expect(field().value).toBe("half a thought");
    expect(sent).toHaveLength(0);
  });

  it("completes a command instead of sending a part of it", () => {
    fireEvent.change(field(), { target: { value: "/he", selectionStart: 3 } });
    expect(within(screen.getByRole("listbox")).getAllByRole("option")).toHaveLength(1);
    fireEvent.keyDown(field(), { key: "Enter" });
    expect(field().value).toBe("/help ");
    expect(sent).toHaveLength(0);
  });
});
