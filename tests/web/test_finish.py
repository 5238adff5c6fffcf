"""O4, F1–F8: the finish bar: committing, updating, merging, pushing, following checks and cleaning up in the page."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from playwright.async_api import Page, expect

from tests.api.worktree_helpers import branches, commit, head
from tests.support.repos import git
from tests.web.helpers.site import Site

SHOTS = os.environ.get("BOUGH_FINISH_SHOTS")


async def shoot(page: Page, name: str) -> None:
    """Takes a picture for a person to look at, if a folder for them is named."""
    if SHOTS:
        await page.screenshot(path=f"{SHOTS}/{name}.png")


async def opened(site: Site, branch: str) -> tuple[dict[str, Any], Path]:
    """Creates a worktree with a session in it."""
    worktree = await site.worktree(branch)
    session = await site.client.session(worktree["repoId"], worktreeId=worktree["id"], title="Add a greeting")
    return session, Path(worktree["path"])


async def test_work_is_committed_and_merged_in_the_page(site: Site, page: Page) -> None:
    """O4, F1, F3: the bar counts files and commits; a chosen file is committed with an edited message after a preview,
    the branch is merged into its base, and the merge is undone."""
    session, folder = await opened(site, "feature/finish")
    base = head(site.repo)
    (folder / "one.txt").write_text("1\n", "utf-8")
    (folder / "two.txt").write_text("2\n", "utf-8")
    await page.goto(f"/session/{session['id']}")
    bar = page.get_by_role("region", name="Finish")
    await expect(bar.get_by_text("2 files changed · 0 ahead, 0 behind main")).to_be_visible()
    await expect(bar.get_by_role("button", name="Merge…")).to_be_disabled()
    await bar.get_by_role("button", name="Commit…").click()
    dialog = page.get_by_role("dialog", name="Commit to feature/finish")
    await expect(dialog.get_by_text("Commit 2 files to feature/finish.")).to_be_visible()
    await dialog.get_by_role("checkbox", name="two.txt").uncheck()
    await expect(dialog.get_by_text("Commit 1 file to feature/finish.")).to_be_visible()
    await dialog.get_by_label("Message").fill("Add one.")
    await shoot(page, "commit")
    await dialog.get_by_role("button", name="Commit", exact=True).click()
    await expect(dialog).to_be_hidden()
    await expect(bar.get_by_text("1 file changed · 1 ahead, 0 behind main")).to_be_visible()
    assert git(folder, "log", "-1", "--format=%s").strip() == "Add one."
    await bar.get_by_role("button", name="Merge…").click()
    dialog = page.get_by_role("dialog", name="Merge feature/finish into main")
    # The other file is not committed.
    await expect(dialog.get_by_text("1 file is not committed")).to_be_visible()
    await expect(dialog.get_by_role("button", name="Merge", exact=True)).to_be_disabled()
    await dialog.get_by_role("button", name="Cancel").click()
    await asyncio.to_thread((folder / "two.txt").unlink)
    await bar.get_by_role("button", name="Merge…").click()
    await dialog.get_by_role("radio", name="Squash").check()
    await expect(dialog.get_by_text("as one commit to main")).to_be_visible()
    await dialog.get_by_label("Message").fill("Squash it.")
    await shoot(page, "merge")
    await dialog.get_by_role("button", name="Merge", exact=True).click()
    await expect(bar.get_by_text("Merged")).to_be_visible()
    assert git(site.repo, "log", "-1", "--format=%s").strip() == "Squash it."
    await expect(bar.get_by_role("button", name="Clean up…")).to_be_visible()
    await shoot(page, "merged")
    await bar.get_by_role("button", name="Undo merge…").click()
    dialog = page.get_by_role("dialog", name="Undo the merge into main")
    await dialog.get_by_role("button", name="Undo merge").click()
    await expect(dialog).to_be_hidden()
    await expect(bar.get_by_text("Merged")).to_be_hidden()
    assert head(site.repo) == base


async def test_a_conflict_is_handed_to_the_agent(site: Site, page: Page) -> None:
    """O4, F2: on a phone, a conflict is listed before anything changes, and one click hands it to the agent."""
    session, folder = await opened(site, "feature/conflict")
    commit(site.repo, "both.txt", "ours\n")
    commit(folder, "both.txt", "theirs\n")
    await page.set_viewport_size({"width": 390, "height": 844})
    await page.goto(f"/session/{session['id']}")
    bar = page.get_by_role("region", name="Finish")
    await expect(bar.get_by_text("1 ahead, 1 behind main")).to_be_visible()
    await shoot(page, "phone")
    assert await page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    await bar.get_by_role("button", name="Update from base…").click()
    dialog = page.get_by_role("dialog", name="Update feature/conflict from main")
    await expect(dialog.get_by_role("listitem").filter(has_text="both.txt")).to_be_visible()
    await expect(dialog.get_by_role("button", name="Update", exact=True)).to_be_hidden()
    await shoot(page, "phone-conflict")
    await dialog.get_by_role("button", name="Let the agent resolve it").click()
    await expect(dialog).to_be_hidden()
    await expect(bar.get_by_text("1 conflict")).to_be_visible()
    [task] = (await site.client.get(f"/api/sessions/{session['id']}/tasks"))["tasks"]
    assert '- "both.txt"' in task["prompt"]
    git(site.repo, "reset", "--quiet", "--hard", "HEAD~1")


async def test_a_branch_is_pushed_from_its_card(site: Site, page: Page) -> None:
    """O4, F4: a card's menu opens the same bar; a push shows the address first."""
    remote = site.repo.parent / "finish-remote.git"
    git(site.repo.parent, "clone", "--quiet", "--bare", str(site.repo), str(remote))
    git(site.repo, "remote", "add", "origin", str(remote))
    _, folder = await opened(site, "feature/push")
    sha = commit(folder, "pushed.txt")
    name = "repo · feature/push"
    await page.goto("/board")
    await page.get_by_role("button", name=f"Actions for {name}").click()
    await page.get_by_role("menuitem", name="Finish work…").click()
    await page.get_by_role("dialog", name=f"Finish {name}").get_by_role("button", name="Push…").click()
    dialog = page.get_by_role("dialog", name="Push feature/push")
    await expect(dialog.get_by_text(f"as a new branch to {remote}")).to_be_visible()
    await shoot(page, "push")
    await dialog.get_by_role("button", name="Push", exact=True).click()
    await expect(dialog).to_be_hidden()
    assert git(remote, f"--git-dir={remote}", "rev-parse", "feature/push").strip() == sha
    git(site.repo, "remote", "remove", "origin")


