"""O4: the forms: a new session in each kind of place, forks and children, and what stands in their way."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from playwright.async_api import Locator, Page, expect

from tests.support.repos import git

from .site import Complaints, Site, choose, said, transcript

# One more root session than this is refused.
MOST = 2


async def new_session(page: Page) -> None:
    await page.goto("/new")
    await expect(page.get_by_role("heading", level=1, name="New session")).to_be_visible()


async def start(page: Page) -> str:
    """Sends the form and gives back the id of the session that it opened."""
    await page.get_by_role("button", name="Start session").click()
    await page.wait_for_url("**/session/*")
    return page.url.rsplit("/", 1)[1]


def preview(page: Page) -> Locator:
    return page.get_by_test_id("path-preview")


async def test_a_session_in_the_folder_of_its_repository(site: Site, page: Page) -> None:
    """O4, Q2: filled in and sent, the form opens the session, which begins by itself."""
    await new_session(page)
    await expect(page.get_by_label("Repository", exact=True)).to_have_value(site.repo_id)
    await expect(page.get_by_role("radio", name="Main folder")).to_be_checked()
    await expect(page.get_by_role("radio", name="Demo agent")).to_be_checked()
    await page.get_by_label("What should the agent do?").fill("[[write made.txt here]][[say It is written.]]")
    await page.get_by_label("Title").fill("First work")
    session = await site.client.get(f"/api/sessions/{await start(page)}")
    await expect(page.get_by_role("heading", level=1, name="First work")).to_be_visible()
    await expect(said(page, "It is written.")).to_be_visible()
    assert session["cwd"] == str(site.repo)
    assert session["worktreeId"] is None
    assert session["permissionMode"] == "acceptEdits"
    assert (site.repo / "made.txt").read_text("utf-8").strip() == "here"


async def test_a_session_in_a_new_worktree(site: Site, page: Page) -> None:
    """O4, W1: while a branch is typed, the form shows where its worktree will be; there it is made."""
    await new_session(page)
    await page.get_by_role("radio", name="New worktree").check()
    await expect(preview(page)).to_contain_text("Enter a branch to see where the worktree will be.")
    await page.get_by_label("Branch", exact=True).fill("feature/login")
    folder = site.repo / ".worktrees/feature/login"
    await expect(preview(page)).to_contain_text(str(folder))
    await expect(preview(page)).to_contain_text("Creates a new branch.")
    await page.get_by_label("Branch", exact=True).fill("feature/logout")
    folder = site.repo / ".worktrees/feature/logout"
    await expect(preview(page)).to_contain_text(str(folder))
    assert not folder.exists()
    await page.get_by_label("What should the agent do?").fill("[[write made.txt there]][[say Made.]]")
    session = await site.client.get(f"/api/sessions/{await start(page)}")
    await expect(said(page, "Made.")).to_be_visible()
    assert session["cwd"] == str(folder)
    assert (folder / "made.txt").exists()
    assert not (site.repo / "made.txt").exists()
    assert git(folder, "branch", "--show-current").strip() == "feature/logout"


async def test_what_stands_in_the_way_of_a_worktree(site: Site, page: Page) -> None:
    """O4, W1: a branch that is there is reused; one that is checked out elsewhere, a path that is taken, and a name
    that git does not take are told while they are typed, with a name that would do."""
    git(site.repo, "branch", "ready")
    await site.client.post("/api/worktrees", {"repoId": site.repo_id, "branch": "taken"})
    (site.repo / ".worktrees/blocked").mkdir(parents=True)
    await new_session(page)
    await page.get_by_role("radio", name="New worktree").check()
    branch = page.get_by_label("Branch", exact=True)
    await branch.fill("ready")
    await expect(preview(page)).to_contain_text("The branch exists and is reused.")
    await branch.fill("taken")
    await expect(preview(page)).to_contain_text("git allows a branch in only one worktree")
    await preview(page).get_by_role("button", name="Use taken-2").click()
    await expect(branch).to_have_value("taken-2")
    await expect(preview(page)).to_contain_text("Creates a new branch.")
    await branch.fill("blocked")
    await expect(preview(page)).to_contain_text("Something already exists at")
    await branch.fill("bad..name")
    await expect(preview(page)).to_contain_text("is not a valid branch name")


async def test_a_worktree_that_is_refused(site: Site, page: Page, complaints: Complaints) -> None:
    """O4, W1: sent all the same, the server's refusal stands beside the place; nothing was made."""
    complaints.forgive("409 (Conflict)")
    (site.repo / ".worktrees/blocked").mkdir(parents=True)
    await new_session(page)
    await page.get_by_role("radio", name="New worktree").check()
    await page.get_by_label("What should the agent do?").fill("Begin.")
    await page.get_by_role("button", name="Start session").click()
    where = page.get_by_role("group", name="Working directory")
    await expect(where.get_by_role("alert")).to_have_text("Enter a branch for the new worktree.")
    await page.get_by_label("Branch", exact=True).fill("blocked")
    await page.get_by_role("button", name="Start session").click()
    await expect(where.get_by_role("alert")).to_contain_text("Something already exists at")
    assert (await site.client.get("/api/sessions"))["total"] == 0
    assert await asyncio.to_thread(lambda: list((site.repo / ".worktrees/blocked").iterdir())) == []


