"""O4, W2: what the card of a worktree is good for: a session in it, and its removal, before which is said what goes."""

from __future__ import annotations

import asyncio
from pathlib import Path

from playwright.async_api import Locator, Page, expect

from tests.support.repos import git

from .site import Site, card, transcript


async def ask_to_remove(page: Page, name: str) -> Locator:
    """The question before a worktree goes."""
    await card(page, name).get_by_role("button", name=f"Actions for {name}").click()
    await page.get_by_role("menuitem", name="Remove worktree").click()
    return page.get_by_role("dialog", name=f"Remove {name}?")


async def test_a_session_is_begun_from_a_card(site: Site, page: Page) -> None:
    """O4, W1: “New session here” opens the form with that worktree chosen, and the session works there."""
    made = await site.worktree("feature/here")
    await page.goto("/board")
    await card(page, "repo · feature/here").get_by_role("button", name="Actions for repo · feature/here").click()
    await page.get_by_role("menuitem", name="New session here").click()
    await expect(page.get_by_role("radio", name="feature/here")).to_be_checked()
    await page.get_by_label("What should the agent do?").fill("[[run pwd]]")
    await page.get_by_role("radio", name="Auto", exact=True).check()
    await page.get_by_role("button", name="Start session").click()
    await expect(transcript(page).get_by_text("Completed").first).to_be_visible()
    [session] = (await site.client.get("/api/sessions"))["sessions"]
    assert session["worktreeId"] == made["id"]
    assert session["cwd"] == str(site.repo / ".worktrees/feature/here")


async def test_removing_a_worktree_names_what_would_be_lost(site: Site, page: Page) -> None:
    """O4, W2: before a worktree goes, every file and commit that would go with it is named; it goes only when that was
    confirmed, and can be brought back."""
    made = await site.worktree("feature/loss")
    folder = Path(made["path"])
    (folder / "README.md").write_text("changed\n", "utf-8")
    (folder / "notes.txt").write_text("precious\n", "utf-8")
    name = "repo · feature/loss"
    await page.goto("/board")
    dialog = await ask_to_remove(page, name)
    await expect(dialog.get_by_role("listitem").filter(has_text="README.md")).to_be_visible()
    await expect(dialog.get_by_role("listitem").filter(has_text="notes.txt")).to_be_visible()
    await dialog.get_by_role("button", name="Cancel").click()
    assert await asyncio.to_thread(folder.exists)
    dialog = await ask_to_remove(page, name)
    await dialog.get_by_role("button", name="Remove worktree and changes").click()
    # What is behind a dialog cannot be seen by its role.
    await expect(dialog).to_be_hidden()
    await expect(card(page, name)).to_be_hidden()
    assert not await asyncio.to_thread(folder.exists)
    gone = await site.client.get(f"/api/worktrees/{made['id']}")
    assert gone["recoveryRef"]


async def test_a_worktree_that_bough_did_not_make_is_only_forgotten(site: Site, page: Page) -> None:
    """O4, W2: a folder that somebody else made is never deleted from the board, whatever lies in it, and the dialog
    says so."""
    folder = site.repo.parent / "by-hand"
    git(site.repo, "worktree", "add", "--quiet", "-b", "by-hand", str(folder))
    (folder / "notes.txt").write_text("precious\n", "utf-8")
    await site.client.post("/api/worktrees", {"repoId": site.repo_id, "path": str(folder)})
    name = "repo · by-hand"
    await page.goto("/board")
    dialog = await ask_to_remove(page, name)
    await expect(dialog.get_by_text("The folder stays", exact=False)).to_be_visible()
    await dialog.get_by_role("button", name="Remove worktree").click()
    await expect(dialog).to_be_hidden()
    await expect(card(page, name)).to_be_hidden()
    assert (folder / "notes.txt").read_text("utf-8") == "precious\n"


async def test_a_worktree_in_use_stays(site: Site, page: Page) -> None:
    """O4, W2: while a session works in it, the dialog says so and nothing is removed."""
    made = await site.worktree("feature/used")
    await site.session(title="Lives here", worktreeId=made["id"])
    (Path(made["path"]) / "notes.txt").write_text("precious\n", "utf-8")
    name = "repo · feature/used"
    await page.goto("/board")
    dialog = await ask_to_remove(page, name)
    await expect(dialog.get_by_text("Active sessions are working in worktree")).to_be_visible()
    await expect(dialog.get_by_role("button", name="Remove worktree")).to_be_disabled()
    assert await asyncio.to_thread((Path(made["path"]) / "notes.txt").exists)


async def test_a_clean_worktree_loses_nothing(site: Site, page: Page) -> None:
    """O4, W2: where nothing would be lost, the dialog says that, and the branch can go along."""
    made = await site.worktree("feature/clean")
    name = "repo · feature/clean"
    await page.goto("/board")
    dialog = await ask_to_remove(page, name)
    await expect(dialog.get_by_text("Nothing will be lost", exact=False)).to_be_visible()
    await dialog.get_by_role("switch", name="Also delete branch feature/clean").click()
    await dialog.get_by_role("button", name="Remove worktree", exact=True).click()
    await expect(dialog).to_be_hidden()
    await expect(card(page, name)).to_be_hidden()
    assert not await asyncio.to_thread(Path(made["path"]).exists)