async def test_a_pull_request_in_the_page(site: Site, page: Page) -> None:
    """O4, F6: the title and text are proposed and editable, the preview says what is pushed, and without a program
    for the server the page shows the reason, the link and the text to copy."""
    remote = site.repo.parent / "request-remote.git"
    git(site.repo.parent, "clone", "--quiet", "--bare", str(site.repo), str(remote))
    git(site.repo, "remote", "add", "origin", "git@bitbucket.org:acme/tool.git")
    session, folder = await opened(site, "feature/request")
    sha = commit(folder, "request.txt", message="Add a request.")
    await page.goto(f"/session/{session['id']}")
    bar = page.get_by_role("region", name="Finish")
    await bar.get_by_role("button", name="Pull request…").click()
    dialog = page.get_by_role("dialog", name="Pull request for feature/request")
    await expect(dialog.get_by_label("Title")).to_have_value("Add a request.")
    await expect(dialog.get_by_text("as a new branch to git@bitbucket.org:acme/tool.git")).to_be_visible()
    await expect(dialog.get_by_text("Open the pull request by hand, with the link and the text.")).to_be_visible()
    await shoot(page, "pull-request")
    # The bare repository stands in for the server.
    git(site.repo, "remote", "set-url", "origin", str(remote))
    await dialog.get_by_label("Title").fill("A request")
    await dialog.get_by_label("Text").fill("Words.")
    await dialog.get_by_role("button", name="Push and get the link").click()
    by_hand = page.get_by_role("dialog", name="Open the pull request by hand")
    await expect(by_hand.get_by_text("A request", exact=True)).to_be_visible()
    await expect(by_hand.get_by_label("Text", exact=True)).to_have_value("Words.")
    await expect(by_hand.get_by_role("button", name="Copy text")).to_be_visible()
    await shoot(page, "pull-request-by-hand")
    assert git(remote, f"--git-dir={remote}", "rev-parse", "feature/request").strip() == sha
    git(site.repo, "remote", "remove", "origin")


async def test_cards_show_overlaps(site: Site, page: Page) -> None:
    """O4, F5: the cards of two worktrees that changed the same file name each other."""
    for branch in ("feature/left", "feature/right"):
        _, folder = await opened(site, branch)
        commit(folder, "overlapping.txt", f"{branch}\n")
    await page.goto("/board")
    badge = page.get_by_text("Overlaps feature/right").or_(page.get_by_text("Overlaps feature-right"))
    await expect(badge.first).to_be_visible(timeout=60_000)
    await shoot(page, "overlaps")