async def test_a_session_in_a_worktree_that_is_there(site: Site, page: Page) -> None:
    """O4, W1: worktrees that are there can be chosen, with what is not committed in them and who works there."""
    made = await site.client.post("/api/worktrees", {"repoId": site.repo_id, "branch": "shared"})
    (Path(made["path"]) / "loose.txt").write_text("loose\n", "utf-8")
    await site.client.session(site.repo_id, worktreeId=made["id"], title="Already there")
    await new_session(page)
    row = page.get_by_role("main").locator("label").filter(has=page.get_by_role("radio", name="shared"))
    await expect(row.get_by_text("1 uncommitted file")).to_be_visible()
    await expect(row.get_by_text("1 active session")).to_be_visible()
    await page.get_by_role("radio", name="shared").check()
    await page.get_by_label("What should the agent do?").fill("Begin.")
    session = await site.client.get(f"/api/sessions/{await start(page)}")
    assert session["worktreeId"] == made["id"]


async def test_an_agent_that_is_missing(site: Site, page: Page) -> None:
    """O4, O1: an agent whose program is not there cannot be chosen, and says how to get it."""
    await new_session(page)
    agents = page.get_by_role("group", name="Agent", exact=True)
    await expect(agents.get_by_role("radio", name="Demo agent")).to_be_enabled()
    await expect(agents.get_by_role("radio", name="Absent agent")).to_have_count(0)
    await agents.get_by_text("Not installed").click()
    await expect(agents.get_by_text("Install it with: pipx install absent-agent")).to_be_visible()


async def test_modes_in_words(site: Site, page: Page) -> None:
    """O4, P1: each mode says what the agent may do; one that asks nothing warns; the choice counts."""
    await new_session(page)
    modes = page.get_by_role("group", name="Mode", exact=True)
    await expect(modes.get_by_role("radio", name="Accept edits")).to_be_checked()
    for name, words in (
        ("Plan", "Reads and plans. Changes nothing."),
        ("Ask first", "Asks before every edit and every command."),
        ("Auto", "Edits and runs commands inside its folder."),
    ):
        await expect(modes.get_by_role("radio", name=name, exact=True)).to_be_visible()
        await expect(modes.get_by_text(words, exact=False)).to_be_visible()
    await modes.get_by_role("radio", name="Bypass permissions").check()
    await expect(modes.get_by_text("The agent will not ask", exact=False)).to_be_visible()
    await modes.get_by_role("radio", name="Plan", exact=True).check()
    await expect(modes.get_by_text("The agent will not ask", exact=False)).to_be_hidden()
    await page.get_by_label("What should the agent do?").fill("[[write no.txt no]]")
    session = await site.client.get(f"/api/sessions/{await start(page)}")
    assert session["permissionMode"] == "plan"
    await expect(transcript(page).get_by_text("Completed").first).to_be_visible()
    assert not (site.repo / "no.txt").exists()


