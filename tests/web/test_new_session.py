"""O4: the forms for new sessions, forks and children, in each kind of working directory, and their errors."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from playwright.async_api import Locator, Page, expect

from tests.support.repos import git
from tests.web.helpers.site import Complaints, Site, choose, said, transcript

# The limit of active root sessions.
MAX_SESSIONS = 2


async def open_form(page: Page) -> None:
    """Opens the form for a new session."""
    await page.goto("/new")
    await expect(page.get_by_role("heading", level=1, name="New session")).to_be_visible()


async def start(page: Page) -> str:
    """Submits the form and returns the id of the new session."""
    await page.get_by_role("button", name="Start session").click()
    await page.wait_for_url("**/session/*")
    return page.url.rsplit("/", 1)[1]


def preview(page: Page) -> Locator:
    return page.get_by_test_id("path-preview")


async def test_a_session_in_the_main_folder(site: Site, page: Page) -> None:
    """O4, Q2: submitting the form opens the new session, which starts at once."""
    await open_form(page)
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
    """O4, W1: while a branch is typed, the form shows the folder of its worktree, which is created there."""
    await open_form(page)
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


async def test_problems_of_a_new_worktree_are_shown_while_typing(site: Site, page: Page) -> None:
    """O4, W1: an existing branch is reused; a branch that is checked out elsewhere, a path that exists and an invalid
    name are reported while typing, with a name that would work."""
    git(site.repo, "branch", "ready")
    await site.client.post("/api/worktrees", {"repoId": site.repo_id, "branch": "taken"})
    (site.repo / ".worktrees/blocked").mkdir(parents=True)
    await open_form(page)
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


async def test_a_refused_worktree_creates_nothing(site: Site, page: Page, complaints: Complaints) -> None:
    """O4, W1: if the form is submitted anyway, the server's error is shown beside the working directory, and nothing is
    created."""
    complaints.forgive("409 (Conflict)")
    (site.repo / ".worktrees/blocked").mkdir(parents=True)
    await open_form(page)
    await page.get_by_role("radio", name="New worktree").check()
    await page.get_by_label("What should the agent do?").fill("Begin.")
    await page.get_by_role("button", name="Start session").click()
    directory = page.get_by_role("group", name="Working directory")
    await expect(directory.get_by_role("alert")).to_have_text("Enter a branch for the new worktree.")
    await page.get_by_label("Branch", exact=True).fill("blocked")
    await page.get_by_role("button", name="Start session").click()
    await expect(directory.get_by_role("alert")).to_contain_text("Something already exists at")
    assert (await site.client.get("/api/sessions"))["total"] == 0
    assert await asyncio.to_thread(lambda: list((site.repo / ".worktrees/blocked").iterdir())) == []


async def test_a_session_in_an_existing_worktree(site: Site, page: Page) -> None:
    """O4, W1: existing worktrees can be chosen, and show their uncommitted files and active sessions."""
    worktree = await site.client.post("/api/worktrees", {"repoId": site.repo_id, "branch": "shared"})
    (Path(worktree["path"]) / "loose.txt").write_text("loose\n", "utf-8")
    await site.client.session(site.repo_id, worktreeId=worktree["id"], title="Already there")
    await open_form(page)
    row = page.get_by_role("main").locator("label").filter(has=page.get_by_role("radio", name="shared"))
    await expect(row.get_by_text("1 uncommitted file")).to_be_visible()
    await expect(row.get_by_text("1 active session")).to_be_visible()
    await page.get_by_role("radio", name="shared").check()
    await page.get_by_label("What should the agent do?").fill("Begin.")
    session = await site.client.get(f"/api/sessions/{await start(page)}")
    assert session["worktreeId"] == worktree["id"]


async def test_a_missing_agent_cannot_be_chosen(site: Site, page: Page) -> None:
    """O4, O1: an agent that is not installed cannot be chosen, and says how to install it."""
    await open_form(page)
    agents = page.get_by_role("group", name="Agent", exact=True)
    await expect(agents.get_by_role("radio", name="Demo agent")).to_be_enabled()
    await expect(agents.get_by_role("radio", name="Absent agent")).to_have_count(0)
    await agents.get_by_text("Not installed").click()
    await expect(agents.get_by_text("Install it with: pipx install absent-agent")).to_be_visible()


async def test_modes_are_explained(site: Site, page: Page) -> None:
    """O4, P1: each mode says what the agent may do; a mode that never asks shows a warning; the chosen mode applies."""
    await open_form(page)
    modes = page.get_by_role("group", name="Mode", exact=True)
    await expect(modes.get_by_role("radio", name="Accept edits")).to_be_checked()
    for name, explanation in (
        ("Plan", "Reads and plans. Changes nothing."),
        ("Ask first", "Asks before every edit and every command."),
        ("Auto", "Edits and runs commands inside its folder."),
    ):
        await expect(modes.get_by_role("radio", name=name, exact=True)).to_be_visible()
        await expect(modes.get_by_text(explanation, exact=False)).to_be_visible()
    await modes.get_by_role("radio", name="Bypass permissions").check()
    await expect(modes.get_by_text("without asking. Use this only", exact=False)).to_be_visible()
    await modes.get_by_role("radio", name="Plan", exact=True).check()
    await expect(modes.get_by_text("without asking. Use this only", exact=False)).to_be_hidden()
    await page.get_by_label("What should the agent do?").fill("[[write no.txt no]]")
    session = await site.client.get(f"/api/sessions/{await start(page)}")
    assert session["permissionMode"] == "plan"
    await expect(transcript(page).get_by_text("Completed").first).to_be_visible()
    assert not (site.repo / "no.txt").exists()


async def test_a_repository_is_added_by_its_path(site: Site, page: Page, complaints: Complaints) -> None:
    """O4, W3: a missing path and one outside the workspace are refused beside the field; a valid one is added and
    chosen."""
    complaints.forgive("(Unprocessable")
    complaints.forgive("(Bad Request)")
    complaints.forgive("(Forbidden)")
    other = site.server.root / "other"
    other.mkdir()
    git(other, "init", "--quiet", "--initial-branch=main")
    await open_form(page)
    await page.get_by_role("button", name="Add", exact=True).click()
    field = page.get_by_label("Repository path")
    for path, error in (
        (str(site.server.root / "nowhere"), f"There is no folder {site.server.root / 'nowhere'}."),
        ("/etc", "outside"),
    ):
        await field.fill(path)
        await page.get_by_role("button", name="Add folder").click()
        await expect(field).to_have_attribute("aria-invalid", "true")
        await expect(page.get_by_role("alert").filter(has_text=error)).to_be_visible()
    await field.fill(str(other))
    await field.press("Enter")
    await expect(page.get_by_label("Repository", exact=True).locator("option:checked")).to_have_text("other")
    names = {repo["name"] for repo in (await site.client.get("/api/repos"))["repos"]}
    assert names == {"repo", "other"}


@pytest.mark.private_server(AGENT_MAX_SESSIONS=MAX_SESSIONS)
async def test_the_limit_of_active_sessions(site: Site, page: Page, complaints: Complaints) -> None:
    """O4, T5: while no session is idle, one beyond the limit is refused with the limit and what to do; the form keeps
    its text and works once another session has ended."""
    complaints.forgive("429 (Too Many Requests)")
    first = await site.session(title="One", initialPrompt="[[hang]]")
    for _ in range(MAX_SESSIONS - 1):
        await site.session(title="Another", initialPrompt="[[hang]]")
    await open_form(page)
    await page.get_by_label("What should the agent do?").fill("One too many.")
    await page.get_by_role("button", name="Start session").click()
    alert = page.get_by_role("alert").filter(has_text=f"the limit is {MAX_SESSIONS}")
    await expect(alert).to_contain_text("Complete or cancel one")
    await expect(alert.get_by_role("link", name="Show active sessions")).to_be_visible()
    await expect(page.get_by_label("What should the agent do?")).to_have_value("One too many.")
    await site.client.post(f"/api/sessions/{first['id']}/complete", {"force": True})
    session = await site.client.get(f"/api/sessions/{await start(page)}")
    assert session["status"] == "active"


@pytest.mark.private_server(AGENT_MAX_SESSIONS=MAX_SESSIONS)
async def test_an_idle_session_makes_room(site: Site, page: Page) -> None:
    """O4, T5: at the limit, the form completes the session that has been idle longest, and the page says which one."""
    first = await site.session(title="Longest idle")
    for _ in range(MAX_SESSIONS - 1):
        await site.session(title="Another")
    await open_form(page)
    await page.get_by_label("What should the agent do?").fill("One more.")
    await start(page)
    notice = page.get_by_label("Notifications")
    await expect(notice).to_contain_text("“Longest idle” was idle and is completed now, to make room.")
    await notice.get_by_role("button", name="Show").click()
    await page.wait_for_url(f"**/session/{first['id']}")
    await expect(page.get_by_text("It was idle, and made room for another session.")).to_be_visible()


@pytest.mark.private_server(AGENT_MAX_SESSIONS=MAX_SESSIONS)
async def test_an_idle_session_makes_room_for_a_resumed_one(site: Site, page: Page) -> None:
    """O4, T2, T5: at the limit, Resume and a prompt complete the session that has been idle longest, and the page says
    which one."""
    ended = await site.session(title="Ended")
    await site.client.post(f"/api/sessions/{ended['id']}/complete")
    for number in range(MAX_SESSIONS):
        await site.session(title=f"Idle {number}")
    await page.goto(f"/session/{ended['id']}")
    await page.get_by_role("button", name="Resume", exact=True).first.click()
    notice = page.get_by_label("Notifications")
    await expect(notice).to_contain_text("“Idle 0” was idle and is completed now, to make room.")
    await notice.get_by_role("button", name="Show").click()
    await expect(page.get_by_text("It was idle, and made room for another session.")).to_be_visible()
    await page.get_by_role("textbox", name="Prompt").fill("[[say hello again]]")
    await page.get_by_role("button", name="Resume and send").click()
    await expect(notice).to_contain_text("“Idle 1” was idle and is completed now, to make room.")
    answer = page.get_by_role("article", name="Answer from demo").get_by_text("hello again")
    await expect(answer).to_be_visible()


async def test_choices_are_remembered(site: Site, page: Page) -> None:
    """O4: the next form starts with the mode and the kind of directory last chosen for the repository, and with the
    unsent prompt; a mode that never asks is not remembered."""
    await open_form(page)
    await page.get_by_role("radio", name="Auto", exact=True).check()
    await page.get_by_role("radio", name="New worktree").check()
    await page.get_by_label("Branch", exact=True).fill("first")
    await page.get_by_label("What should the agent do?").fill("Begin.")
    await start(page)
    await open_form(page)
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
    await open_form(page)
    await expect(page.get_by_role("radio", name="Bypass permissions")).not_to_be_checked()
    await expect(page.get_by_role("radio", name="Main folder")).to_be_checked()


async def test_a_fork_into_a_new_worktree_has_uncommitted_files(site: Site, page: Page) -> None:
    """O4, B1, B2: a fork knows the conversation, and its worktree has the exact files, including uncommitted ones; the
    original folder is unchanged."""
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
    """O4, B3, Q3: a child starts with no context beside its parent, which stays in view and gets its report; a mode
    above the parent's is marked."""
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
    await dialog.get_by_role("radio", name="Auto", exact=True).check()
    await expect(dialog.get_by_text("This grants more than")).to_be_visible()
    await dialog.get_by_role("radio", name="Plan", exact=True).check()
    await expect(dialog.get_by_text("This grants more than")).to_be_hidden()
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
    texts = await site.client.texts(child["id"])
    assert not any("Begin." in text for text in texts), texts
    await tree.get_by_role("link").filter(has_text="Scout").click()
    await expect(page.get_by_role("heading", level=1, name="Scout")).to_be_visible()
