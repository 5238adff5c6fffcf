import { cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { Tooltip } from "radix-ui";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Approval } from "@/api/types";
import { ApprovalCard } from "./ApprovalCard";
import { decidedOnThisPage } from "./DecidedApproval";

const approval = (over: Partial<Approval> = {}): Approval => ({
  id: "a1",
  sessionId: "s1",
  taskId: "t1",
  attempt: 1,
  status: "pending",
  title: "rm -rf build",
  toolKind: "execute",
  toolCall: { rawInput: { command: "rm -rf build" } },
  options: [
    { optionId: "y", name: "Yes", kind: "allow_once" },
    { optionId: "n", name: "No", kind: "reject_once" },
  ],
  optionId: null,
  decision: null,
  decidedBy: null,
  requestId: 1,
  createdAt: "2026-01-01T00:00:00Z",
  updatedAt: "2026-01-01T00:00:00Z",
  decidedAt: null,
  expiresAt: null,
  onExpiry: null,
  reason: null,
  key: "execute: rm",
  ...over,
});

describe("an approval", () => {
  const sent: Request[] = [];
  let next: () => Response;
  beforeEach(() => {
    sent.length = 0;
    next = () => new Response("{}", { headers: { "content-type": "application/json" } });
    vi.stubGlobal("fetch", async (request: Request) => {
      sent.push(request);
      return next();
    });
  });
  afterEach(() => {
    cleanup();
    decidedOnThisPage.clear();
    vi.unstubAllGlobals();
  });
  const show = (shown: Approval) =>
    render(
      <Tooltip.Provider>
        <ApprovalCard approval={shown} />
      </Tooltip.Provider>,
    );
  const card = () => screen.getByRole("group");

  it("answers a question by its form, and shows what is wrong with each field", async () => {
    const error = {
      code: "bad_content",
      message: "It does not fit.",
      id: "1",
      details: { fields: { name: "Too short." } },
    };
    next = () => new Response(JSON.stringify({ error }), { status: 400 });
    show(
      approval({
        toolKind: "question",
        key: null,
        toolCall: {
          mode: "form",
          message: "How shall I deploy?",
          fields: [
            { name: "name", type: "text", title: "Name", required: true },
            { name: "tags", type: "choices", choices: [{ value: "a", title: "First" }] },
          ],
        },
      }),
    );
    fireEvent.keyDown(screen.getByTestId("approval"), { key: "a" });
    expect(sent).toHaveLength(0);
    fireEvent.change(screen.getByLabelText("Name *"), { target: { value: "x" } });
    fireEvent.click(screen.getByLabelText("First"));
    fireEvent.click(screen.getByRole("button", { name: "Answer" }));
    await screen.findByText("Too short.");
    expect(await sent[0]?.json()).toEqual({ action: "accept", content: { name: "x", tags: ["a"] } });
    fireEvent.click(screen.getByRole("button", { name: "Decline" }));
    await waitFor(() => expect(sent).toHaveLength(2));
    expect(await sent[1]?.json()).toEqual({ action: "decline" });
  });

  it("shows the host of an address and does not open it", () => {
    show(
      approval({
        toolKind: "question",
        toolCall: { mode: "url", message: "Sign in.", url: "https://example.com/a", host: "example.com" },
      }),
    );
    expect(screen.getByText("example.com")).toBeTruthy();
    const link = screen.getByRole("link", { name: "https://example.com/a" });
    expect(link.getAttribute("rel")).toContain("noopener");
    expect(sent).toHaveLength(0);
  });

  it.each([
    ["y", { key: "y" }, { decision: "allow" }],
    ["y with Caps Lock", { key: "Y" }, { decision: "allow" }],
    ["a", { key: "a" }, { decision: "allow_always", scope: "session" }],
    ["n", { key: "n" }, { decision: "deny" }],
  ])("is answered with the key %s", async (_, pressed, body) => {
    show(approval());
    fireEvent.keyDown(card(), { ...pressed, repeat: true });
    expect(sent).toHaveLength(0);
    fireEvent.keyDown(card(), pressed);
    await waitFor(() => expect(sent).toHaveLength(1));
    expect(await sent[0]!.json()).toEqual(body);
  });

  it("ignores keys pressed on its buttons, and takes no second answer", async () => {
    show(approval());
    fireEvent.keyDown(screen.getByRole("button", { name: "Allow" }), { key: "n" });
    fireEvent.keyDown(card(), { key: "y", ctrlKey: true });
    expect(sent).toHaveLength(0);
    fireEvent.keyDown(card(), { key: "y" });
    fireEvent.keyDown(card(), { key: "n" });
    await waitFor(() => expect(sent).toHaveLength(1));
    expect(sent).toHaveLength(1);
  });

  it("shows the error and can be answered again", async () => {
    next = () =>
      new Response(JSON.stringify({ error: { code: "x", message: "It was already decided." } }), {
        status: 409,
      });
    show(approval());
    fireEvent.click(screen.getByRole("button", { name: "Allow" }));
    expect((await screen.findByRole("alert")).textContent).toBe("It was already decided.");
    expect(screen.getByRole<HTMLButtonElement>("button", { name: "Allow" }).disabled).toBe(false);
  });

  it("has one button for each of several ways to allow, and no key", async () => {
    const options = [
      { optionId: "one", name: "This way", kind: "allow_once" },
      { optionId: "two", name: "That way", kind: "allow_once" },
    ];
    show(approval({ options, toolKind: "other" }));
    fireEvent.keyDown(card(), { key: "a" });
    expect(sent).toHaveLength(0);
    fireEvent.click(screen.getByRole("button", { name: "That way" }));
    await waitFor(() => expect(sent).toHaveLength(1));
    expect(await sent[0]!.json()).toEqual({ optionId: "two" });
  });

  it("is one line when somebody else has decided it", () => {
    show(approval({ status: "denied", decidedBy: { kind: "person", id: null } }));
    expect(screen.getByTestId("approval-decided").textContent).toContain("Denied by a person");
    expect(screen.queryByRole("button")).toBeNull();
  });
});
