import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { Tooltip } from "radix-ui";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Session, Task } from "@/api/types";
import { setPref } from "@/lib/prefs";
import { sessionState } from "../sessionState";
import { Composer } from "./Composer";

const session = (agent: string) =>
  ({
    id: "s1",
    agent,
    status: "active",
    activity: "running",
    queuePaused: false,
    metadata: {},
  }) as unknown as Session;
const task = { id: "t0", status: "running", position: 0, prompt: "work", startedAt: "x" } as unknown as Task;
const agents = [
  { name: "able", title: "Able", steering: true, examples: [], modes: {} },
  { name: "deaf", title: "Deaf", steering: false, examples: [], modes: {} },
];
/** What every query is answered with. */
const EMPTY = { sessions: [], prompts: [], models: [], efforts: [], commands: [] };
const answer = (status: number, body: unknown) =>
  new Response(JSON.stringify(body), { status, headers: { "content-type": "application/json" } });

describe("the button beside Queue", () => {
  const sent: unknown[] = [];
  const open = (agent: string, tasks: Task[]) =>
    render(
      <QueryClientProvider client={new QueryClient()}>
        <Tooltip.Provider>
          <Composer
            session={session(agent)}
            tasks={tasks}
            state={sessionState(session(agent), tasks, [])}
            onSideQuestion={() => {}}
          />
        </Tooltip.Provider>
      </QueryClientProvider>,
    );
  beforeEach(() => {
    sent.length = 0;
    setPref("draft.s1", undefined);
    vi.stubGlobal("fetch", async (request: Request) => {
      if (request.method === "GET") return answer(200, { ...EMPTY, agents });
      sent.push(await request.json());
      return answer(202, { taskId: "t1" });
    });
  });
  afterEach(() => {
    cleanup();
    vi.unstubAllGlobals();
  });
  const field = () => screen.getByRole<HTMLTextAreaElement>("textbox", { name: "Prompt" });

  it.each([
    ["able", "Send now", "now"],
    ["deaf", "Stop and send", "after_stop"],
  ])("of the agent %s is %s", async (agent, label, when) => {
    open(agent, [task]);
    const button = await screen.findByRole<HTMLButtonElement>("button", { name: label });
    expect(button.disabled).toBe(true);
    fireEvent.change(field(), { target: { value: "also this" } });
    fireEvent.click(button);
    await waitFor(() => expect(field().value).toBe(""));
    expect(sent).toEqual([{ resume: true, makeRoom: true, text: "also this", when }]);
  });

  it("is not there without a turn", () => {
    open("able", []);
    expect(screen.queryByRole("button", { name: "Send now" })).toBeNull();
  });
});
