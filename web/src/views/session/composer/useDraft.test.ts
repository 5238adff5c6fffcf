import { act, renderHook } from "@testing-library/react";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { getPref } from "@/lib/prefs";
import { draftName, useDraft } from "./useDraft";

describe("drafts", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("are kept a moment after the last key, each by its session", () => {
    const { result } = renderHook(() => useDraft("d1"));
    act(() => result.current[1]("half"));
    expect(getPref(draftName("d1"), "")).toBe("");
    act(() => vi.advanceTimersByTime(400));
    expect(getPref(draftName("d1"), "")).toBe("half");
    expect(renderHook(() => useDraft("d1")).result.current[0]).toBe("half");
    expect(renderHook(() => useDraft("d2")).result.current[0]).toBe("");
  });

  it("are kept at once when the box goes, and forgotten at once when it is emptied", () => {
    const { result, unmount } = renderHook(() => useDraft("d3"));
    act(() => result.current[1]("going"));
    unmount();
    expect(getPref(draftName("d3"), "")).toBe("going");
    const again = renderHook(() => useDraft("d3"));
    act(() => again.result.current[1](""));
    expect(getPref(draftName("d3"), "none")).toBe("none");
  });

  it("survive the page being put away", () => {
    const { result } = renderHook(() => useDraft("d4"));
    act(() => result.current[1]("put away"));
    window.dispatchEvent(new Event("pagehide"));
    expect(getPref(draftName("d4"), "")).toBe("put away");
  });
});
