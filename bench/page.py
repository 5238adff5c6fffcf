"""Measures the page in a real browser: frames and key presses while an agent streams, against the same page at rest;
what it loads; and scrolling through a long transcript. Without a browser it measures nothing."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from playwright.async_api import Browser, Page, async_playwright, expect

from bench.support import measure
from bench.support.report import Result, Row, duration, slower
from bough.api.page.routes import BUILT
from tests.support.client import Client
from tests.support.repos import make_repo
from tests.web.helpers import chromium, example_workspace, page_metrics
from tests.web.helpers.site import PATIENCE, Complaints, Site, visiting

ROUNDS = 5
SECONDS = 1.5
PRESSES = 10
PIECES = 2000
MOST_FRAME = 2.0
MOST_ADDED = 0.050
MOST_SCRIPT = 350
MOST_ELEMENTS = 3000
TURNS = 4
MESSAGES = 2500
FIRST = "This is where it begins."
LONG = "Tell me everything."
TALK = f"[[slow {PIECES} {PIECES // 200}]]"


async def run() -> Result:
    program = chromium.find()
    if program is None or not (BUILT / "index.html").exists():
        why = chromium.MISSING if program is None else "The page has not been built: `make web` does that."
        return Result(title="page", about=_ABOUT, rows=[Row(name="not measured", ours=why)])
    expect.set_options(timeout=PATIENCE)
    pairs = "".join(f"[[think Thought {item}]][[say Sentence {item} of many.]]" for item in range(MESSAGES // 2))
    with tempfile.TemporaryDirectory() as name:
        server = example_workspace.server(Path(name), [(FIRST, "", "[[say Then begin.]]"), (LONG, "", pairs)])
        async with server, server.client() as client, async_playwright() as playwright:
            repo = make_repo(server.root / "repo")
            site = Site(server, client, repo, (await client.repo(repo))["id"])
            browser = await playwright.chromium.launch(executable_path=program, args=chromium.arguments())
            rows = [*await _streaming(browser, site), *await _loaded(browser, site), *await _long(browser, site)]
            await browser.close()
    return Result(title="page", about=_ABOUT, rows=rows)


_ABOUT = f"""\
A session in headless Chromium with software rendering; agent, server and browser share the machine.

- **Streaming:** the demo agent says 200 chunks a second, each a line, and the text grows on the page. Floor: the
  same page before the agent says anything.
- **Frames:** the time from one to the next over {SECONDS:g} s, {ROUNDS} times.
- **Key:** from a letter typed into the prompt to the frame that shows it, {PRESSES} of them, {ROUNDS} times.
- **JavaScript** is counted as transferred, with an empty cache. The session contains code.
- **The long transcript** is scrolled from its end to its beginning, as fast as its pages load."""


async def _streaming(browser: Browser, site: Site) -> list[Row]:
    async with visiting(browser, site, Complaints()) as context:
        page = await context.new_page()
        longest: list[tuple[float, float]] = []

        async def drawn() -> float:
            gaps = await page_metrics.frames(page, SECONDS)
            longest[-1] = (longest[-1][1], max(gaps))
            return statistics.median(gaps)

        async def typed() -> float:
            return statistics.median(await page_metrics.key_delays(page, PRESSES))

        async def at_rest(look: Callable[[], Awaitable[float]]) -> float:
            await _open(page, site)
            longest.append((0.0, 0.0))
            return await look()

        async def talking(look: Callable[[], Awaitable[float]]) -> float:
            session = page.url.rpartition("/")[2]
            await site.client.prompt(session, TALK)
            await expect(page.get_by_text("tick 50", exact=False).first).to_be_attached()
            measured = await look()
            await _stop(site.client, session)
            return measured

        frames = await measure.alternate(ROUNDS, lambda: at_rest(drawn), lambda: talking(drawn))
        worst = [measure.Sample([pair[side] for pair in longest]) for side in (0, 1)]
        keys = await measure.alternate(ROUNDS, lambda: at_rest(typed), lambda: talking(typed))
    added = keys[1].median - keys[0].median
    return [
        slower("a frame while streaming 200 pieces/s", frames, MOST_FRAME),
        slower("… the longest one", worst),
        Row(
            name="key to frame while streaming",
            floor=duration(keys[0]),
            ours=duration(keys[1]),
            ratio=f"{added * 1e3:+.1f} ms",
            target=f"≤ +{MOST_ADDED * 1e3:.0f} ms",
            number=added,
            ok=added <= MOST_ADDED,
        ),
    ]


async def _loaded(browser: Browser, site: Site) -> list[Row]:
    session = await site.session(title="Small")
    await site.client.ask(session["id"], "[[say Hello.\n\n```python\nprint(1)\n```]]")
    rows: list[Row] = []
    for name, address, words in (
        ("the start page", "/", "Recent trees"),
        ("a session", f"/session/{session['id']}", "print(1)"),
    ):
        async with visiting(browser, site, Complaints()) as context:
            page = await context.new_page()
            async with page_metrics.loading(page) as loaded:
                await page.goto(address)
                await expect(page.get_by_text(words).first).to_be_visible()
                await page.wait_for_load_state("networkidle")
        size = loaded.bytes / 1024
        rows.append(_bounded(f"JavaScript of {name}", f"{size:.0f} KB", f"≤ {MOST_SCRIPT} KB", size, MOST_SCRIPT))
    return rows


async def _long(browser: Browser, site: Site) -> list[Row]:
    session = await site.session(title="Long")
    await site.client.ask(session["id"], FIRST)
    for _ in range(TURNS):
        await site.client.ask(session["id"], LONG)
    async with visiting(browser, site, Complaints()) as context:
        page = await context.new_page()
        start = time.perf_counter()
        await page.goto(f"/session/{session['id']}")
        await expect(page.get_by_text(f"Sentence {MESSAGES // 2 - 1} of many.").last).to_be_visible()
        opened = time.perf_counter() - start
        start = time.perf_counter()
        looks, most = await page_metrics.climb(page, FIRST)
        climbed = time.perf_counter() - start
    return [
        Row(name="a session of 10,000 messages opened at its end", ours=f"{opened * 1e3:.0f} ms", number=opened),
        Row(name=f"… gone through to its first words, {looks} pages", ours=f"{climbed:.1f} s", number=climbed),
        _bounded("… elements of the page at most", f"{most}", f"≤ {MOST_ELEMENTS}", most, MOST_ELEMENTS),
    ]


def _bounded(name: str, ours: str, target: str, number: float, most: float) -> Row:
    return Row(name=name, ours=ours, target=target, number=number, ok=number <= most)


async def _open(page: Page, site: Site) -> None:
    """Creates a session without messages and opens it."""
    session = await site.session()
    await page.goto(f"/session/{session['id']}")
    await page_metrics.prompt_box(page).wait_for()
    await page.wait_for_load_state("networkidle")


async def _stop(client: Client, session: str) -> None:
    await client.post(f"/api/sessions/{session}/stop")
    await client.post("/api/wait", {"sessionIds": [session], "timeoutSeconds": 30})
