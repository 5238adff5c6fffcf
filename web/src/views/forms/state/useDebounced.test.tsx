/** What is typed is asked about once, when the typing pauses. */
import { act } from "react";
import { createRoot } from "react-dom/client";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { useDebounced } from "./useDebounced";

const seen: string[] = [];

function Probe({ text }: { text: string }) {
  const settled = useDebounced(text, 200);
  if (seen.at(-1) !== settled) seen.push(settled);
  return null;
}

declare global {
  var IS_REACT_ACT_ENVIRONMENT: boolean;
}

beforeEach(() => {
  globalThis.IS_REACT_ACT_ENVIRONMENT = true;
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

it("waits until nothing was typed for a while", () => {
  const root = createRoot(document.createElement("div"));
  const type = (text: string) => act(() => root.render(<Probe text={text} />));
  const wait = (time: number) => act(() => vi.advanceTimersByTime(time));
  type("");
  for (const text of ["f", "fe", "fea"]) {
    type(text);
    wait(150);
  }
  expect(seen).toEqual([""]);
  wait(60);
  expect(seen).toEqual(["", "fea"]);
  type("feat");
  wait(199);
  expect(seen).toEqual(["", "fea"]);
  wait(1);
  expect(seen).toEqual(["", "fea", "feat"]);
  act(() => root.unmount());
});
