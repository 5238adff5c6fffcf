"""O4, P4: questions in the session that asks them: what they are about, every way to answer, by hand and by keys."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.async_api import Browser, Locator, Page, expect

from tests.support.client import Json
from tests.support.repos import make_repo
from tests.support.server import ServerProcess

from .site import Complaints, Site, axe, entries, transcript, visiting

SPAWN = '[[mcp agor_sessions_spawn {"prompt": "[[say I am the child.]]", "title": "As proposed"}]]'


async def asking(site: Site, page: Page, prompt: str) -> str:
    """A session that asks before everything, open in the page, and has been given a prompt."""
    session = await site.session(title="Asks", permissionMode="default")
    await page.goto(f"/session/{session['id']}")
    await site.client.prompt(session["id"], prompt)
    return session["id"]


def question(page: Page, about: str) -> Locator:
    return page.get_by_role("region", name="Pending approvals").get_by_role("group", name=about)


async def answers(site: Site, session_id: str) -> list[Json]:
    """All questions of a session, oldest first."""
    found = (await site.client.get(f"/api/approvals?sessionId={session_id}"))["approvals"]
    return sorted(found, key=lambda one: one["createdAt"])


async def test_a_command_is_allowed(site: Site, page: Page) -> None:
    """P4: the question stands in the transcript with the command; allowed, it runs, and who decided is said."""
    session_id = await asking(site, page, "[[run echo ran && touch ran.txt]][[say Went on.]]")
    card = question(page, "The agent wants to run a command")
    await expect(card.get_by_text("echo ran && touch ran.txt")).to_be_visible()
    await expect(page.get_by_text("Needs your approval").first).to_be_visible()
    assert await axe(page) == []
    await card.get_by_role("button", name="Allow", exact=True).click()
    await expect(transcript(page).get_by_text("Went on.", exact=True)).to_be_visible()
    await expect(page.get_by_text("You allowed this")).to_be_visible()
    await expect(card).to_be_hidden()
    assert (site.repo / "ran.txt").exists()
    [approval] = await answers(site, session_id)
    assert (approval["status"], approval["decidedBy"]["kind"]) == ("allowed", "person")


async def test_a_change_is_shown_as_a_difference(site: Site, page: Page) -> None:
    """P4: what would be changed in a file is there before it is allowed, and not in the file."""
    await asking(site, page, "[[write README.md # Another title]]")
    card = question(page, "The agent wants to edit a file")
    await expect(card.get_by_role("cell", name="removed: # A repository")).to_be_visible()
    await expect(card.get_by_role("cell", name="added: # Another title")).to_be_visible()
    assert await axe(page) == []
    assert (site.repo / "README.md").read_text() == "# A repository\n"
    await card.get_by_role("button", name="Deny", exact=True).click()
    await expect(page.get_by_text("You denied this")).to_be_visible()
    await expect(entries(page, "Tool: Write").get_by_text("Denied")).to_be_visible()
    assert (site.repo / "README.md").read_text() == "# A repository\n"


async def test_always_is_remembered_for_the_session(site: Site, page: Page) -> None:
    """P3, P4: after "always" the same command is not asked about again, another one is."""
    session_id = await asking(site, page, "[[run echo same]]")
    card = question(page, "The agent wants to run a command")
    await card.get_by_role("button", name="Always").click()
    await page.get_by_role("menuitem", name="In this session").click()
    await expect(page.get_by_text("You allowed this")).to_be_visible()
    await site.client.prompt(session_id, "[[run echo same]][[say Was not asked.]][[run echo other]]")
    await expect(transcript(page).get_by_text("Was not asked.", exact=True)).to_be_visible()
    await expect(card.get_by_text("echo other")).to_be_visible()
    await expect(card.get_by_text("echo same")).to_have_count(0)
    await card.get_by_role("button", name="Deny", exact=True).click()
    # What policy answered is kept as well; a person was asked twice.
    people = [one for one in await answers(site, session_id) if one["decidedBy"]["kind"] == "person"]
    assert [one["title"] for one in people] == ["echo same", "echo other"]


async def test_a_denial_tells_the_agent_why(site: Site, page: Page) -> None:
    """P4: the reason is kept with the answer, and the agent has it with its next prompt."""
    session_id = await asking(site, page, "[[run rm -r build]][[say Then not.]]")
    card = question(page, "The agent wants to run a command")
    await card.get_by_role("button", name="More ways to say deny").click()
    await page.get_by_role("menuitem", name="Deny with a reason").click()
    await page.get_by_label("Reason", exact=True).fill("Others still need that folder.")
    assert await axe(page) == []
    await card.get_by_role("button", name="Deny", exact=True).click()
    await expect(transcript(page).get_by_text("Then not.", exact=True)).to_be_visible()
    [approval] = await answers(site, session_id)
    assert approval["decidedBy"]["because"] == "Others still need that folder."
    await site.client.prompt(session_id, "[[recall]]")
    await expect(entries(page, "Answer from demo").last).to_contain_text("Others still need that folder.")


async def test_questions_are_answered_by_keys(site: Site, page: Page) -> None:
    """O4, P4: `w` goes to the question, `a` allows it, `d` denies the next; no pointer is needed."""
    session_id = await asking(site, page, "[[run echo one]][[run echo two]][[say Done.]]")
    card = question(page, "The agent wants to run a command")
    await expect(card.get_by_text("echo one")).to_be_visible()
    await page.keyboard.press("w")
    await expect(card.first).to_be_focused()
    await page.keyboard.press("a")
    await expect(card.get_by_text("echo two")).to_be_visible()
    await page.keyboard.press("w")
    await expect(card.filter(has_text="echo two")).to_be_focused()
    await page.keyboard.press("d")
    await expect(transcript(page).get_by_text("Done.", exact=True)).to_be_visible()
    assert [one["status"] for one in await answers(site, session_id)] == ["allowed", "denied"]


async def test_a_budget_that_is_used_up_asks(site: Site, page: Page) -> None:
    """B5, P4: a turn that its tree may not take any more is held, and goes on or is dropped as a person says."""
    session = await site.session(title="Bounded")
    await site.client.call("PUT", f"/api/sessions/{session['id']}/budget", json={"maxTurns": 1})
    await site.client.ask(session["id"], "first")
    await page.goto(f"/session/{session['id']}")
    await site.client.prompt(session["id"], "second")
    card = question(page, "This tree has used up its budget")
    await expect(card.get_by_role("button", name="Discard prompt")).to_be_visible()
    await expect(card.get_by_role("button", name="Always")).to_be_hidden()
    assert await axe(page) == []
    await card.get_by_role("button", name="Continue").click()
    await expect(entries(page, "Answer from demo").last).to_contain_text("This is user turn 2.")


async def test_a_turn_that_was_cut_off_goes_on_when_a_person_says_so(
    chromium: Browser, complaints: Complaints, tmp_path: Path
) -> None:
    """O2, P4: where it is set that an interrupted turn asks, the question has words of its own, and "go on" makes the
    second attempt."""
    async with ServerProcess(tmp_path / "data", tmp_path / "work", ("--on-interrupt", "ask")) as server:
        path = make_repo(server.root / "repo")
        async with server.client() as client:
            site = Site(server, client, path, (await client.repo(path))["id"])
            async with visiting(chromium, site, complaints) as context:
                page = await context.new_page()
                await asking(site, page, "[[say Half of it.]][[crash]]")
                card = question(page, "The turn was interrupted")
                await expect(card.get_by_role("button", name="Discard")).to_be_visible()
                await expect(card.get_by_role("button", name="Always")).to_be_hidden()
                assert await axe(page) == []
                await card.get_by_role("button", name="Continue").click()
                await expect(transcript(page).get_by_text("Attempt 2")).to_be_visible()


async def test_a_session_that_an_agent_proposes_is_approved(site: Site, page: Page) -> None:
    """5d, P4: what an agent wants to open is shown in words; approved, it is opened as proposed."""
    session_id = await asking(site, page, SPAWN)
    card = question(page, "The agent wants to start a child session")
    await expect(card.get_by_text("As proposed").first).to_be_visible()
    await expect(card.get_by_text("[[say I am the child.]]")).to_be_visible()
    assert await axe(page) == []
    await card.get_by_role("button", name="Approve").click()
    await expect(entries(page, "Report from a child").get_by_text("Report from As proposed")).to_be_visible()
    tree = await site.client.get(f"/api/sessions/{session_id}/tree")
    assert [one["title"] for one in tree["sessions"]] == ["Asks", "As proposed"]


async def test_a_proposed_session_is_changed_first(site: Site, page: Page) -> None:
    """O4, 5d: the form is filled in with what the agent proposes; what a person changes in it is what is opened."""
    session_id = await asking(site, page, SPAWN)
    await question(page, "The agent asks").get_by_role("link", name="Edit").click()
    await expect(page.get_by_role("heading", name="Proposed session")).to_be_visible()
    await expect(page.get_by_label("Prompt", exact=True)).to_have_value("[[say I am the child.]]")
    await expect(page.get_by_label("Title")).to_have_value("As proposed")
    await page.get_by_label("Title").fill("As a person wants it")
    assert await axe(page) == []
    await page.get_by_role("button", name="Approve with changes").click()
    await expect(page).to_have_url(re.compile(f"/session/{session_id}"))
    await expect(entries(page, "Report from a child").get_by_text("Report from As a person wants it")).to_be_visible()
    tree = await site.client.get(f"/api/sessions/{session_id}/tree")
    assert [one["title"] for one in tree["sessions"]] == ["Asks", "As a person wants it"]


async def test_a_proposed_session_is_denied(site: Site, page: Page) -> None:
    """5d, 5e: denied, nothing is opened, and the agent is told so as an error of its call, with the reason."""
    session_id = await asking(site, page, SPAWN)
    card = question(page, "The agent asks")
    await card.get_by_role("button", name="More ways to say deny").click()
    await page.get_by_role("menuitem", name="Deny with a reason").click()
    await page.get_by_label("Reason", exact=True).fill("Do it yourself.")
    await card.get_by_role("button", name="Deny", exact=True).click()
    await expect(entries(page, "Answer from demo")).to_contain_text("Do it yourself.")
    assert len((await site.client.get(f"/api/sessions/{session_id}/tree"))["sessions"]) == 1
