"""O4: every view is accessible: axe finds nothing serious in light and dark, and every view fits a phone."""

from __future__ import annotations

import contextlib
import re
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, Page, expect

from tests.web.conftest import SESSION
from tests.web.helpers import example_workspace
from tests.web.helpers.example_workspace import ExampleWorkspace
from tests.web.helpers.site import PHONE, Complaints, Site, axe, visiting

ON_A_PHONE: dict[str, Any] = {"viewport": PHONE, "has_touch": True, "is_mobile": True}
# A page scrolls sideways if it is wider than the window; who causes that is named.
TOO_WIDE = """() => {
  const width = document.documentElement.clientWidth;
  if (document.scrollingElement.scrollWidth <= width && window.innerWidth <= 390) return [];
  return [...document.querySelectorAll('body *')]
    .filter((one) => one.getBoundingClientRect().right > width + 1)
    .map((one) => `${one.tagName} ${one.className} ${Math.round(one.getBoundingClientRect().right)}`)
    .slice(0, 8);
}"""
# Colours fade, however briefly, and what inherits one fades after its parent: done when nothing fades any more.
DARK = """async () => {
  document.documentElement.dataset.theme = 'dark';
  for (let quiet = 0; quiet < 3; quiet++) {
    await new Promise((done) => requestAnimationFrame(done));
    const fading = document.getAnimations().filter((one) => one instanceof CSSTransition);
    fading.forEach((one) => one.finish());
    if (fading.length) quiet = 0;
  }
}"""

Step = Callable[[Page], Awaitable[None]]


@dataclass
class Stage:
    """A server with the example workspace; tests look at it and leave it as it is."""

    site: Site
    workspace: ExampleWorkspace
    chromium: Browser

    @contextlib.asynccontextmanager
    async def page(self, **options: Any) -> AsyncGenerator[Page]:
        complaints = Complaints()
        async with visiting(self.chromium, self.site, complaints, **options) as context:
            yield await context.new_page()
        assert complaints.left() == []


@pytest_asyncio.fixture(scope="module", loop_scope=SESSION)
async def stage(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Stage]:
    """Builds one workspace for all tests of this file, since that takes a while."""
    folder: Path = tmp_path_factory.mktemp("example")
    async with example_workspace.server(folder) as server, server.client() as client:
        workspace = await example_workspace.build(server, client)
        repos = (await client.get("/api/repos"))["repos"]
        repo = next(item for item in repos if item["name"] == "storefront")
        yield Stage(Site(server, client, Path(repo["path"]), repo["id"]), workspace, chromium)


def shows(words: str) -> Callable[[Page], Locator]:
    return lambda page: page.get_by_text(words).first


def heading(name: str) -> Callable[[Page], Locator]:
    return lambda page: page.get_by_role("heading", name=name).first


def dialog(name: str) -> Callable[[Page], Locator]:
    return lambda page: page.get_by_role("dialog", name=name)


async def as_a_list(page: Page) -> None:
    # On a phone it is one already.
    await page.get_by_role("heading", level=1).wait_for()
    button = page.get_by_role("button", name="List view")
    if await button.count():
        await button.click()


async def open_fork(page: Page) -> None:
    await choose(page, "Fork")


async def open_delete(page: Page) -> None:
    await choose(page, "Delete")


async def choose(page: Page, name: str) -> None:
    """Chooses an entry of the session menu, which is there at every width."""
    await page.get_by_role("button", name="More actions").click()
    await page.get_by_role("menuitem", name=name).click()


@dataclass
class View:
    """A view: its address (ids of the workspace in braces), what it shows when ready, and the steps to get there."""

    name: str
    address: str
    ready: Callable[[Page], Locator]
    step: Step | None = None

    async def open(self, page: Page, workspace: ExampleWorkspace) -> None:
        await page.goto(self.address.format(**vars(workspace)))
        if self.step is not None:
            await self.step(page)
        await expect(self.ready(page)).to_be_visible()
        await page.wait_for_load_state("networkidle")


