"""Y5: what runs in a worktree, previewed on the page in a frame that reaches nothing of Bough."""

from __future__ import annotations

import os
from pathlib import Path

from playwright.async_api import Page, expect

from tests.api.preview.test_preview import APP
from tests.web.conftest import Visit
from tests.web.helpers.site import PHONE, Complaints, Site, axe

# Tries to read Bough with the browser's own cookies, and to see the page around the frame.
ATTACK = """async (bough) => {
  const tries = {};
  tries.read = await fetch(`${bough}/api/repos`, {credentials: "include"}).then(() => "read", () => "refused");
  try { tries.parent = String(parent.location.href); } catch { tries.parent = "refused"; }
  try { tries.stored = String(parent.localStorage.length); } catch { tries.stored = "refused"; }
  try { top.location = bough + "/settings"; tries.top = "moved"; } catch { tries.top = "refused"; }
  document.cookie = "bough_1=evil; domain=localhost; path=/";
  document.cookie = "own=1; path=/";
  tries.cookies = document.cookie;
  return tries;
}"""


async def test_an_app_is_previewed(site: Site, page: Page, complaints: Complaints, tmp_path: Path) -> None:
    """Y5: A person previews an app; its page reads nothing of Bough, neither with the browser's cookies nor through the
    frame, cannot replace Bough's page, and sets cookies for itself alone."""
    # What the attack is told.
    complaints.forgive("CORS")
    complaints.forgive("ERR_FAILED")
    complaints.forgive("403")
    complaints.forgive("Unsafe attempt to initiate navigation")
    worktree = await site.worktree("feature")
    await site.client.post(f"/api/worktrees/{worktree['id']}/runs", {"command": APP})
    await page.goto("/board")
    await page.get_by_role("button", name="Actions for repo · feature").click()
    await page.get_by_role("menuitem", name="Run…").click()
    dialog = page.get_by_role("dialog", name="Run in repo · feature")
    await dialog.get_by_role("button", name="Preview", exact=True).click()
    frame = dialog.frame_locator("iframe")
    await expect(frame.get_by_role("heading", name="The app")).to_be_visible()
    await page.screenshot(path=os.environ.get("BOUGH_SHOTS", str(tmp_path)) + "/preview.png")
    inside = next(item for item in page.frames if ".localhost:" in item.url)
    tries = await inside.evaluate(ATTACK, site.url)
    assert (tries["read"], tries["parent"], tries["stored"], tries["top"]) == ("refused",) * 4
    assert "evil" not in tries["cookies"]
    cookies = [(item.get("name"), item.get("domain", "")) for item in await page.context.cookies()]
    assert "bough_1" not in [name for name, _ in cookies]
    assert all("localhost" not in domain or domain in inside.url for _, domain in cookies)
    await expect(dialog).to_be_visible()


async def test_a_preview_fits_a_phone(site: Site, visit: Visit, tmp_path: Path) -> None:
    """Y5, O4: At a phone's width the preview is whole, accessible, and nothing scrolls sideways."""
    worktree = await site.worktree("feature")
    await site.client.post(f"/api/worktrees/{worktree['id']}/runs", {"command": APP})
    async with visit(viewport=PHONE, has_touch=True) as context:
        page = await context.new_page()
        await page.goto("/board")
        await page.get_by_role("button", name="Actions for repo · feature").click()
        await page.get_by_role("menuitem", name="Run…").click()
        dialog = page.get_by_role("dialog", name="Run in repo · feature")
        await dialog.get_by_role("button", name="Preview", exact=True).click()
        await expect(dialog.frame_locator("iframe").get_by_role("heading", name="The app")).to_be_visible()
        assert await axe(page) == []
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        await page.screenshot(path=os.environ.get("BOUGH_SHOTS", str(tmp_path)) + "/preview-phone.png")
