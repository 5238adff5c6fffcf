import { render } from "@testing-library/react";
import { expect, it } from "vitest";
import { Breakable } from "./Breakable";

it("breaks after separators only, and keeps the text", () => {
  const { container } = render(<Breakable text="BOUGH_DATABASE_URL=/var/lib/x.db" />);
  expect(container.innerHTML.split("<wbr>")).toEqual([
    "BOUGH_",
    "DATABASE_",
    "URL=/",
    "var/",
    "lib/",
    "x.",
    "db",
  ]);
  expect(container.textContent).toBe("BOUGH_DATABASE_URL=/var/lib/x.db");
});
