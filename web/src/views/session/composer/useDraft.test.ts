import { act, renderHook } from "@testing-library/react";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { getPref } from "@/lib/prefs";
import { draftKey, useDraft } from "./useDraft";

describe("drafts", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("are saved shortly after the last key, per session", () => {
    const { result } = renderHook(() => useDraft("d1"));
    act(() => result.current[1]("half"));
    expect(getPref(draftKey("d1"), "")).toBe("");
    act(() => vi.advanceTimersByTime(400));
    expect(getPref(draftKey("d1"), "")).toBe("half");
    expect(renderHook(() => useDraft("d1")).result.current[0]).toBe("half");
    expect(renderHook(() => useDraft("d2")).result.current[0]).toBe("");
  });

  it("are saved at once on unmount, and cleared at once when emptied", () => {
    const { result, unmount } = renderHook(() => useDraft("d3"));
    act(() => result.current[1]("going"));
    unmount();
    expect(getPref(draftKey("d3"), "")).toBe("going");
    const again = renderHook(() => useDraft("d3"));
    act(() => again.result.current[1](""));
    expect(getPref(draftKey("d3"), "none")).toBe("none");
  });

  it("are saved when the page is closed", () => {
    const { result } = renderHook(() => useDraft("d4"));
    act(() => result.current[1]("closing"));
    window.dispatchEvent(new Event("pagehide"));
    expect(getPref(draftKey("d4"), "")).toBe("closing");
  });
});
