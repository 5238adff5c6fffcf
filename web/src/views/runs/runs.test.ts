import { expect, test } from "vitest";
import type { Run } from "@/api/types";
import { isLocal, runLink, runState } from "./runs";

const run = (fields: Partial<Run>) =>
  ({ state: "running", code: null, answers: false, port: 20000, ...fields }) as Run;

test("a run's state is a few words", () => {
  expect(runState(run({}))).toBe("Running");
  expect(runState(run({ answers: true }))).toBe("Serving at port 20000");
  expect(runState(run({ state: "exited", code: 0 }))).toBe("Ended");
  expect(runState(run({ state: "exited", code: 3 }))).toBe("Failed with code 3");
  expect(runState(run({ state: "exited", code: -9 }))).toBe("Ended by signal 9");
  expect(runState(run({ state: "stopped", code: -15 }))).toBe("Stopped");
});

test("only what answers has a link, and only on the server's machine", () => {
  expect(runLink(run({}))).toBe(null);
  expect(runLink(run({ answers: true }))).toBe("http://localhost:20000/");
  expect([isLocal("127.0.0.1"), isLocal("localhost"), isLocal("example.com")]).toEqual([true, true, false]);
});
