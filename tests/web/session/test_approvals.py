"""O4, P4: pending approvals in their session: their details, and every way to answer, by mouse and by keyboard."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.async_api import Browser, Locator, Page, expect

from tests.support.client import Json
from tests.support.repos import make_repo
from tests.support.server import ServerProcess
from tests.web.helpers.site import Complaints, Site, axe, entries, transcript, visiting

SPAWN = '[[mcp agor_sessions_spawn {"prompt": "[[say I am the child.]]", "title": "As proposed"}]]'


async def prompted_session(site: Site, page: Page, prompt: str) -> str:
    """Opens a session that asks before everything, and sends it a prompt."""
    session = await site.session(title="Asks", permissionMode="default")
    await page.goto(f"/session/{session['id']}")
    await site.client.prompt(session["id"], prompt)
    return session["id"]


def approval_card(page: Page, title: str) -> Locator:
    return page.get_by_role("region", name="Pending approvals").get_by_role("group", name=title)


async def approvals_of(site: Site, session_id: str) -> list[Json]:
    """Returns all approvals of a session, oldest first."""
    approvals = (await site.client.get(f"/api/approvals?sessionId={session_id}"))["approvals"]
    return sorted(approvals, key=lambda approval: approval["createdAt"])


async def test_a_command_is_allowed(site: Site, page: Page) -> None:
    """P4: the approval shows the command in the transcript; once allowed, it runs, and the decision is shown."""
    session_id = await prompted_session(site, page, "[[run echo ran && touch ran.txt]][[say Went on.]]")
    card = approval_card(page, "The agent wants to run a command")
    await expect(card.get_by_text("echo ran && touch ran.txt")).to_be_visible()
    await expect(page.get_by_text("Needs your approval").first).to_be_visible()
    assert await axe(page) == []
    await card.get_by_role("button", name="Allow", exact=True).click()
    await expect(transcript(page).get_by_text("Went on.", exact=True)).to_be_visible()
    await expect(page.get_by_text("You allowed this")).to_be_visible()
    await expect(card).to_be_hidden()
    assert (site.repo / "ran.txt").exists()
    [approval] = await approvals_of(site, session_id)
    assert (approval["status"], approval["decidedBy"]["kind"]) == ("allowed", "person")


async def test_an_edit_is_shown_as_a_diff(site: Site, page: Page) -> None:
    """P4: the diff is shown before the file is changed."""
    await prompted_session(site, page, "[[write README.md # Another title]]")
    card = approval_card(page, "The agent wants to edit a file")
    await expect(card.get_by_role("cell", name="removed: # A repository")).to_be_visible()
    await expect(card.get_by_role("cell", name="added: # Another title")).to_be_visible()
    assert await axe(page) == []
    assert (site.repo / "README.md").read_text() == "# A repository\n"
    await card.get_by_role("button", name="Deny", exact=True).click()
    await expect(page.get_by_text("You denied this")).to_be_visible()
    await expect(entries(page, "Tool: Write").get_by_text("Denied", exact=True)).to_be_visible()
    assert (site.repo / "README.md").read_text() == "# A repository\n"


async def test_always_is_remembered_for_the_session(site: Site, page: Page) -> None:
    """P3, P4: after "always" the same command needs no approval, but another one does."""
    session_id = await prompted_session(site, page, "[[run echo same]]")
    card = approval_card(page, "The agent wants to run a command")
    await card.get_by_role("button", name="Always").click()
    await page.get_by_role("menuitem", name="In this session").click()
    await expect(page.get_by_text("You allowed this")).to_be_visible()
    await site.client.prompt(session_id, "[[run echo same]][[say Was not asked.]][[run echo other]]")
    await expect(transcript(page).get_by_text("Was not asked.", exact=True)).to_be_visible()
    await expect(card.get_by_text("echo other")).to_be_visible()
    await expect(card.get_by_text("echo same")).to_have_count(0)
    await card.get_by_role("button", name="Deny", exact=True).click()
    await expect(page.get_by_text("You denied this")).to_be_visible()
    # Decisions of the policy are recorded as well; a person was asked twice.
    by_person = [
        approval for approval in await approvals_of(site, session_id) if approval["decidedBy"]["kind"] == "person"
    ]
    assert [approval["title"] for approval in by_person] == ["echo same", "echo other"]


async def test_a_denial_gives_the_agent_a_reason(site: Site, page: Page) -> None:
    """P4: the reason is stored with the decision, and the agent gets it with its next prompt."""
    session_id = await prompted_session(site, page, "[[run rm -r build]][[say Then not.]]")
    card = approval_card(page, "The agent wants to run a command")
    await card.get_by_role("button", name="More ways to deny").click()
    await page.get_by_role("menuitem", name="Deny with a reason").click()
    await page.get_by_label("Reason", exact=True).fill("Others still need that folder.")
    assert await axe(page) == []
    await card.get_by_role("button", name="Deny", exact=True).click()
    await expect(transcript(page).get_by_text("Then not.", exact=True)).to_be_visible()
    [approval] = await approvals_of(site, session_id)
    assert approval["decidedBy"]["because"] == "Others still need that folder."
    await site.client.prompt(session_id, "[[recall]]")
    await expect(entries(page, "Answer from demo").last).to_contain_text("Others still need that folder.")


async def test_approvals_are_answered_by_keyboard(site: Site, page: Page) -> None:
    """O4, P4: `w` focuses the approval, `y` allows it, `n` denies the next one."""
    session_id = await prompted_session(site, page, "[[run echo one]][[run echo two]][[say Done.]]")
    card = approval_card(page, "The agent wants to run a command")
    await expect(card.get_by_text("echo one")).to_be_visible()
    # The prompt box has the focus when the session opens; single keys count after Escape.
    await page.keyboard.press("Escape")
    await page.keyboard.press("w")
    await expect(card.first).to_be_focused()
    await page.keyboard.press("y")
    await expect(card.get_by_text("echo two")).to_be_visible()
    await page.keyboard.press("w")
    await expect(card.filter(has_text="echo two")).to_be_focused()
    await page.keyboard.press("n")
    await expect(transcript(page).get_by_text("Done.", exact=True)).to_be_visible()
    assert [approval["status"] for approval in await approvals_of(site, session_id)] == ["allowed", "denied"]


async def test_a_used_up_budget_needs_approval(site: Site, page: Page) -> None:
    """B5, P4: a turn beyond the tree's budget is held until a person continues or discards it."""
    session = await site.session(title="Bounded")
    await site.client.call("PUT", f"/api/sessions/{session['id']}/budget", json={"maxTurns": 1})
    await site.client.ask(session["id"], "first")
    await page.goto(f"/session/{session['id']}")
    await site.client.prompt(session["id"], "second")
    card = approval_card(page, "This tree has used up its budget")
    await expect(card.get_by_role("button", name="Discard prompt")).to_be_visible()
    await expect(card.get_by_role("button", name="Always")).to_be_hidden()
    assert await axe(page) == []
    await card.get_by_role("button", name="Continue").click()
    await expect(entries(page, "Answer from demo").last).to_contain_text("This is user turn 2.")


