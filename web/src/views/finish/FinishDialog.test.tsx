/** Tests that a commit has exactly the files that are ticked. */
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { Tooltip } from "radix-ui";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { FinishState } from "@/api/types";
import { FinishDialog } from "./FinishDialog";

const state = (paths: string[], filesTotal = paths.length) =>
  ({
    worktreeId: "w1",
    branch: "feature",
    base: "main",
    files: paths.map((path) => ({ path, status: "modified" })),
    filesTotal,
    proposed: { message: "Change files.", sessionId: null },
    remote: { name: null },
    lastMerge: null,
  }) as unknown as FinishState;

describe("the files of a commit", () => {
  const sent: { files: string[] | null; dryRun?: boolean }[] = [];
  beforeEach(() => {
    sent.length = 0;
    vi.stubGlobal("fetch", async (request: Request) => {
      sent.push(await request.json());
      return Response.json({ refusal: null, steps: ["Commit."], files: [], filesTotal: 0, conflicts: [] });
    });
  });
  afterEach(() => {
    cleanup();
    vi.unstubAllGlobals();
  });
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  const dialog = (shown: FinishState) => (
    <QueryClientProvider client={client}>
      <Tooltip.Provider>
        <FinishDialog verb="commit" state={shown} onClose={() => {}} />
      </Tooltip.Provider>
    </QueryClientProvider>
  );
  const commit = () => screen.getByRole<HTMLButtonElement>("button", { name: "Commit" });
  const committed = async () => {
    await waitFor(() => expect(commit().disabled).toBe(false));
    fireEvent.click(commit());
    await waitFor(() => expect(sent.find(({ dryRun }) => !dryRun)).toBeDefined());
    return sent.find(({ dryRun }) => !dryRun)!.files;
  };

  it("are those that are ticked, also when others have changed meanwhile", async () => {
    const { rerender } = render(dialog(state(["a", "b"])));
    await waitFor(() => expect(commit().disabled).toBe(false));
    rerender(dialog(state(["b", "c"])));
    screen.getByText("1 of 2 files");
    expect(screen.getByRole<HTMLInputElement>("checkbox", { name: /^c/ }).checked).toBe(false);
    expect(await committed()).toEqual(["b"]);
  });

  it("are all, if all that are listed are ticked and more have changed", async () => {
    render(dialog(state(["a", "b"], 600)));
    expect(await committed()).toBeNull();
  });

  it("are needed", async () => {
    render(dialog(state(["a"])));
    await waitFor(() => expect(commit().disabled).toBe(false));
    fireEvent.click(screen.getByRole("checkbox", { name: /^a/ }));
    screen.getByText("Choose at least one file.");
    expect(commit().disabled).toBe(true);
  });
});
