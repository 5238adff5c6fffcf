/** Keeps the end of a growing list in sight while the reader is there, and stops as soon as they scroll up. */
import { type RefObject, useCallback, useEffect, useRef, useState } from "react";

/** Closer to the bottom than this counts as the end. */
const NEAR = 48;

export interface StickToEnd {
  atEnd: boolean;
  /** To be called on every scroll. */
  onScroll: () => void;
  /** Scrolls to the end and stays there. */
  stick: () => void;
  /** To be called when the content may have grown. */
  onGrow: () => void;
  /** Stays at the current position, whatever is added. */
  release: () => void;
}

/** `isWhole` is false while newer messages are not loaded: then the bottom is not the end. */
export function useStickToEnd(
  scroller: RefObject<HTMLElement | null>,
  content: RefObject<HTMLElement | null>,
  isWhole: boolean,
): StickToEnd {
  const stuck = useRef(true);
  const lastTop = useRef(0);
  const [atEnd, setAtEnd] = useState(true);

  const follow = useCallback(() => {
    const element = scroller.current;
    if (element && stuck.current) element.scrollTop = element.scrollHeight;
  }, [scroller]);

  const onScroll = useCallback(() => {
    const element = scroller.current;
    if (!element) return;
    const gap = element.scrollHeight - element.scrollTop - element.clientHeight;
    // Growing text moves the end away but never scrolls up: only a person does.
    if (gap < NEAR) stuck.current = isWhole;
    else if (element.scrollTop < lastTop.current - 1) stuck.current = false;
    lastTop.current = element.scrollTop;
    setAtEnd(stuck.current || (isWhole && gap < NEAR));
  }, [scroller, isWhole]);

  const stick = useCallback(() => {
    stuck.current = true;
    setAtEnd(true);
    follow();
  }, [follow]);

  const release = useCallback(() => {
    stuck.current = false;
    setAtEnd(false);
  }, []);

  useEffect(() => {
    if (!isWhole) release();
  }, [isWhole, release]);

  useEffect(() => {
    const [outer, inner] = [scroller.current, content.current];
    if (!outer || !inner) return;
    const observer = new ResizeObserver(follow);
    observer.observe(outer);
    observer.observe(inner);
    return () => observer.disconnect();
  }, [scroller, content, follow]);

  return { atEnd, onScroll, stick, release, onGrow: follow };
}
