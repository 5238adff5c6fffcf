"""Measures a page from the inside: bytes loaded, time between frames, key latency, scrolling through a long transcript.
Tests and benchmarks decide what is good enough."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, cast

from playwright.async_api import CDPSession, Locator, Page

# Milliseconds between frames over some seconds, without the first.
FRAMES = """(seconds) => new Promise((done) => {
  const gaps = [];
  const end = performance.now() + seconds * 1000;
  let last = 0;
  const tick = (now) => {
    if (last) gaps.push(now - last);
    last = now;
    if (now < end) requestAnimationFrame(tick); else done(gaps);
  };
  requestAnimationFrame(tick);
})"""
# Milliseconds from a key press until the following frame was handed to the compositor.
LISTEN = """() => {
  window.keyDelays = [];
  addEventListener('keydown', (event) => requestAnimationFrame(() => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => window.keyDelays.push(performance.now() - event.timeStamp);
    channel.port2.postMessage(0);
  }), {capture: true});
}"""
NODES = "() => document.querySelectorAll('*').length"
# Scrolls to the top of the transcript and counts the elements two frames later.
TO_THE_TOP = """(scroller) => new Promise((done) => {
  scroller.scrollTop = 0;
  requestAnimationFrame(() => requestAnimationFrame(() => done(document.querySelectorAll('*').length)));
})"""


def prompt_box(page: Page) -> Locator:
    """Returns the prompt box, which is a combobox while it offers commands."""
    return page.get_by_role("textbox", name="Prompt").or_(page.get_by_role("combobox", name="Prompt"))


@dataclass
class Loaded:
    """The scripts that a page loaded, in bytes on the wire."""

    scripts: dict[str, int] = field(default_factory=dict[str, int])
    plain: list[str] = field(default_factory=list[str])

    @property
    def bytes(self) -> int:
        return sum(self.scripts.values())


@contextlib.asynccontextmanager
async def loading(page: Page) -> AsyncGenerator[Loaded]:
    """Counts the JavaScript loaded inside the block."""
    loaded = Loaded()
    debugger: CDPSession = await page.context.new_cdp_session(page)
    scripts: dict[str, str] = {}

    def answered(event: dict[str, Any]) -> None:
        if event["type"] != "Script":
            return
        scripts[event["requestId"]] = event["response"]["url"]
        headers = {name.lower(): value for name, value in event["response"]["headers"].items()}
        if "content-encoding" not in headers:
            loaded.plain.append(event["response"]["url"])

    def finished(event: dict[str, Any]) -> None:
        if event["requestId"] in scripts:
            loaded.scripts[scripts[event["requestId"]]] = int(event["encodedDataLength"])

    debugger.on("Network.responseReceived", answered)
    debugger.on("Network.loadingFinished", finished)
    # Playwright does not type its parameters and results.
    send = cast("Callable[..., Awaitable[object]]", debugger.send)  # pyright: ignore[reportUnknownMemberType]
    await send("Network.enable")
    await send("Network.setCacheDisabled", {"cacheDisabled": True})
    yield loaded
    await debugger.detach()


async def frames(page: Page, seconds: float) -> list[float]:
    """Returns the seconds between frames."""
    gaps = cast("list[float]", await page.evaluate(FRAMES, seconds))
    return [gap / 1000 for gap in gaps]


async def key_delays(page: Page, presses: int) -> list[float]:
    """Returns how many seconds the page took to show each of some letters typed into the prompt box."""
    await prompt_box(page).focus()
    await page.evaluate(LISTEN)
    for _ in range(presses):
        await page.keyboard.press("x")
    async with asyncio.timeout(30):
        while await page.evaluate("() => window.keyDelays.length") < presses:
            await page.evaluate("() => new Promise((done) => requestAnimationFrame(() => done(0)))")
    delays = cast("list[float]", await page.evaluate("() => window.keyDelays"))
    return [delay / 1000 for delay in delays]


async def climb(page: Page, first: str, seconds: float = 120) -> tuple[int, int]:
    """Scrolls to the top of a transcript until its first words appear; returns the number of scrolls and the largest
    number of elements in the page."""
    scroller = await page.get_by_label("Transcript").element_handle()
    first_message = page.get_by_label("Transcript").get_by_text(first, exact=True)
    scrolls, max_elements = 0, 0
    async with asyncio.timeout(seconds):
        while not await first_message.count():
            max_elements = max(max_elements, await page.evaluate(TO_THE_TOP, scroller))
            scrolls += 1
    return scrolls, max_elements
