"""Fixtures for tests of the page: a real browser in front of a real server.

The tests run only when they are asked for by name (`make test-web`), because they need Chromium and a built page. Each
worker has one browser and one server. After each test, the shared server is cleared of everything that the test made.
Tests that stop the server, need other settings or expect an unused server are marked `@pytest.mark.private_server`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, Page, async_playwright, expect

from bough.api.page.routes import BUILT
from tests.support.server import ServerProcess
from tests.web.helpers import chromium as installed
from tests.web.helpers.shared_server import SharedServer
from tests.web.helpers.site import PATIENCE, Complaints, Site, open_site, visiting

HERE = Path(__file__).parent
TIMEOUT = 90
# Playwright's objects belong to one event loop, so all tests share one.
SESSION = "session"
PRIVATE = "private_server"

Visit = Callable[..., AbstractAsyncContextManager[BrowserContext]]
"""`async with visit() as context` opens another browser with its own cookies; `logged_in=False` for a stranger."""


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", f"{PRIVATE}(**env): run against a new server, with these variables set")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leaves this folder out unless it, or something in it, was asked for by name."""
    named = [config.invocation_params.dir / argument.partition("::")[0] for argument in config.args]
    return None if any(path.resolve().is_relative_to(HERE) for path in named) else True


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            if pytest_asyncio.is_async_test(item):
                item.add_marker(pytest.mark.asyncio(loop_scope=SESSION), append=False)
            if item.get_closest_marker("timeout") is None:
                item.add_marker(pytest.mark.timeout(TIMEOUT))


@pytest_asyncio.fixture(scope=SESSION, loop_scope=SESSION)
async def chromium() -> AsyncGenerator[Browser]:
    """Starts one browser per worker; tests get contexts of it, which share nothing."""
    program = installed.find()
    if program is None:
        pytest.skip(installed.MISSING)
    if not (BUILT / "index.html").exists():
        pytest.skip("The page has not been built: `make web` does that.")
    expect.set_options(timeout=PATIENCE)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=program, args=installed.arguments())
        yield browser
        await browser.close()


@pytest_asyncio.fixture(scope=SESSION, loop_scope=SESSION)
async def shared_server(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[SharedServer]:
    """Provides one server per worker; it starts when a test first needs it."""
    async with SharedServer(tmp_path_factory.mktemp("shared")) as shared:
        yield shared


@pytest_asyncio.fixture(loop_scope=SESSION)
async def site(request: pytest.FixtureRequest, shared_server: SharedServer, tmp_path: Path) -> AsyncGenerator[Site]:
    """Provides a server with one repository: the shared server, or a new one for tests that are marked so."""
    marker = request.node.get_closest_marker(PRIVATE)
    if marker is None:
        async with shared_server.lend() as (server, root), open_site(server, root) as site:
            yield site
        return
    env = {name: str(value) for name, value in marker.kwargs.items()}
    own = ServerProcess(tmp_path / "data", tmp_path / "work", env=env)
    async with own as server, open_site(server, server.root) as site:
        yield site


@pytest_asyncio.fixture(loop_scope=SESSION)
async def complaints() -> AsyncGenerator[Complaints]:
    """Fails a test whose pages reported an error that the test did not forgive."""
    complaints = Complaints()
    yield complaints
    assert complaints.left() == []


@pytest.fixture
def visit(chromium: Browser, site: Site, complaints: Complaints) -> Visit:
    return partial(visiting, chromium, site, complaints)


@pytest_asyncio.fixture(loop_scope=SESSION)
async def context(visit: Visit) -> AsyncGenerator[BrowserContext]:
    """Opens a browser that is logged in, with a desktop window."""
    async with visit() as context:
        yield context


@pytest_asyncio.fixture(loop_scope=SESSION)
async def page(context: BrowserContext) -> Page:
    """Opens an empty page in that browser: `await page.goto("/")`."""
    return await context.new_page()
