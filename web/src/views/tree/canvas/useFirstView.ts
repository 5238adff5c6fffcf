/** Shows a readable part of the tree at first, when it grows, and when a drawer or the window changes the canvas's size. Once
 * a person has moved the view, it stays there until the size changes or another session is opened. */
import { useReactFlow } from "@xyflow/react";
import { type RefObject, useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { Shown } from "@/views/tree/foldFinished";
import { heightOf, NODE_SIZE, type Point } from "./layout";
import { READABLE_ZOOM, viewportFor } from "./viewport";

const DURATION = 200;

interface FirstView {
  box: RefObject<HTMLDivElement | null>;
  items: Shown[];
  places: Map<string, Point>;
  path: string[];
  open: string | null;
  wide: boolean;
}

/** Returns a function to call when a person moves the view. */
export function useFirstView({ box, items, places, path, open, wide }: FirstView): () => void {
  const { setViewport } = useReactFlow();
  const [size, setSize] = useState("");
  // The size and the open session at which a person moved the view.
  const stage = `${size} ${open}`;
  const movedAt = useRef<string | null>(null);
  useEffect(() => {
    const watcher = new ResizeObserver(([entry]) => {
      const { width = 0, height = 0 } = entry?.contentRect ?? {};
      setSize(`${Math.round(width)}x${Math.round(height)}`);
    });
    if (box.current) watcher.observe(box.current);
    return () => watcher.disconnect();
  }, [box]);
  // The end of the path matters; sessions that start or stop elsewhere do not move the view.
  const end = useMemo(() => path.at(-1), [path]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: the view changes with positions, size and path, not with the state of sessions
  useEffect(() => {
    if (movedAt.current === stage) return;
    const frame = requestAnimationFrame(() => {
      const { clientWidth = 0, clientHeight = 0 } = box.current ?? {};
      if (!clientWidth) return;
      if (wide) {
        const boxes = new Map(
          items.map((item) => [
            item.id,
            { ...(places.get(item.id) ?? { x: 0, y: 0 }), width: NODE_SIZE.width, height: heightOf(item) },
          ]),
        );
        void setViewport(viewportFor(boxes, path, { width: clientWidth, height: clientHeight }), {
          duration: DURATION,
        });
        return;
      }
      // On a phone, the tree is as wide as the screen and scrolls down.
      const right = Math.max(...[...places.values()].map((at) => at.x)) + NODE_SIZE.width;
      const zoom = Math.min(1, Math.max(READABLE_ZOOM, clientWidth / (right + 32)));
      void setViewport({ x: 16 * zoom, y: 16, zoom });
    });
    return () => cancelAnimationFrame(frame);
  }, [places, end, size, wide, setViewport]);
  return useCallback(() => {
    movedAt.current = stage;
  }, [stage]);
}
