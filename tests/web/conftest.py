"""A real browser in front of a real server. These tests run only when they are asked for by name (`make test-web`):
they need Chromium, and the page to have been built."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, Page, async_playwright, expect

from bough.api.page.routes import BUILT
from tests.support.repos import make_repo
from tests.support.server import ServerProcess

from . import chromium as installed
from .site import PATIENCE, Complaints, Site, visiting

HERE = Path(__file__).parent
TIMEOUT = 90
# Playwright's objects belong to one event loop, and a browser takes too long to start to have one for each test.
SESSION = "session"

Visit = Callable[..., AbstractAsyncContextManager[BrowserContext]]
"""`async with visit() as context`: another browser, with cookies of its own; `logged_in=False` for a stranger."""


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leaves this folder out unless it, or something in it, was asked for by name."""
    asked = [config.invocation_params.dir / argument.partition("::")[0] for argument in config.args]
    return None if any(path.resolve().is_relative_to(HERE) for path in asked) else True


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            if pytest_asyncio.is_async_test(item):
                item.add_marker(pytest.mark.asyncio(loop_scope=SESSION), append=False)
            if item.get_closest_marker("timeout") is None:
                item.add_marker(pytest.mark.timeout(TIMEOUT))


@pytest_asyncio.fixture(scope=SESSION, loop_scope=SESSION)
async def chromium() -> AsyncGenerator[Browser]:
    """One browser for each worker; tests have contexts of it, which share nothing."""
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


@pytest_asyncio.fixture(loop_scope=SESSION)
async def server(tmp_path: Path) -> AsyncGenerator[ServerProcess]:
    """A `bough serve` of its own."""
    async with ServerProcess(tmp_path / "data", tmp_path / "work") as running:
        yield running


@pytest_asyncio.fixture(loop_scope=SESSION)
async def site(server: ServerProcess) -> AsyncGenerator[Site]:
    """That server, and a repository that it knows."""
    path = make_repo(server.root / "repo")
    async with server.client() as client:
        yield Site(server, client, path, (await client.repo(path))["id"])


@pytest_asyncio.fixture(loop_scope=SESSION)
async def complaints() -> AsyncGenerator[Complaints]:
    """Fails a test in whose pages something went wrong that it did not forgive."""
    found = Complaints()
    yield found
    assert found.left() == []


@pytest.fixture
def visit(chromium: Browser, site: Site, complaints: Complaints) -> Visit:
    return partial(visiting, chromium, site, complaints)


@pytest_asyncio.fixture(loop_scope=SESSION)
async def context(visit: Visit) -> AsyncGenerator[BrowserContext]:
    """A browser that is logged in, at a desk."""
    async with visit() as context:
        yield context


@pytest_asyncio.fixture(loop_scope=SESSION)
async def page(context: BrowserContext) -> Page:
    """A page of that browser, with nothing in it yet: `await page.goto("/")`."""
    return await context.new_page()
