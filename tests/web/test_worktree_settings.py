"""F9, O4: the page's disk use and sweep of worktrees."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from playwright.async_api import expect

from tests.api.worktree_helpers import at, commit
from tests.web.conftest import Visit
from tests.web.helpers.site import DESK, PHONE, Site, axe


@pytest.mark.private_server
@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
async def test_merged_worktrees_are_swept_after_a_preview(
    site: Site, visit: Visit, tmp_path: Path, size: dict[str, int]
) -> None:
    """F9, O4: A person sees what uses the disk, previews a sweep, keeps one worktree, and removes the other."""
    for name in ("done", "spare", "open"):
        worktree = await site.worktree(name)
        commit(at(worktree["path"]), f"{name}.txt", "x" * 50_000)
        if name != "open":
            await site.client.post(f"/api/worktrees/{worktree['id']}/merge")
    async with visit(viewport=size) as context:
        page = await context.new_page()
        await page.goto("/settings/worktrees")
        table = page.get_by_role("table", name="Disk use of repo")
        await expect(table.get_by_role("row", name="spare")).to_contain_text("KB")
        await page.get_by_role("button", name="Clean up merged worktrees…").click()
        dialog = page.get_by_role("dialog", name="Clean up merged worktrees")
        await expect(dialog.get_by_role("checkbox", name="done")).to_be_checked()
        await dialog.get_by_role("checkbox", name="spare").uncheck()
        await dialog.get_by_text("to keep").click()
        await expect(dialog.get_by_text("does not contain")).to_be_visible()
        assert await axe(page) == []
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        await page.screenshot(path=os.environ.get("BOUGH_SHOTS", str(tmp_path)) + f"/sweep-{size['width']}.png")
        await dialog.get_by_role("button", name="Remove 1 worktree").click()
        await expect(dialog).to_be_hidden()
        await expect(page.get_by_text("Removed 1 worktree")).to_be_visible()
    left = {row["name"] for row in (await site.client.get("/api/worktrees"))["worktrees"]}
    assert left == {"spare", "open"}