async def test_a_repository_that_is_not_there(site: Site, page: Page, complaints: Complaints) -> None:
    """O4, W3: a wrong path is refused beside its field, and so is one outside of the workspace; a right one is taken
    and chosen."""
    complaints.forgive("(Unprocessable")
    complaints.forgive("(Bad Request)")
    complaints.forgive("(Forbidden)")
    other = site.server.root / "other"
    other.mkdir()
    git(other, "init", "--quiet", "--initial-branch=main")
    await new_session(page)
    await page.get_by_role("button", name="Add", exact=True).click()
    field = page.get_by_label("Repository path")
    for path, words in (
        (str(site.server.root / "nowhere"), f"There is no folder {site.server.root / 'nowhere'}."),
        ("/etc", "outside"),
    ):
        await field.fill(path)
        await page.get_by_role("button", name="Add folder").click()
        await expect(field).to_have_attribute("aria-invalid", "true")
        await expect(page.get_by_role("alert").filter(has_text=words)).to_be_visible()
    await field.fill(str(other))
    await field.press("Enter")
    await expect(page.get_by_label("Repository", exact=True).locator("option:checked")).to_have_text("other")
    names = {repo["name"] for repo in (await site.client.get("/api/repos"))["repos"]}
    assert names == {"repo", "other"}


@pytest.mark.private_server(AGENT_MAX_SESSIONS=MOST)
async def test_the_limit_of_active_sessions(site: Site, page: Page, complaints: Complaints) -> None:
    """O4, T5: one session too many is refused with the limit and what to do; what was typed stays, and works as soon as
    there is room."""
    complaints.forgive("429 (Too Many Requests)")
    first = await site.session(title="One")
    for _ in range(MOST - 1):
        await site.session(title="Another")
    await new_session(page)
    await page.get_by_label("What should the agent do?").fill("One too many.")
    await page.get_by_role("button", name="Start session").click()
    alert = page.get_by_role("alert").filter(has_text=f"the limit is {MOST}")
    await expect(alert).to_contain_text("Complete or cancel one")
    await expect(alert.get_by_role("link", name="Show active sessions")).to_be_visible()
    await expect(page.get_by_label("What should the agent do?")).to_have_value("One too many.")
    await site.client.post(f"/api/sessions/{first['id']}/complete")
    session = await site.client.get(f"/api/sessions/{await start(page)}")
    assert session["status"] == "active"


async def test_choices_are_remembered(site: Site, page: Page) -> None:
    """O4: the next form begins with the mode and the kind of place chosen last in the repository, and with what was
    typed and not sent; asking nothing is never remembered."""
    await new_session(page)
    await page.get_by_role("radio", name="Auto", exact=True).check()
    await page.get_by_role("radio", name="New worktree").check()
    await page.get_by_label("Branch", exact=True).fill("first")
    await page.get_by_label("What should the agent do?").fill("Begin.")
    await start(page)
    await new_session(page)
    await expect(page.get_by_role("radio", name="Auto", exact=True)).to_be_checked()
    await expect(page.get_by_role("radio", name="New worktree")).to_be_checked()
    await expect(page.get_by_label("Branch", exact=True)).to_have_value("")
    await expect(page.get_by_label("What should the agent do?")).to_have_value("")
    await page.get_by_label("What should the agent do?").fill("Half a thought")
    await page.reload()
    await expect(page.get_by_label("What should the agent do?")).to_have_value("Half a thought")
    await page.get_by_role("radio", name="Bypass permissions").check()
    await page.get_by_role("radio", name="Main folder").check()
    await start(page)
    await new_session(page)
    await expect(page.get_by_role("radio", name="Bypass permissions")).not_to_be_checked()
    await expect(page.get_by_role("radio", name="Main folder")).to_be_checked()