async def test_an_interrupted_turn_continues_after_approval(
    chromium: Browser, complaints: Complaints, tmp_path: Path
) -> None:
    """O2, P4: with `--on-interrupt ask`, an interrupted turn has its own approval, and "Continue" starts the second
    attempt."""
    async with ServerProcess(tmp_path / "data", tmp_path / "work", ("--on-interrupt", "ask")) as server:
        path = make_repo(server.root / "repo")
        async with server.client() as client:
            site = Site(server, client, path, (await client.repo(path))["id"])
            async with visiting(chromium, site, complaints) as context:
                page = await context.new_page()
                await prompted_session(site, page, "[[say Half of it.]][[crash]]")
                card = approval_card(page, "The turn was interrupted")
                await expect(card.get_by_role("button", name="Discard")).to_be_visible()
                await expect(card.get_by_role("button", name="Always")).to_be_hidden()
                assert await axe(page) == []
                await card.get_by_role("button", name="Continue").click()
                await expect(transcript(page).get_by_text("Attempt 2")).to_be_visible()


async def test_a_session_that_an_agent_proposes_is_approved(site: Site, page: Page) -> None:
    """5d, P4: a session that an agent proposes is described, and created as proposed once it is approved."""
    session_id = await prompted_session(site, page, SPAWN)
    card = approval_card(page, "The agent wants to start a child session")
    await expect(card.get_by_text("As proposed").first).to_be_visible()
    await expect(card.get_by_text("[[say I am the child.]]")).to_be_visible()
    assert await axe(page) == []
    await card.get_by_role("button", name="Approve").click()
    await expect(entries(page, "Report from a child").get_by_text("Report from As proposed")).to_be_visible()
    tree = await site.client.get(f"/api/sessions/{session_id}/tree")
    assert [node["title"] for node in tree["sessions"]] == ["Asks", "As proposed"]


async def test_a_proposed_session_is_edited_first(site: Site, page: Page) -> None:
    """O4, 5d: the form is filled in with the agent's proposal, and the edited session is created."""
    session_id = await prompted_session(site, page, SPAWN)
    await approval_card(page, "The agent wants to start").get_by_role("link", name="Edit").click()
    await expect(page.get_by_role("heading", name="Proposed session")).to_be_visible()
    await expect(page.get_by_label("Prompt", exact=True)).to_have_value("[[say I am the child.]]")
    await expect(page.get_by_label("Title")).to_have_value("As proposed")
    await page.get_by_label("Title").fill("As a person wants it")
    assert await axe(page) == []
    await page.get_by_role("button", name="Approve with changes").click()
    await expect(page).to_have_url(re.compile(f"/session/{session_id}"))
    await expect(entries(page, "Report from a child").get_by_text("Report from As a person wants it")).to_be_visible()
    tree = await site.client.get(f"/api/sessions/{session_id}/tree")
    assert [node["title"] for node in tree["sessions"]] == ["Asks", "As a person wants it"]


async def test_a_proposed_session_is_denied(site: Site, page: Page) -> None:
    """5d, 5e: a denial creates nothing, and the agent's call fails with the reason."""
    session_id = await prompted_session(site, page, SPAWN)
    card = approval_card(page, "The agent wants to start")
    await card.get_by_role("button", name="More ways to deny").click()
    await page.get_by_role("menuitem", name="Deny with a reason").click()
    await page.get_by_label("Reason", exact=True).fill("Do it yourself.")
    await card.get_by_role("button", name="Deny", exact=True).click()
    await expect(entries(page, "Answer from demo")).to_contain_text("Do it yourself.")
    assert len((await site.client.get(f"/api/sessions/{session_id}/tree"))["sessions"]) == 1
