import { QueryClient } from "@tanstack/react-query";
import { afterEach, expect, it, vi } from "vitest";
import { tasksQuery } from "./sessions";

afterEach(() => void vi.unstubAllGlobals());

it("returns all unfinished tasks and the newest finished ones", async () => {
  const all = Array.from({ length: 1200 }, (_, at) => ({
    id: `t${at}`,
    position: at,
    status: at === 3 ? "running" : "completed",
  }));
  vi.stubGlobal("fetch", async (request: Request) => {
    const query = new URL(request.url).searchParams;
    const statuses = query.get("status")?.split(",");
    const fitting = all.filter((task) => !statuses || statuses.includes(task.status));
    const offset = Number(query.get("offset") ?? 0);
    const tasks = fitting.slice(offset, offset + Number(query.get("limit")));
    return Response.json({ tasks, total: fitting.length, limit: 500, offset });
  });
  const tasks = await new QueryClient().fetchQuery(tasksQuery("s"));
  expect(tasks.map((task) => task.id)).toEqual(["t3", ...all.slice(-500).map((task) => task.id)]);
});
