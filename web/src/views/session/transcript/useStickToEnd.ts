/** Staying at the end: while the reader is there, what grows keeps the end in sight; who scrolls up is left alone. */
import { type RefObject, useCallback, useEffect, useRef, useState } from "react";

/** Nearer than this counts as the end. */
const NEAR = 48;

export interface End {
  atEnd: boolean;
  /** To be called on every scroll. */
  scrolled: () => void;
  /** Goes to the end and stays there. */
  stick: () => void;
  /** To be called when the contents may have grown. */
  grown: () => void;
  /** Stays where it is, whatever comes. */
  leave: () => void;
}

/** `open` is false while newer messages than the last here are not loaded: then the bottom is not the end. */
export function useEnd(
  scroller: RefObject<HTMLElement | null>,
  inner: RefObject<HTMLElement | null>,
  open: boolean,
): End {
  const stuck = useRef(true);
  const last = useRef(0);
  const [atEnd, setAtEnd] = useState(true);

  const down = useCallback(() => {
    const element = scroller.current;
    if (element && stuck.current) element.scrollTop = element.scrollHeight;
  }, [scroller]);

  const scrolled = useCallback(() => {
    const element = scroller.current;
    if (!element) return;
    const gap = element.scrollHeight - element.scrollTop - element.clientHeight;
    // Growing text moves the end away, but never the reader up: only a person does.
    if (gap < NEAR) stuck.current = open;
    else if (element.scrollTop < last.current - 1) stuck.current = false;
    last.current = element.scrollTop;
    setAtEnd(stuck.current || (open && gap < NEAR));
  }, [scroller, open]);

  const stick = useCallback(() => {
    stuck.current = true;
    setAtEnd(true);
    down();
  }, [down]);

  const leave = useCallback(() => {
    stuck.current = false;
    setAtEnd(false);
  }, []);

  useEffect(() => {
    if (!open) leave();
  }, [open, leave]);

  useEffect(() => {
    const [outer, content] = [scroller.current, inner.current];
    if (!outer || !content) return;
    const observer = new ResizeObserver(down);
    observer.observe(outer);
    observer.observe(content);
    return () => observer.disconnect();
  }, [scroller, inner, down]);

  return { atEnd, scrolled, stick, leave, grown: down };
}
