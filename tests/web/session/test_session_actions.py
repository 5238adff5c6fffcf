"""O4: actions on a session: rename, branch, end and resume, change settings, restore files, export and delete."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path

from playwright.async_api import Page, expect

from tests.support.eventually import eventually
from tests.support.repos import git
from tests.web.helpers.site import Complaints, Site, axe, choose, entries, send, transcript


async def open_session(
    site: Site, page: Page, *prompts: str, title: str = "Acts", mode: str = "bypassPermissions"
) -> str:
    """Creates a session, lets it answer the prompts, and opens it in the page."""
    session = await site.session(title=title, permissionMode=mode)
    for text in prompts:
        await site.client.ask(session["id"], text)
    await page.goto(f"/session/{session['id']}")
    await expect(page.get_by_role("heading", name=title, level=1)).to_be_visible()
    return session["id"]


async def test_a_session_is_renamed(site: Site, page: Page) -> None:
    """O4: its title is edited in place; Escape discards the edit."""
    session_id = await open_session(site, page, title="Before")
    await page.get_by_role("button", name="Rename").click()
    await page.get_by_role("textbox", name="Title").fill("Never")
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("heading", name="Before", level=1)).to_be_visible()
    await page.get_by_role("button", name="Rename").click()
    await page.get_by_role("textbox", name="Title").fill("After")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="After", level=1)).to_be_visible()
    await expect(page).to_have_title(re.compile("After"))
    assert (await site.client.get(f"/api/sessions/{session_id}"))["title"] == "After"


async def test_a_fork_knows_the_conversation(site: Site, page: Page) -> None:
    """B1: a fork shows the inherited conversation and recalls it; the original session does not change."""
    session_id = await open_session(site, page, "The colour is green.")
    await page.get_by_role("button", name="Fork", exact=True).click()
    dialog = page.get_by_role("dialog", name="Fork session")
    await dialog.get_by_label("Prompt", exact=True).fill("[[recall]]")
    await dialog.get_by_label("Title").fill("Other way")
    assert await axe(page) == []
    await dialog.get_by_role("button", name="Fork", exact=True).click()
    await expect(page.get_by_role("heading", name="Other way", level=1)).to_be_visible()
    await expect(entries(page, "Answer from demo").last).to_contain_text("The colour is green.")
    await expect(transcript(page).get_by_text("Forked from Acts")).to_be_visible()
    await page.get_by_role("navigation", name="Related sessions").get_by_role("link", name="Acts").click()
    await expect(page).to_have_url(re.compile(session_id))
    await expect(transcript(page).get_by_text("[[recall]]")).to_have_count(0)


async def test_a_fork_starts_at_an_earlier_turn(site: Site, page: Page) -> None:
    """B1: a fork from a turn knows the conversation up to it, and nothing after."""
    await open_session(site, page, "Early words.", "Late words.")
    await transcript(page).get_by_role("button", name="Fork from here").first.click()
    dialog = page.get_by_role("dialog", name="Fork session")
    await expect(dialog.get_by_text("up to “Early words.”")).to_be_visible()
    await dialog.get_by_label("Prompt", exact=True).fill("[[recall]]")
    await dialog.get_by_label("Title").fill("From early on")
    await dialog.get_by_role("button", name="Fork", exact=True).click()
    await expect(page.get_by_role("heading", name="From early on", level=1)).to_be_visible()
    answer = entries(page, "Answer from demo").last
    await expect(answer).to_contain_text("Early words.")
    await expect(answer).not_to_contain_text("Late words.")


async def test_a_child_is_spawned_and_reports(site: Site, page: Page) -> None:
    """B3, Q3: a child starts with no context, and its report appears in the parent's transcript as configured, with the
    original prompt and an instruction to the parent."""
    session_id = await open_session(site, page, "The colour is green.")
    await page.get_by_role("button", name="Spawn", exact=True).click()
    dialog = page.get_by_role("dialog", name="Spawn child")
    await dialog.get_by_role("button", name="Spawn", exact=True).click()
    await expect(
        dialog.get_by_role("alert").filter(has_text="The child does not know this conversation")
    ).to_be_visible()
    await dialog.get_by_label("Prompt", exact=True).fill("[[recall]]")
    await dialog.get_by_label("Title").fill("Little one")
    await dialog.get_by_text("Report", exact=True).click()
    await dialog.get_by_label("Include the prompt it was given").click()
    await dialog.get_by_label("Form of its report").fill("Check its work.")
    assert await axe(page) == []
    await dialog.get_by_role("button", name="Spawn", exact=True).click()
    report = entries(page, "Report from a child")
    await expect(report.get_by_text("Report from Little one")).to_be_visible()
    await report.get_by_role("button", name="Full report").click()
    await expect(report).to_contain_text("Check its work.")
    await expect(report).to_contain_text("[[recall]]")
    await expect(page.get_by_role("navigation", name="Sessions in this tree").get_by_text("Little one")).to_be_visible()
    tree = await site.client.get(f"/api/sessions/{session_id}/tree")
    [child] = [node for node in tree["sessions"] if node["depth"]]
    assert not [text for text in await site.client.texts(child["id"]) if "green" in text]


async def test_a_side_question_is_answered_during_a_turn(site: Site, page: Page) -> None:
    """B4: a side question to a busy session is answered during its turn, in the dialog and in the transcript."""
    session_id = await open_session(site, page, "The colour is green.")
    await send(page, "[[hang]]")
    await page.get_by_role("button", name="Stop").wait_for()
    await page.get_by_role("button", name="Side question").click()
    dialog = page.get_by_role("dialog", name="Side question")
    await dialog.get_by_label("Question").fill("[[recall]]")
    await dialog.get_by_role("button", name="Ask", exact=True).click()
    answered = page.get_by_role("dialog", name="Side question")
    await expect(answered.get_by_text("The colour is green.", exact=False)).to_be_visible()
    assert await axe(page) == []
    await answered.get_by_role("button", name="Close").last.click()
    await expect(entries(page, "Side question").get_by_text("The colour is green.", exact=False)).to_be_visible()
    await expect(page.get_by_role("button", name="Stop")).to_be_visible()
    assert (await site.client.get(f"/api/sessions/{session_id}"))["activity"] == "running"


async def test_a_turn_is_stopped_and_the_session_resumed(site: Site, page: Page) -> None:
    """O4, T6: stop ends the turn and pauses the queue; resume continues it."""
    await open_session(site, page)
    await send(page, "[[hang]]")
    await page.get_by_role("button", name="Stop").wait_for()
    await send(page, "queued words")
    await page.get_by_role("button", name="Stop").click()
    await expect(transcript(page).get_by_text("Cancelled", exact=True)).to_be_visible()
    await expect(page.get_by_text("Paused", exact=True).first).to_be_visible()
    await page.get_by_role("button", name="Resume", exact=True).click()
    await expect(entries(page, "Answer from demo")).to_contain_text('You said "queued words".')


async def test_a_session_is_completed_archived_and_restored(site: Site, page: Page, complaints: Complaints) -> None:
    """O4, T6, B5: completing a busy session needs a confirmation; it is then resumed, archived and unarchived."""
    complaints.forgive("409 (Conflict)")
    session_id = await open_session(site, page)
    await send(page, "[[hang]]")
    await page.get_by_role("button", name="Stop").wait_for()
    await choose(page, "Complete")
    await page.get_by_role("button", name="Complete anyway").click()
    await expect(page.get_by_text("This session is completed.", exact=False).first).to_be_visible()
    await page.get_by_role("button", name="Resume", exact=True).first.click()
    await expect(page.get_by_text("This session is completed.", exact=False)).to_be_hidden()

    async def has_stopped() -> bool:
        tasks = (await site.client.get(f"/api/sessions/{session_id}/tasks"))["tasks"]
        return [task["status"] for task in tasks] == ["cancelled"]

    # The agent may still be stopping its turn, and a busy session is not archived.
    await eventually(has_stopped, "the turn has stopped")
    await choose(page, "Archive")
    await expect(page.get_by_text("This session is archived.", exact=False)).to_be_visible()
    assert (await site.client.get(f"/api/sessions/{session_id}"))["archived"]
    assert await axe(page) == []
    await page.get_by_role("button", name="Unarchive").click()
    await expect(page.get_by_text("This session is archived.", exact=False)).to_be_hidden()
    assert not (await site.client.get(f"/api/sessions/{session_id}"))["archived"]


async def test_settings_reach_the_agent(site: Site, page: Page) -> None:
    """O4, P2: mode, model, effort and variables take effect with the next prompt; values of variables are never shown
    again."""
    session_id = await open_session(site, page, "hello", mode="acceptEdits")
    await page.get_by_role("tab", name="Settings").click()
    form = page.get_by_role("form", name="Session settings")
    await form.get_by_role("radio", name=re.compile("^Bypass permissions")).check()
    await form.get_by_label("Model").fill("demo-large")
    await form.get_by_label("Effort").fill("high")
    await form.get_by_role("button", name="Add variable").click()
    await form.get_by_label("Name of variable 1").fill("SECRET")
    await form.get_by_label("Value of SECRET").fill("very-secret")
    assert await axe(page) == []
    await form.get_by_role("button", name="Save").click()
    await expect(form.get_by_text("Saved.", exact=False)).to_be_visible()
    await expect(form.get_by_label("Value of SECRET")).to_have_value("")
    await expect(form.get_by_label("Value of SECRET")).to_have_attribute("placeholder", "unchanged")
    await send(page, "[[status]][[run test $SECRET = very-secret && echo it knows]]")
    answer = entries(page, "Answer from demo").last
    for word in ("bypassPermissions", "demo-large", "high"):
        await expect(answer).to_contain_text(word)
    command = entries(page, "Tool: test")
    await command.get_by_role("button", name="test").first.click()
    await expect(command.get_by_text("it knows", exact=True)).to_be_visible()
    session = await site.client.get(f"/api/sessions/{session_id}")
    assert (session["permissionMode"], session["model"], session["effort"]) == (
        "bypassPermissions",
        "demo-large",
        "high",
    )
    assert "very-secret" not in json.dumps(session["env"])


async def test_a_child_stops_reporting(site: Site, page: Page) -> None:
    """O4, Q3: a child's reports can be turned off in its settings at any time."""
    parent = await site.session(title="Parent")
    made = await site.client.post(f"/api/sessions/{parent['id']}/spawn", {"prompt": "hello", "title": "Child"})
    await site.client.wait_task(made["taskId"])
    await page.goto(f"/session/{made['sessionId']}")
    await page.get_by_role("tab", name="Settings").click()
    form = page.get_by_role("form", name="Session settings")
    await form.get_by_role("switch", name="Report back").click()
    await form.get_by_role("button", name="Save").click()
    await expect(form.get_by_text("Saved.", exact=False)).to_be_visible()
    await send(page, "not reported")
    await expect(entries(page, "Answer from demo").last).to_contain_text('You said "not reported".')
    callbacks = (await site.client.get(f"/api/sessions/{parent['id']}/callbacks"))["callbacks"]
    assert len(callbacks) == 1, "only the first turn was reported"