PARTS = {
    "page": "Appearance",
    "agents": "Agents",
    "repos": "Repositories",
    "worktrees": "Worktrees",
    "policy": "Policy",
    "mcp-servers": "MCP servers",
    "people": "People",
    "access": "Access",
    "audit": "Audit",
    "server": "Server",
}
VIEWS = [
    View("home", "/", heading("Needs you")),
    View("board", "/board", shows("Orders are slow after page 100")),
    View("board list", "/board", shows("Orders are slow after page 100"), as_a_list),
    View("tree", "/tree/{root}", shows("Sliding window")),
    View("compare", "/tree/{root}/compare/{root}/{fork}", shows("Sliding window")),
    View("race", "/race/{race}", shows("Words are indexed once")),
    View("session", "/session/{root}", shows("Next come the routes")),
    View("fork", "/session/{fork}", shows("sliding window needs about")),
    View("failed", "/session/{failed}", shows("The model is overloaded")),
    View("approval", "/session/{editing}", lambda page: page.get_by_role("button", name="Allow", exact=True)),
    View("search", "/search?q=limiter", shows("results")),
    View("new", "/new", heading("New session")),
    View("proposal", "/new?approval={proposal}", lambda page: page.get_by_role("heading", level=1)),
    View("welcome", "/welcome", heading("Welcome to Bough")),
    View("nowhere", "/nowhere", lambda page: page.get_by_role("heading").first),
    View("fork dialog", "/session/{done}", dialog("Fork session"), open_fork),
    View("delete dialog", "/session/{done}", lambda page: page.get_by_role("dialog"), open_delete),
    *(View(f"settings {part}", f"/settings/{part}", heading(name)) for part, name in PARTS.items()),
]
every_view = pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.name)


@every_view
async def test_axe_finds_nothing_serious(stage: Stage, view: View) -> None:
    """O4: axe finds nothing serious or critical in light or dark mode, and each view has one main heading."""
    problems: list[str] = []
    async with stage.page(color_scheme="light") as page:
        await view.open(page, stage.workspace)
        problems += [f"light: {item}" for item in await axe(page)]
        assert await page.locator("h1").count() == 1
        # As the settings do it: the theme is an attribute, whatever is open stays open.
        await page.evaluate(DARK)
        problems += [f"dark: {item}" for item in await axe(page)]
    assert not problems, "\n".join(problems)


@every_view
async def test_views_fit_a_phone(stage: Stage, view: View) -> None:
    """O4: at a phone's width no view scrolls sideways."""
    async with stage.page(**ON_A_PHONE) as page:
        await view.open(page, stage.workspace)
        assert await page.evaluate(TOO_WIDE) == []


async def test_a_prompt_is_sent_on_a_phone(stage: Stage) -> None:
    """O4: a prompt is sent to a session and answered, on a phone."""
    session = await stage.site.session(title="On the road")
    async with stage.page(**ON_A_PHONE) as page:
        await page.goto(f"/session/{session['id']}")
        await page.get_by_role("textbox", name="Prompt", exact=True).fill("Hello from the train.")
        await page.get_by_role("button", name="Send").tap()
        answer = page.get_by_label("Transcript").get_by_text("This is user turn 1.")
        await expect(answer).to_be_in_viewport()


async def test_an_approval_is_answered_on_a_phone(stage: Stage) -> None:
    """O4, P4: an approval is answered on the home page with one tap."""
    session = await stage.site.session(title="Asks on the road", permissionMode="default")
    await stage.site.client.prompt(session["id"], "[[run true]][[say It was allowed.]]")
    approval = await stage.site.client.approval(session["id"])
    async with stage.page(**ON_A_PHONE) as page:
        await page.goto("/")
        item = page.get_by_role("listitem").filter(has=page.get_by_role("link", name="Asks on the road"))
        await item.get_by_role("button", name="Allow", exact=True).tap()
        await expect(item.get_by_role("button", name="Allow", exact=True)).to_be_hidden()
    answered = await stage.site.client.get(f"/api/approvals/{approval['id']}")
    assert answered["status"] == "allowed"


async def test_a_session_is_created_on_a_phone(stage: Stage) -> None:
    """O4: a session is created from the home page by touch and gives its first answer."""
    async with stage.page(**ON_A_PHONE) as page:
        await page.goto("/")
        await page.get_by_role("link", name="New session").tap()
        await page.get_by_label("What should the agent do?").fill("Begun on a phone.")
        await page.get_by_role("button", name="Start session").tap()
        await expect(page).to_have_url(re.compile("/session/"))
        await expect(page.get_by_label("Transcript").get_by_text("This is user turn 1.")).to_be_visible()
