"""What a test of the page works with: a server with a repository, a browser that is logged in, and a look at everything
that goes wrong in it. Where all that comes from is `conftest`."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Error, Locator, Page

from tests.support.client import Client, Json
from tests.support.server import ServerProcess

AXE = Path(__file__).parents[2] / "web/node_modules/axe-core/axe.min.js"
# Milliseconds; a page that needs this long on a busy machine has failed.
PATIENCE = 15_000
DESK = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844}
GRAVE = ("serious", "critical")
RUN_AXE = "async () => (await axe.run(document, {resultTypes: ['violations']})).violations"


@dataclass
class Site:
    """A server that is up, with a repository in which the demo agent can work."""

    server: ServerProcess
    client: Client
    repo: Path
    repo_id: str

    @property
    def url(self) -> str:
        return self.server.url

    @property
    def link(self) -> str:
        """What `bough serve` printed."""
        return f"{self.url}/?token={self.server.token}"

    async def session(self, **fields: Any) -> Json:
        """A session with the demo agent."""
        return await self.client.session(self.repo_id, **fields)

    async def worktree(self, branch: str, **fields: Any) -> Json:
        """A worktree of its repository, made by Bough."""
        return await self.client.post("/api/worktrees", {"repoId": self.repo_id, "branch": branch, **fields})


@dataclass
class Complaints:
    """What pages of a browser complained about: errors that nobody caught, and those on the console. A test that
    expects one forgives it by a part of its text."""

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
        return [one for one in self.heard if not any(part in one for part in self.forgiven)]


@contextlib.asynccontextmanager
async def visiting(
    chromium: Browser, site: Site, complaints: Complaints, *, logged_in: bool = True, **options: Any
) -> AsyncGenerator[BrowserContext]:
    """A browser of its own, with cookies of its own; options are playwright's (viewport, color_scheme, …)."""
    given: dict[str, Any] = {"base_url": site.url, "viewport": DESK, "reduced_motion": "reduce", "locale": "en-GB"}
    context = await chromium.new_context(**(given | options))
    context.set_default_timeout(PATIENCE)
    complaints.listen(context)
    try:
        if logged_in:
            # The link without a page behind it: the cookie is what is wanted.
            answer = await context.request.get(site.link, max_redirects=0)
            assert answer.status == 303
        yield context
    finally:
        with contextlib.suppress(Error):
            await context.close()


async def axe(page: Page) -> list[str]:
    """What axe finds wrong for people who do not see or point, if it is grave; a line each, empty if all is well."""
    # By the debugger, so that the page's policy, which would not run it, stays as it is.
    await page.evaluate(AXE.read_text("utf-8"))
    found = cast("list[dict[str, Any]]", await page.evaluate(RUN_AXE))
    return [
        f"{one['id']}: {one['help']} at {[node['target'] for node in one['nodes']][:5]}"
        for one in found
        if one["impact"] in GRAVE
    ]


def transcript(page: Page) -> Locator:
    """Where the messages of a session are."""
    return page.get_by_label("Transcript", exact=True)


def entries(page: Page, name: str) -> Locator:
    """Messages of a transcript by what they are: `Prompt`, `Answer of demo`, `Thought`, `Plan`, …"""
    return transcript(page).get_by_role("article", name=name)


def prompt_box(page: Page) -> Locator:
    """The box in which prompts to a session are written."""
    return page.get_by_role("textbox", name="Prompt", exact=True)


async def send(page: Page, text: str) -> None:
    """Writes a prompt and sends it, as people do."""
    await prompt_box(page).fill(text)
    await prompt_box(page).press("Control+Enter")


async def choose(page: Page, label: str) -> None:
    """An entry of the menu of a session."""
    await page.get_by_role("button", name="More about this session").click()
    await page.get_by_role("menuitem", name=label).click()


def said(where: Page | Locator, text: str) -> Locator:
    """An answer that is just this, in a transcript; what is read out aloud of it elsewhere does not count."""
    return where.get_by_role("article", name="Answer").get_by_text(text, exact=True)


def card(page: Page, name: str) -> Locator:
    """A card of the board: `repo · own folder`, `repo · BRANCH`."""
    return page.get_by_role("article", name=name, exact=True)
