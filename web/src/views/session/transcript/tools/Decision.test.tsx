/** Tests when a decision's "always" can be undone, and when it is called over. */
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen, waitFor } from "@testing-library/react";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Decision } from "./Decision";

const OVER = "No longer in force.";

describe("an “always”", () => {
  let answer: () => Promise<Response>;
  const asked: string[] = [];
  beforeEach(() => {
    asked.length = 0;
    vi.stubGlobal("fetch", async (request: Request) => {
      const { pathname, search } = new URL(request.url);
      if (pathname !== "/api/policy/choices")
        return Response.json({ name: "owner", role: "admin", kind: "person" });
      asked.push(search);
      return answer();
    });
  });
  afterEach(() => {
    cleanup();
    vi.unstubAllGlobals();
  });
  const show = () =>
    render(
      <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
        <Decision decision={{ decision: "allowed", by: "person", scope: "session", approvalId: "a1" }} />
      </QueryClientProvider>,
    );
  const choices = (...scopes: string[]) =>
    Response.json({ choices: scopes.map((scope) => ({ id: scope, scope, approvalId: "a0" })) });

  it("is asked for by its approval, and can be undone also if an earlier approval made it", async () => {
    answer = async () => choices("everywhere", "session");
    show();
    await screen.findByRole("button", { name: "Undo “always”" });
    expect(asked).toEqual(["?approvalId=a1"]);
    expect(screen.queryByText(OVER)).toBeNull();
  });

  it("is over when no such choice is left", async () => {
    answer = async () => choices("everywhere");
    show();
    await screen.findByText(OVER);
  });

  it("is not called over while its choices load, or after an error", async () => {
    let fail = (_: Response) => {};
    answer = () => new Promise((resolve) => (fail = resolve));
    show();
    await waitFor(() => expect(asked.length).toBe(1));
    expect(screen.queryByText(OVER)).toBeNull();
    fail(Response.json({ error: { code: "internal", message: "No." } }, { status: 500 }));
    await new Promise((resolve) => setTimeout(resolve));
    expect(screen.queryByText(OVER)).toBeNull();
  });
});
