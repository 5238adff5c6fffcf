"""Y3, Y4: commands that run in worktrees on the page: started, read, opened, stopped, kept across reloads."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from tests.api.worktree_helpers import commit
from tests.support.client import Json
from tests.web.conftest import Visit
from tests.web.helpers.site import PHONE, Site, axe

SERVES = f"echo starting; exec {sys.executable} -m http.server --bind 127.0.0.1 $PORT"


async def configured(site: Site) -> Json:
    commit(site.repo, ".bough.toml", f'[run]\ndev = "{SERVES}"\n')
    return await site.worktree("feature")


async def open_runs(page: Page) -> None:
    await page.goto("/board")
    await page.get_by_role("button", name="Actions for repo · feature").click()
    await page.get_by_role("menuitem", name="Run…").click()


async def shot(page: Page, folder: Path, name: str) -> None:
    await page.screenshot(path=os.environ.get("BOUGH_SHOTS", str(folder)) + f"/{name}.png")


async def test_a_development_server_from_end_to_end(site: Site, page: Page, tmp_path: Path) -> None:
    """Y3, Y4: A person allows the repository's commands, runs one, sees its log and the link once it answers, meets it
    at the session after a reload, and stops it."""
    worktree = await configured(site)
    await open_runs(page)
    dialog = page.get_by_role("dialog", name="Run in repo · feature")
    await dialog.get_by_role("button", name="Allow").click()
    await dialog.get_by_role("button", name="Run dev").click()
    log = dialog.get_by_role("region", name="Log of dev")
    await expect(log).to_contain_text("starting")
    run = (await site.client.get("/api/runs"))["runs"][0]
    await expect(dialog.get_by_role("link", name=f"Open localhost:{run['port']}")).to_be_visible()
    assert await axe(page) == []
    await shot(page, tmp_path, "runs")
    await page.reload()
    badge = page.get_by_role("link", name=f"dev :{run['port']}")
    await expect(badge).to_have_attribute("href", f"http://localhost:{run['port']}/")
    assert await axe(page) == []
    await shot(page, tmp_path, "runs-card")

    session = await site.session(worktreeId=worktree["id"], title="Beside")
    await page.goto(f"/session/{session['id']}")
    await page.get_by_role("button", name="Run…").click()
    dialog = page.get_by_role("dialog", name="Run in Beside")
    await dialog.get_by_role("button", name="Stop dev").click()
    await expect(dialog.get_by_text("Stopped")).to_be_visible()
    await expect(dialog.get_by_role("region", name="Log of dev")).to_contain_text("starting")
    await expect(dialog.get_by_role("button", name="Run dev")).to_be_visible()


async def test_a_command_is_typed_on_a_phone(site: Site, visit: Visit, tmp_path: Path) -> None:
    """Y3, O4: On a phone, an admin types a command, reads that it failed, and nothing scrolls sideways."""
    await site.worktree("feature")
    async with visit(viewport=PHONE, has_touch=True) as context:
        page = await context.new_page()
        await open_runs(page)
        dialog = page.get_by_role("dialog", name="Run in repo · feature")
        await dialog.get_by_label("Another command").fill("echo it is broken; exit 3")
        await dialog.get_by_role("button", name="Run", exact=True).click()
        await expect(dialog.get_by_text("Failed with code 3")).to_be_visible()
        await expect(dialog.get_by_label("Log of echo it is broken; exit 3")).to_contain_text("it is broken")
        assert await axe(page) == []
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        await shot(page, tmp_path, "runs-phone")


@pytest.mark.parametrize("role", ["viewer", "operator"])
async def test_roles_on_the_page(site: Site, visit: Visit, role: str) -> None:
    """Y3, L1: A viewer sees what runs and can only read; an operator cannot type a command."""
    worktree = await configured(site)
    await site.client.post(f"/api/worktrees/{worktree['id']}/runs", {"command": "echo up; sleep 600"})
    await site.client.post("/api/users", {"name": role, "role": role})
    token = (await site.client.post("/api/tokens", {"user": role}))["token"]
    async with visit(logged_in=False) as context:
        page = await context.new_page()
        await page.goto(f"/?token={token}")
        await expect(page.get_by_role("link", name="Board")).to_be_visible()
        await open_runs(page)
        dialog = page.get_by_role("dialog", name="Run in repo · feature")
        await expect(dialog.get_by_role("region", name="Log of echo up; sleep 600")).to_contain_text("up")
        await expect(dialog.get_by_label("Another command")).to_have_count(0)
        await expect(dialog.get_by_role("button", name="Allow")).to_have_count(0)
        stop = dialog.get_by_role("button", name="Stop")
        await expect(stop).to_have_count(1 if role == "operator" else 0)
    await site.client.call("DELETE", f"/api/users/{role}")
