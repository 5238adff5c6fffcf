import { describe, expect, it } from "vitest";
import { type Box, READABLE_ZOOM, viewportFor } from "./viewport";

const SIZE = { width: 1000, height: 700 };
const column = (count: number) =>
  new Map(
    Array.from({ length: count }, (_, at): [string, Box] => [
      `n${at}`,
      { x: 400, y: at * 130, width: 264, height: 104 },
    ]),
  ).set("root", { x: 0, y: (count * 130) / 2, width: 264, height: 104 });

/** Whether a box is wholly visible. */
const visible = (box: Box, { x, y, zoom }: { x: number; y: number; zoom: number }) =>
  box.x * zoom + x >= 0 &&
  box.y * zoom + y >= 0 &&
  (box.x + box.width) * zoom + x <= SIZE.width &&
  (box.y + box.height) * zoom + y <= SIZE.height;

describe("the first view of a tree", () => {
  it("shows everything if it can be read", () => {
    const boxes = column(5);
    const view = viewportFor(boxes, ["root"], SIZE);
    expect(view.zoom).toBeGreaterThanOrEqual(READABLE_ZOOM);
    expect([...boxes.values()].every((box) => visible(box, view))).toBe(true);
  });

  it("shows the end of the path at a readable size in a large tree", () => {
    const boxes = column(200);
    for (const id of ["n0", "n100", "n199"]) {
      const view = viewportFor(boxes, ["root", id], SIZE);
      expect(view.zoom).toBeGreaterThanOrEqual(READABLE_ZOOM);
      expect(visible(boxes.get(id)!, view)).toBe(true);
    }
    expect(visible(boxes.get("root")!, viewportFor(boxes, ["root", "n100"], SIZE))).toBe(true);
  });

  it("wastes no room beside the drawing, and survives an empty one and a canvas without size", () => {
    const view = viewportFor(column(200), ["root", "n0"], SIZE);
    expect(view.y).toBeLessThanOrEqual(48);
    expect(viewportFor(new Map(), ["root"], SIZE)).toEqual({ x: 0, y: 0, zoom: 1 });
    expect(viewportFor(column(3), ["gone"], { width: 0, height: 0 }).zoom).toBe(READABLE_ZOOM);
  });
});
