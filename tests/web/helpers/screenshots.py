"""`python -m tests.web.helpers.screenshots [--out FOLDER] [NAME…]` takes the screenshots of the documentation: it
builds the example workspace on a real server and visits its views."""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, Page, async_playwright, expect

from bough.api.page.routes import BUILT
from tests.web.helpers import chromium, example_script, example_workspace
from tests.web.helpers.example_workspace import ExampleWorkspace
from tests.web.helpers.site import DESK, PATIENCE, PHONE, Complaints, Site, visiting

OUT = Path(__file__).parents[3] / "docs/images"
# Sharp enough on most screens, and half as large as twice the size would be.
SCALE = 1
LIGHT: dict[str, Any] = {"color_scheme": "light", "viewport": DESK, "device_scale_factor": SCALE}
DARK = LIGHT | {"color_scheme": "dark"}
SMALL = LIGHT | {"viewport": PHONE, "has_touch": True, "is_mobile": True}

Step = Callable[[Page], Awaitable[None]]


@dataclass
class Picture:
    """One screenshot: its address, what must be visible, and what to do before it is taken."""

    name: str
    address: str
    shows: str
    options: dict[str, Any]
    step: Step | None = None


def pictures(workspace: ExampleWorkspace) -> list[Picture]:
    session = f"/session/{workspace.root}"
    return [
        Picture("welcome", "/welcome", "Start tour", LIGHT),
        Picture("home", "/", "Needs you", LIGHT),
        Picture("board", "/board", "Orders are slow after page 100", LIGHT),
        Picture("tree", f"/tree/{workspace.root}", "Sliding window", LIGHT),
        Picture("session", session, "Next come the routes", LIGHT),
        Picture("session-dark", session, "Next come the routes", DARK, _scroll_to_answer),
        Picture("approval", f"/session/{workspace.editing}", "Allow", LIGHT),
        Picture("race", f"/race/{workspace.race}", "Words are indexed once", LIGHT),
        Picture("new", "/new", "New session", LIGHT, _fill),
        Picture("search", "/search?q=limiter", "results", LIGHT),
        Picture("phone-home", "/", "Needs you", SMALL),
        Picture("phone-session", session, "Next come the routes", SMALL),
    ]


async def _scroll_to_answer(page: Page) -> None:
    """Scrolls up to the answer with its code and table."""
    await page.get_by_label("Transcript").hover()
    table = page.get_by_text("guessing keys must be slow")
    for _ in range(60):
        await page.mouse.wheel(0, -200)
        await settled(page)
        box = await table.bounding_box() if await table.count() else None
        if box is not None and box["y"] > DESK["height"] * 0.45:
            break
    await page.mouse.move(0, 0)


async def _fill(page: Page) -> None:
    await page.get_by_label("What should the agent do?").fill(example_script.FASTER)


async def settled(page: Page) -> None:
    """Waits until the page is still: two frames, fonts loaded, and no request in flight."""
    await page.evaluate("() => document.fonts.ready.then(() => 0)")
    await page.evaluate(
        "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))"
    )


async def take(browser: Browser, site: Site, picture: Picture, out: Path) -> Path:
    complaints = Complaints()
    async with visiting(browser, site, complaints, **picture.options) as context:
        page = await context.new_page()
        await page.goto(picture.address)
        await expect(page.get_by_text(picture.shows).first).to_be_visible()
        if picture.step is not None:
            await picture.step(page)
        await page.wait_for_load_state("networkidle")
        await settled(page)
        path = out / f"{picture.name}.png"
        await page.screenshot(path=path, animations="disabled", caret="hide")
    for item in complaints.left():
        print(f"{picture.name}: {item}", file=sys.stderr)
    return path


async def run(out: Path, names: list[str]) -> int:
    program = chromium.find()
    if program is None or not (BUILT / "index.html").exists():
        print(chromium.MISSING if program is None else "The page has not been built: `make web` does that.")
        return 1
    expect.set_options(timeout=PATIENCE)
    failed = 0
    with tempfile.TemporaryDirectory(prefix="bough-") as name:
        async with (
            example_workspace.server(Path(name)) as server,
            server.client() as client,
            async_playwright() as playwright,
        ):
            site = Site(server, client, server.root, "")
            browser = await playwright.chromium.launch(executable_path=program, args=chromium.arguments())
            for picture in pictures(await example_workspace.build(server, client)):
                if names and picture.name not in names:
                    continue
                try:
                    path = await take(browser, site, picture, out)
                    print(f"{path.name}: {path.stat().st_size / 1024:.0f} KB")
                except Exception as error:  # The other pictures are worth having all the same.
                    failed += 1
                    print(f"{picture.name}: {error}", file=sys.stderr)
            await browser.close()
    return 1 if failed else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.web.helpers.screenshots", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="which pictures; all if none is named")
    parser.add_argument("--out", type=Path, default=OUT, help="the folder to put them into")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    return asyncio.run(run(arguments.out, arguments.names))


if __name__ == "__main__":
    sys.exit(main())
