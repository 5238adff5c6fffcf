import { expect, it } from "vitest";
import { focusByCode } from "./focus";

it("marks an area that code focused until the focus leaves it", () => {
  const area = document.createElement("section");
  area.tabIndex = 0;
  document.body.append(area);
  focusByCode(area);
  expect([document.activeElement === area, "focusedByCode" in area.dataset]).toEqual([true, true]);
  area.blur();
  expect("focusedByCode" in area.dataset).toBe(false);
  area.remove();
});