async def test_a_fork_into_a_new_worktree_takes_loose_files_along(site: Site, page: Page) -> None:
    """O4, B1, B2: the fork knows the conversation, and its worktree has the exact files, uncommitted ones included; the
    folder that it came from stays as it is."""
    session = await site.session(title="Origin")
    await site.client.ask(session["id"], "The word is walrus.")
    (site.repo / "README.md").write_text("changed, not committed\n", "utf-8")
    (site.repo / "loose.txt").write_text("not known to git\n", "utf-8")
    await page.goto(f"/session/{session['id']}")
    await choose(page, "Fork")
    dialog = page.get_by_role("dialog", name="Fork session")
    await dialog.get_by_label("Prompt", exact=True).fill("[[recall]][[write forked.txt forked]]")
    await dialog.get_by_label("Title").fill("Another way")
    await dialog.get_by_text("Working directory", exact=True).click()
    await dialog.get_by_role("radio", name="New worktree").check()
    await dialog.get_by_label("Branch", exact=True).fill("another-way")
    folder = site.repo / ".worktrees/another-way"
    await expect(dialog.get_by_test_id("path-preview")).to_contain_text(str(folder))
    await dialog.get_by_role("button", name="Fork", exact=True).click()
    await expect(page.get_by_role("heading", level=1, name="Another way")).to_be_visible()
    await expect(transcript(page).get_by_role("listitem").filter(has_text="The word is walrus.")).to_be_visible()
    fork = await site.client.get(f"/api/sessions/{page.url.rsplit('/', 1)[1]}")
    [task] = (await site.client.get(f"/api/sessions/{fork['id']}/tasks"))["tasks"]
    await site.client.wait_task(task["id"])
    assert fork["kind"] == "fork"
    assert fork["forkedFromSessionId"] == session["id"]
    assert fork["cwd"] == str(folder)
    assert (folder / "README.md").read_text("utf-8") == "changed, not committed\n"
    assert (folder / "loose.txt").read_text("utf-8") == "not known to git\n"
    assert (folder / "forked.txt").exists()
    assert not (site.repo / "forked.txt").exists()


async def test_a_child_is_spawned(site: Site, page: Page) -> None:
    """O4, B3, Q3: a child begins afresh beside its parent, which stays in sight and gets its report; no mode above the
    parent's can be chosen."""
    session = await site.session(title="Parent")
    await site.client.ask(session["id"], "Begin.")
    await page.goto(f"/session/{session['id']}")
    await choose(page, "Spawn")
    dialog = page.get_by_role("dialog", name="Spawn child")
    await dialog.get_by_role("button", name="Spawn").click()
    await expect(dialog.get_by_role("alert")).to_contain_text("The child does not know this conversation")
    await dialog.get_by_label("Prompt", exact=True).fill("[[recall]][[say I have looked.]]")
    await dialog.get_by_label("Title").fill("Scout")
    await dialog.get_by_text("Mode", exact=True).click()
    await expect(dialog.get_by_role("radio", name="Auto", exact=True)).to_be_disabled()
    await expect(dialog.get_by_text("Exceeds this session's own mode.").first).to_be_visible()
    await dialog.get_by_role("radio", name="Plan", exact=True).check()
    await dialog.get_by_role("button", name="Spawn").click()
    await expect(dialog).to_be_hidden()
    await expect(page.get_by_role("heading", level=1, name="Parent")).to_be_visible()
    tree = page.get_by_role("navigation", name="Sessions in this tree")
    await expect(tree.get_by_role("link").filter(has_text="Scout")).to_be_visible()
    await expect(transcript(page).get_by_text("I have looked.", exact=False).first).to_be_visible()
    child = next(item for item in (await site.client.get("/api/sessions"))["sessions"] if item["title"] == "Scout")
    assert child["kind"] == "subsession"
    assert child["parentSessionId"] == session["id"]
    assert child["permissionMode"] == "plan"
    words = await site.client.texts(child["id"])
    assert not any("Begin." in text for text in words), words
    await tree.get_by_role("link").filter(has_text="Scout").click()
    await expect(page.get_by_role("heading", level=1, name="Scout")).to_be_visible()
