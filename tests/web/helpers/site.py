"""Helpers for tests of the page: a server with a repository, browsers that are logged in, the errors they report, and
locators for the parts of a session. `conftest` has the fixtures."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast
from urllib.parse import urldefrag

from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Error, Locator, Page, expect

from tests.support.client import Client, Json
from tests.support.eventually import eventually
from tests.support.repos import make_repo
from tests.support.server import ServerProcess

AXE = Path(__file__).parents[3] / "web/node_modules/axe-core/axe.min.js"
# Milliseconds; enough for a page on a busy machine.
PATIENCE = 15_000
DESK = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844}
SERIOUS = ("serious", "critical")
RUN_AXE = "async () => (await axe.run(document, {resultTypes: ['violations']})).violations"


@dataclass
class Site:
    """A running server, with a repository in which the demo agent can work."""

    server: ServerProcess
    client: Client
    repo: Path
    repo_id: str

    @property
    def url(self) -> str:
        return self.server.url

    @property
    def link(self) -> str:
        """The link that `bough serve` printed."""
        return f"{self.url}/?token={self.server.token}"

    async def session(self, **fields: Any) -> Json:
        """Creates a session with the demo agent."""
        return await self.client.session(self.repo_id, **fields)

    async def worktree(self, branch: str, **fields: Any) -> Json:
        """Creates a worktree of its repository."""
        return await self.client.post("/api/worktrees", {"repoId": self.repo_id, "branch": branch, **fields})


@contextlib.asynccontextmanager
async def open_site(server: ServerProcess, root: Path) -> AsyncGenerator[Site]:
    """Creates a repository below `root` and registers it."""
    path = make_repo(root / "repo")
    async with server.client() as client:
        yield Site(server, client, path, (await client.repo(path))["id"])


@dataclass
class Complaints:
    """Collects the errors of pages: uncaught ones and those on the console. A test that expects one forgives it by a
    part of its text."""

    heard: list[str] = field(default_factory=list[str])
    forgiven: list[str] = field(default_factory=list[str])

    def listen(self, context: BrowserContext) -> None:
        context.on("console", self._said)
        context.on("weberror", lambda broken: self.heard.append(f"uncaught: {broken.error}"))

    def _said(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.heard.append(f"console: {message.text} ({message.location['url']})")

    def forgive(self, part: str) -> None:
        self.forgiven.append(part)

    def left(self) -> list[str]:
        return [item for item in self.heard if not any(part in item for part in self.forgiven)]


@contextlib.asynccontextmanager
async def visiting(
    chromium: Browser, site: Site, complaints: Complaints, *, logged_in: bool = True, **options: Any
) -> AsyncGenerator[BrowserContext]:
    """Opens a browser with its own cookies and storage; options are Playwright's (viewport, color_scheme, …)."""
    defaults: dict[str, Any] = {"base_url": site.url, "viewport": DESK, "reduced_motion": "reduce", "locale": "en-GB"}
    context = await chromium.new_context(**(defaults | options))
    context.set_default_timeout(PATIENCE)
    complaints.listen(context)
    try:
        if logged_in:
            await _sign_in(context, site)
        yield context
    finally:
        with contextlib.suppress(Error):
            await context.close()


async def _sign_in(context: BrowserContext, site: Site) -> None:
    """Gives a browser the cookie and the key that it would get from the link, without loading a page."""
    answer = await context.request.get(site.link, max_redirects=0)
    assert answer.status == 303
    ticket = urldefrag(answer.headers["location"]).fragment.removeprefix("ticket=")
    answer = await context.request.post("/sign-in", data={"ticket": ticket}, headers={"origin": site.url})
    assert answer.status == 201
    key = json.dumps((await answer.json())["key"])
    # Once per browser, so that a test which signs it out is not signed in again.
    await context.add_init_script(
        f"if (location.origin === {json.dumps(site.url)} && !localStorage.getItem('test.signed-in')) {{"
        f"localStorage.setItem('test.signed-in', '1'); localStorage.setItem('bough.key', {key}); }}"
    )


async def axe(page: Page) -> list[str]:
    """Returns the serious accessibility problems that axe finds, one line each."""
    # Evaluated by the debugger, because the page's policy allows no other scripts.
    await page.evaluate(AXE.read_text("utf-8"))
    violations = cast("list[dict[str, Any]]", await page.evaluate(RUN_AXE))
    return [
        f"{violation['id']}: {violation['help']} at {[node['target'] for node in violation['nodes']][:5]}"
        for violation in violations
        if violation["impact"] in SERIOUS
    ]


def transcript(page: Page) -> Locator:
    """Returns the transcript of a session."""
    return page.get_by_label("Transcript", exact=True)


def entries(page: Page, name: str) -> Locator:
    """Returns messages of a transcript by their name: `Prompt`, `Answer from demo`, `Thought`, `Plan`, …"""
    return transcript(page).get_by_role("article", name=name)


def prompt_box(page: Page) -> Locator:
    """Returns the prompt box of a session."""
    return page.get_by_role("textbox", name="Prompt", exact=True)


async def send(page: Page, text: str) -> None:
    """Types a prompt and sends it."""
    await prompt_box(page).fill(text)
    await prompt_box(page).press("Control+Enter")


async def expand(button: Locator) -> None:
    """Opens a collapsed part of a transcript. Its rows move while they are measured, so a click can miss the button; it
    is then repeated."""

    async def is_open() -> bool:
        if await button.get_attribute("aria-expanded") != "true":
            await button.click()
            with contextlib.suppress(AssertionError):
                await expect(button).to_have_attribute("aria-expanded", "true", timeout=2000)
        return await button.get_attribute("aria-expanded") == "true"

    await eventually(is_open, "the part is open")


async def choose(page: Page, label: str) -> None:
    """Chooses an entry of the session menu."""
    await page.get_by_role("button", name="More actions").click()
    await page.get_by_role("menuitem", name=label).click()


def said(where: Page | Locator, text: str | re.Pattern[str]) -> Locator:
    """Returns the answer in a transcript that consists of this text, without its copy in the live region."""
    return where.get_by_role("article", name="Answer").get_by_text(text, exact=True)


def card(page: Page, name: str) -> Locator:
    """Returns a card of the board by its name: `repo · main folder`, `repo · BRANCH`."""
    return page.get_by_role("article", name=name, exact=True)
