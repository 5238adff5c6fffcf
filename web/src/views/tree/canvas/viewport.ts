/** Computes which part of a drawing is visible at first: all of it if it can be read then, else the part around a path. */
import type { Point } from "./layout";

export interface Box extends Point {
  width: number;
  height: number;
}
export interface Viewport extends Point {
  zoom: number;
}

/** Below this zoom, titles cannot be read. */
export const READABLE_ZOOM = 0.6;
const MARGIN = 48;

function around(boxes: readonly Box[]): Box {
  const x = Math.min(...boxes.map((box) => box.x));
  const y = Math.min(...boxes.map((box) => box.y));
  return {
    x,
    y,
    width: Math.max(...boxes.map((box) => box.x + box.width)) - x,
    height: Math.max(...boxes.map((box) => box.y + box.height)) - y,
  };
}

const zoomFor = (box: Box, size: { width: number; height: number }) =>
  Math.min(
    1,
    Math.max(1, size.width - 2 * MARGIN) / box.width,
    Math.max(1, size.height - 2 * MARGIN) / box.height,
  );

/** Moves one axis so that `middle` is in the center, without wasting room beside the drawing. */
function shift(start: number, length: number, middle: number, zoom: number, room: number): number {
  if (length * zoom <= room - 2 * MARGIN) return room / 2 - (start + length / 2) * zoom;
  const first = MARGIN - start * zoom;
  const last = room - MARGIN - (start + length) * zoom;
  return Math.min(first, Math.max(last, room / 2 - middle * zoom));
}

/** Returns the viewport for a canvas of this size. `path` leads to the session that matters; its end is visible in any case. */
export function viewportFor(
  boxes: ReadonlyMap<string, Box>,
  path: readonly string[],
  size: { width: number; height: number },
): Viewport {
  if (!boxes.size) return { x: 0, y: 0, zoom: 1 };
  const all = around([...boxes.values()]);
  const whole = zoomFor(all, size);
  const way = path.map((id) => boxes.get(id)).filter((box) => box !== undefined);
  const target = way.length ? around(way) : all;
  const zoom =
    whole >= READABLE_ZOOM ? whole : Math.max(READABLE_ZOOM, way.length ? zoomFor(target, size) : 0);
  const end = way.at(-1) ?? around([[...boxes.values()][0]!]);
  const middle = (from: "x" | "y", length: "width" | "height") => {
    const fits = way.length > 0 && target[length] * zoom <= size[length] - 2 * MARGIN;
    const box = fits ? target : end;
    return box[from] + box[length] / 2;
  };
  return {
    x: shift(all.x, all.width, middle("x", "width"), zoom, size.width),
    y: shift(all.y, all.height, middle("y", "height"), zoom, size.height),
    zoom,
  };
}