async def test_changes_of_a_turn_are_shown_and_restored(site: Site, page: Page) -> None:
    """W4: the changes of one turn and of the whole session are shown; files are restored to before the turn, and undo
    brings the changes back."""
    await open_session(site, page, "[[write one.txt first]]", "[[write two.txt second]]")
    await transcript(page).get_by_role("button", name="Changes").last.click()
    changes = page.get_by_role("dialog", name="Changes")
    await expect(changes.get_by_role("button", name="two.txt")).to_be_visible()
    await expect(changes.get_by_text("one.txt")).to_have_count(0)
    await expect(changes.get_by_role("cell", name="added: second")).to_be_visible()
    assert await axe(page) == []
    await page.keyboard.press("Escape")
    await page.get_by_role("tab", name="Changes").click()
    panel = page.get_by_role("tabpanel", name="Changes")
    for name in ("one.txt", "two.txt"):
        await expect(panel.get_by_role("button", name=name)).to_be_visible()

    await transcript(page).get_by_role("button", name="Restore files").first.click()
    dialog = page.get_by_role("dialog", name="Restore files")
    await expect(dialog.get_by_role("listitem").filter(has_text="one.txt")).to_be_visible()
    await dialog.get_by_role("radio", name="All files in the folder").check()
    assert await axe(page) == []
    await dialog.get_by_role("button", name="Restore", exact=True).click()
    done = page.get_by_role("dialog", name="Files restored")
    await expect(done.get_by_text("2 files removed.")).to_be_visible()
    assert not (site.repo / "one.txt").exists()
    assert not (site.repo / "two.txt").exists()
    await done.get_by_role("button", name="Undo").click()
    await expect(page.get_by_text("Undone: 2 files written.")).to_be_visible()
    assert (site.repo / "one.txt").read_text().strip() == "first"
    assert (site.repo / "two.txt").read_text().strip() == "second"


