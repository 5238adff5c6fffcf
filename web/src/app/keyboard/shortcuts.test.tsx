import { cleanup, render } from "@testing-library/react";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type Action, listenForKeys, useActions } from "./shortcuts";

function Offers({ actions }: { actions: Action[] }) {
  useActions(actions);
  return <textarea aria-label="box" />;
}

const press = (key: string, more: KeyboardEventInit = {}, target: EventTarget = document.body) =>
  target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more }));

describe("keys", () => {
  let stop: () => void;
  beforeEach(() => {
    stop = listenForKeys();
  });
  afterEach(() => {
    stop();
    cleanup();
  });

  const action = (keys: string, run: () => void, label = keys): Action => ({
    keys,
    label,
    group: "Test",
    run,
  });

  it("run actions: single keys, chords and sequences", () => {
    const [alone, together, after] = [vi.fn(), vi.fn(), vi.fn()];
    render(<Offers actions={[action("c", alone), action("mod+k", together), action("g h", after)]} />);
    press("c");
    press("k", { ctrlKey: true });
    press("g");
    press("h");
    expect([alone, together, after].map((run) => run.mock.calls.length)).toEqual([1, 1, 1]);
  });

  it("are ignored while the user types, unless a modifier is held", () => {
    const [alone, together] = [vi.fn(), vi.fn()];
    const { getByLabelText } = render(<Offers actions={[action("c", alone), action("mod+k", together)]} />);
    press("c", {}, getByLabelText("box"));
    press("k", { metaKey: true }, getByLabelText("box"));
    expect(alone).not.toHaveBeenCalled();
    expect(together).toHaveBeenCalledTimes(1);
  });

  it("run the action registered last, and nothing once it is removed", () => {
    const [outer, inner] = [vi.fn(), vi.fn()];
    render(<Offers actions={[action("x", outer)]} />);
    const { unmount } = render(<Offers actions={[action("x", inner)]} />);
    press("x");
    unmount();
    press("x");
    expect([inner.mock.calls.length, outer.mock.calls.length]).toEqual([1, 1]);
  });

  it("run the newest version of an action", () => {
    const [before, now] = [vi.fn(), vi.fn()];
    const { rerender } = render(<Offers actions={[action("x", before)]} />);
    rerender(<Offers actions={[action("x", now)]} />);
    press("x");
    expect([before.mock.calls.length, now.mock.calls.length]).toEqual([0, 1]);
  });
});