async def test_finished_work_is_cleaned_up_in_the_page(site: Site, page: Page) -> None:
    """O4, F7: the dialog names the sessions that end, what is removed and the merged branch; work that is not committed
    is refused until a person insists."""
    session, folder = await opened(site, "feature/clean")
    commit(folder, "clean.txt")
    await site.client.post(f"/api/worktrees/{session['worktreeId']}/merge", {})
    await page.goto(f"/session/{session['id']}")
    bar = page.get_by_role("region", name="Finish")
    (folder / "draft.txt").write_text("draft\n", "utf-8")
    await bar.get_by_role("button", name="Clean up…").click()
    dialog = page.get_by_role("dialog", name="Clean up feature/clean")
    await expect(dialog.get_by_text("1 file is not committed")).to_be_visible()
    await expect(dialog.get_by_role("button", name="Clean up", exact=True)).to_be_disabled()
    await shoot(page, "cleanup-refused")
    await dialog.get_by_role("button", name="Cancel").click()
    await asyncio.to_thread((folder / "draft.txt").unlink)
    await bar.get_by_role("button", name="Clean up…").click()
    await expect(dialog.get_by_text("End 1 active session: Add a greeting.")).to_be_visible()
    await expect(dialog.get_by_text("Delete branch feature/clean: main contains its work.")).to_be_visible()
    await shoot(page, "cleanup")
    await page.set_viewport_size({"width": 390, "height": 844})
    await shoot(page, "cleanup-phone")
    await dialog.get_by_role("button", name="Clean up", exact=True).click()
    await expect(dialog).to_be_hidden()
    assert not await asyncio.to_thread(folder.exists) and "feature/clean" not in branches(site.repo)


async def test_failed_checks_are_sent_from_the_page(site: Site, page: Page) -> None:
    """O4, F8: the card and the bar show the checks of a pull request; the dialog lists them with the review threads,
    and sends them to the session once."""
    session, _ = await opened(site, "feature/checks")
    _store_request(site, session["worktreeId"])
    await page.goto("/board")
    await expect(page.get_by_text("PR 12: 1 failed, 1 open thread").first).to_be_visible()
    await shoot(page, "checks-card")
    await page.goto(f"/session/{session['id']}")
    bar = page.get_by_role("region", name="Finish")
    await bar.get_by_role("button", name="PR 12: 1 failed, 1 open thread").click()
    dialog = page.get_by_role("dialog", name="Pull request 12")
    await expect(dialog.get_by_role("list", name="Checks").get_by_text("unit tests")).to_be_visible()
    await expect(dialog.get_by_text("Please name it.")).to_be_visible()
    await shoot(page, "checks")
    await page.emulate_media(color_scheme="dark")
    await page.set_viewport_size({"width": 390, "height": 844})
    await shoot(page, "checks-phone-dark")
    await dialog.get_by_role("button", name="Send to the session").click()
    await expect(dialog.get_by_role("button", name="Send to the session")).to_be_hidden()
    await expect(dialog.get_by_text("1 of 5 prompts sent.")).to_be_visible()
    [task] = (await site.client.get(f"/api/tasks?sessionId={session['id']}"))["tasks"]
    assert "1 check failed and 1 review thread is open" in task["prompt"]


def _store_request(site: Site, worktree_id: str) -> None:
    """Stores a pull request as if the server of a forge had been asked."""
    checks = [
        {"id": "run:1", "name": "unit tests", "status": "failed", "url": "https://github.com/acme/tool/runs/1"},
        {"id": "run:2", "name": "lint", "status": "passed"},
    ]
    comments = [{"author": "ana", "text": "Please name it."}]
    threads = [{"id": "T1", "last": "1", "comments": comments, "path": "one.txt", "line": 3}]
    row = (worktree_id, "github", "github.com", "acme/tool", 12, "https://github.com/acme/tool/pull/12", "open")
    row += ("a" * 40, json.dumps(checks), json.dumps(threads), "2026-01-01T00:00:00Z")
    names = "worktree_id, forge, host, project, number, url, state, head, checks, threads, checked_at"
    with closing(sqlite3.connect(site.server.data / "bough.db", timeout=30)) as database, database:
        database.execute(f"INSERT INTO pull_requests ({names}) VALUES ({', '.join('?' * len(row))})", row)