async def test_a_session_is_exported(site: Site, page: Page) -> None:
    """A2, O4: the transcript is exported as Markdown and as JSON."""
    session_id = await open_session(site, page, "[[say Take me along.]]")
    async with page.expect_download() as started:
        await choose(page, "Export as Markdown")
    download = await started.value
    assert download.suggested_filename.endswith(".md")
    assert "Take me along." in await asyncio.to_thread(Path(await download.path()).read_text, "utf-8")
    async with page.expect_download() as started:
        await choose(page, "Export as JSON")
    exported = json.loads(await asyncio.to_thread(Path(await (await started.value).path()).read_text, "utf-8"))
    assert session_id in json.dumps(exported)


async def test_deleting_lists_the_work_that_would_be_lost(site: Site, page: Page, complaints: Complaints) -> None:
    """W2, O4: before a worktree is removed, its uncommitted and untracked files and unmerged commits are listed and
    must be confirmed; afterwards the dialog explains how to recover them."""
    # The page requests the open session once more when it is deleted.
    complaints.forgive("404 (Not Found)")
    session = await site.session(title="With worktree", worktree={"branch": "feature/gone"})
    folder = Path(session["cwd"])
    (folder / "committed.txt").write_text("kept\n", "utf-8")
    await asyncio.to_thread(git, folder, "add", "committed.txt")
    await asyncio.to_thread(git, folder, "commit", "--quiet", "--message", "Only here.")
    (folder / "README.md").write_text("# Changed\n", "utf-8")
    (folder / "new.txt").write_text("new\n", "utf-8")
    await page.goto(f"/session/{session['id']}")
    await choose(page, "Delete")
    dialog = page.get_by_role("dialog", name="Stop or delete")
    await dialog.get_by_role("radio", name="Delete permanently").check()
    await dialog.get_by_role("switch", name="Also delete the worktree").click()
    losses = dialog.get_by_role("region", name="Work that would be lost")
    await expect(losses.get_by_role("list", name="1 uncommitted file")).to_contain_text("README.md")
    await expect(losses.get_by_role("list", name="1 untracked file")).to_contain_text("new.txt")
    await expect(losses.get_by_role("list", name="1 unpushed commit")).to_contain_text("Only here.")
    assert await axe(page) == []
    await expect(dialog.get_by_role("button", name="Delete permanently")).to_be_disabled()
    await dialog.get_by_role("checkbox", name="Delete anyway").check()
    await dialog.get_by_role("button", name="Delete permanently").click()
    result = page.get_by_role("dialog", name="Session deleted and worktree removed.")
    await expect(result.get_by_role("listitem").first).to_be_visible()
    await result.get_by_role("button", name="Close").last.click()
    await expect(page).to_have_url(f"{site.url}/")
    assert not await asyncio.to_thread(folder.exists)
    await site.client.get(f"/api/sessions/{session['id']}", expect=404)


async def test_a_changed_mode_is_applied_at_once(site: Site, page: Page) -> None:
    """P2: the page says that a mode counts from the next prompt, and applies it to the running turn on request."""
    session_id = await open_session(site, page, mode="ask")
    task = await site.client.prompt(session_id, "[[run true]]")
    await site.client.approval(session_id)
    notice = page.get_by_role("status").filter(has_text="counts from the next prompt")
    await expect(notice).to_have_count(0)
    await site.client.call("PATCH", f"/api/sessions/{session_id}", json={"permissionMode": "bypassPermissions"})
    await expect(notice).to_be_visible()
    assert await axe(page) == []
    await notice.get_by_role("button", name="Apply now").click()
    assert (await site.client.wait_task(task))["permissionMode"] == "bypassPermissions"
    await expect(notice).to_have_count(0)
    await expect(transcript(page).get_by_text("A person applied mode bypassPermissions")).to_be_visible()
