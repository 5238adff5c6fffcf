"""O4, W2: a worktree's card: starting a session in it, and removing it after listing what would be lost."""

from __future__ import annotations

import asyncio
from pathlib import Path

from playwright.async_api import Locator, Page, expect

from tests.support.repos import git
from tests.web.helpers.site import Site, card, transcript


async def open_removal(page: Page, name: str) -> Locator:
    """Opens the dialog that confirms the removal of a worktree."""
    await card(page, name).get_by_role("button", name=f"Actions for {name}").click()
    await page.get_by_role("menuitem", name="Remove worktree").click()
    return page.get_by_role("dialog", name=f"Remove {name}?")


async def test_a_session_is_created_from_a_card(site: Site, page: Page) -> None:
    """O4, W1: “New session here” opens the form with that worktree chosen, and the session works there."""
    worktree = await site.worktree("feature/here")
    await page.goto("/board")
    await card(page, "repo · feature/here").get_by_role("button", name="Actions for repo · feature/here").click()
    await page.get_by_role("menuitem", name="New session here").click()
    await expect(page.get_by_role("radio", name="feature/here")).to_be_checked()
    await page.get_by_label("What should the agent do?").fill("[[run pwd]]")
    await page.get_by_role("radio", name="Auto", exact=True).check()
    await page.get_by_role("button", name="Start session").click()
    await expect(transcript(page).get_by_text("Completed").first).to_be_visible()
    [session] = (await site.client.get("/api/sessions"))["sessions"]
    assert session["worktreeId"] == worktree["id"]
    assert session["cwd"] == str(site.repo / ".worktrees/feature/here")


async def test_removal_lists_what_would_be_lost(site: Site, page: Page) -> None:
    """O4, W2: before a worktree is removed, every file and commit that would be lost is listed and must be confirmed;
    the worktree can be recovered."""
    worktree = await site.worktree("feature/loss")
    folder = Path(worktree["path"])
    (folder / "README.md").write_text("changed\n", "utf-8")
    (folder / "notes.txt").write_text("precious\n", "utf-8")
    name = "repo · feature/loss"
    await page.goto("/board")
    dialog = await open_removal(page, name)
    await expect(dialog.get_by_role("listitem").filter(has_text="README.md")).to_be_visible()
    await expect(dialog.get_by_role("listitem").filter(has_text="notes.txt")).to_be_visible()
    await dialog.get_by_role("button", name="Cancel").click()
    assert await asyncio.to_thread(folder.exists)
    dialog = await open_removal(page, name)
    await dialog.get_by_role("button", name="Remove worktree and changes").click()
    # What is behind a dialog cannot be seen by its role.
    await expect(dialog).to_be_hidden()
    await expect(card(page, name)).to_be_hidden()
    assert not await asyncio.to_thread(folder.exists)
    gone = await site.client.get(f"/api/worktrees/{worktree['id']}")
    assert gone["recoveryRef"]


async def test_a_worktree_that_bough_did_not_create_is_only_forgotten(site: Site, page: Page) -> None:
    """O4, W2: the board never deletes a folder that Bough did not create, and the dialog says so."""
    folder = site.repo.parent / "by-hand"
    git(site.repo, "worktree", "add", "--quiet", "-b", "by-hand", str(folder))
    (folder / "notes.txt").write_text("precious\n", "utf-8")
    await site.client.post("/api/worktrees", {"repoId": site.repo_id, "path": str(folder)})
    name = "repo · by-hand"
    await page.goto("/board")
    dialog = await open_removal(page, name)
    await expect(dialog.get_by_text("The folder stays", exact=False)).to_be_visible()
    await dialog.get_by_role("button", name="Remove worktree").click()
    await expect(dialog).to_be_hidden()
    await expect(card(page, name)).to_be_hidden()
    assert (folder / "notes.txt").read_text("utf-8") == "precious\n"


async def test_a_worktree_in_use_is_removed_with_its_sessions_ended(site: Site, page: Page) -> None:
    """O4, W2: a worktree in which sessions are active is removed only after the dialog has named and ended them; their
    work is kept on a recovery ref."""
    worktree = await site.worktree("feature/used")
    session = await site.session(title="Lives here", worktreeId=worktree["id"])
    await site.client.prompt(session["id"], "[[hang]]")
    (Path(worktree["path"]) / "notes.txt").write_text("precious\n", "utf-8")
    name = "repo · feature/used"
    await page.goto("/board")
    dialog = await open_removal(page, name)
    await expect(dialog.get_by_text("1 active session in this worktree will be ended")).to_be_visible()
    await expect(dialog.get_by_role("link", name="Lives here")).to_be_visible()
    await expect(dialog.get_by_role("listitem").filter(has_text="notes.txt")).to_be_visible()
    await expect(dialog.get_by_role("button", name="Remove worktree", exact=True)).to_have_count(0)
    await dialog.get_by_role("button", name="Cancel").click()
    assert (await site.client.get(f"/api/sessions/{session['id']}"))["status"] == "active"
    assert await asyncio.to_thread((Path(worktree["path"]) / "notes.txt").exists)
    dialog = await open_removal(page, name)
    await dialog.get_by_role("button", name="End 1 session and remove worktree and changes").click()
    await expect(dialog).to_be_hidden()
    await expect(card(page, name)).to_be_hidden()
    assert not await asyncio.to_thread(Path(worktree["path"]).exists)
    assert (await site.client.get(f"/api/sessions/{session['id']}"))["status"] == "completed"
    assert (await site.client.get(f"/api/worktrees/{worktree['id']}"))["recoveryRef"]


async def test_a_clean_worktree_loses_nothing(site: Site, page: Page) -> None:
    """O4, W2: the dialog says if nothing would be lost, and offers to delete the branch too."""
    worktree = await site.worktree("feature/clean")
    name = "repo · feature/clean"
    await page.goto("/board")
    dialog = await open_removal(page, name)
    await expect(dialog.get_by_text("Nothing will be lost", exact=False)).to_be_visible()
    await dialog.get_by_role("switch", name="Also delete branch feature/clean").click()
    await dialog.get_by_role("button", name="Remove worktree", exact=True).click()
    await expect(dialog).to_be_hidden()
    await expect(card(page, name)).to_be_hidden()
    assert not await asyncio.to_thread(Path(worktree["path"]).exists)
