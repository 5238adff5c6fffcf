"""R7, R8: repositories are added on the page: cloned with progress, found, and browsed to."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from tests.support.eventually import eventually
from tests.support.repos import make_repo
from tests.support.slow_remote import SlowRemote, slow_remote
from tests.web.helpers.site import PHONE, Complaints, Site, axe

WIDER = "document.documentElement.scrollWidth > document.documentElement.clientWidth"


@pytest.mark.private_server
async def test_found_and_browsed_repositories_are_added(site: Site, page: Page) -> None:
    """R8: The page lists repositories below the workspace root, filters and adds them, and browses to others and to
    plain folders; each leads to a new session."""
    root = Path(site.repo).parent
    make_repo(root / "code" / "garden")
    (root / "notes" / "diary").mkdir(parents=True)
    await page.goto("/settings/repos")
    await page.get_by_role("link", name="Add repository").click()
    await expect(page.get_by_role("heading", name="Add a repository")).to_be_visible()
    repositories = page.get_by_role("list", name="Found repositories")
    await expect(repositories.get_by_role("listitem")).to_have_count(2)
    assert await axe(page) == []
    await page.get_by_label("Filter by folder").fill("gard")
    await expect(repositories.get_by_role("listitem")).to_have_count(1)
    await repositories.get_by_role("button", name="Add code/garden").click()
    await expect(page.get_by_text("Added garden.")).to_be_visible()
    await expect(repositories.get_by_role("link", name="New session in code/garden")).to_be_visible()

    await page.get_by_role("button", name="Browse folders").click()
    folders = page.get_by_role("list", name="Folders")
    await folders.get_by_role("button", name="notes", exact=True).click()
    await folders.get_by_role("button", name="diary", exact=True).click()
    await expect(page.get_by_text("No folders here.")).to_be_visible()
    assert await axe(page) == []
    await page.get_by_role("button", name="Add this folder").click()
    await expect(page.get_by_role("link", name="New session in this folder")).to_be_visible()
    await page.get_by_role("link", name="New session in this folder").click()
    await page.wait_for_url("**/new?repo=*")
    await expect(page.get_by_label("Repository").locator("option:checked")).to_contain_text("diary")
    names = {repo["name"] for repo in (await site.client.get("/api/repos"))["repos"]}
    assert {"garden", "diary"} <= names


@pytest.fixture
def remote(tmp_path: Path, request: pytest.FixtureRequest) -> SlowRemote:
    remote = slow_remote(tmp_path)
    home, before = str(tmp_path / "home"), os.environ["HOME"]
    os.environ["HOME"] = home
    request.addfinalizer(lambda: os.environ.__setitem__("HOME", before))
    return remote


@pytest.mark.private_server
async def test_a_clone_survives_a_reload(remote: SlowRemote, site: Site, page: Page, complaints: Complaints) -> None:
    """R7: A clone shows its progress, also after the page was loaded again, is cancelled and started anew, and leads to
    a new session. A refused address says why."""
    complaints.forgive("(Bad Request)")
    await page.set_viewport_size({"width": PHONE["width"], "height": PHONE["height"]})
    await page.goto("/repos/add")
    form = page.get_by_role("form", name="Clone a repository")
    await form.get_by_label("Address").fill("https://me:word@example.invalid/a.git")
    await form.get_by_role("button", name="Clone").click()
    await expect(form.get_by_role("alert")).to_contain_text("Leave out")
    await form.get_by_label("Address").fill(remote.address)
    await form.get_by_label("Folder").fill("mine")
    await form.get_by_role("button", name="Clone").click()
    clones = page.get_by_role("list", name="Clones")
    await expect(clones.get_by_role("progressbar")).to_be_visible()
    await eventually(remote.is_stopped, "the transfer has begun")
    await page.reload()
    await expect(clones).to_contain_text("Receiving")
    await expect(clones).to_contain_text("%")
    assert await axe(page) == []
    assert not await page.evaluate(WIDER)
    await clones.get_by_role("button", name="Cancel the clone").click()
    await expect(clones).to_contain_text("Cancelled")
    remote.go_on()
    await form.get_by_label("Address").fill(remote.address)
    await form.get_by_role("button", name="Clone").click()
    await clones.get_by_role("link", name="New session").click()
    await page.wait_for_url("**/new?repo=*")
    await expect(page.get_by_label("Repository").locator("option:checked")).to_contain_text("atlas")
