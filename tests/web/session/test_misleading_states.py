"""O4: what a session shows is true: removed prompts, failures, decisions and clocks."""

from __future__ import annotations

import base64
import json
import re
import signal

import pytest
from playwright.async_api import Page, expect

from tests.support.eventually import eventually
from tests.web.app.test_connection import forgive_a_lost_server
from tests.web.helpers.site import Complaints, Site, entries, expand, prompt_box, said, send, transcript


async def test_a_removed_prompt_is_not_part_of_the_running_turn(site: Site, page: Page) -> None:
    """O4, Q5: a prompt that was removed from the queue is one line after the turn that ran then, also once that turn
    has continued; the turn keeps its own footer, and the removed prompt gets none."""
    session = await site.session(title="Changes its mind", permissionMode="default")
    await site.client.prompt(session["id"], "[[say Before.]][[run echo asked]][[say After.]]")
    await page.goto(f"/session/{session['id']}")
    await expect(said(page, "Before.")).to_be_visible()
    await send(page, "an unwanted idea")
    await page.get_by_role("button", name="Remove from queue").click()
    removed = transcript(page).get_by_text("Removed from the queue: an unwanted idea")
    await expect(removed).to_be_visible()
    await expect(transcript(page).locator("[data-row^='task:']")).to_have_count(1)
    await page.get_by_role("button", name="Allow", exact=True).click()
    await expect(said(page, "After.")).to_be_visible()
    await expect(transcript(page).locator("[data-row^='task:']")).to_have_attribute("data-status", "completed")
    for _ in range(2):
        shown = await transcript(page).inner_text()
        assert shown.index("After.") < shown.index("Completed") < shown.index("Removed from the queue"), shown
        await page.reload()
        await expect(removed).to_be_visible()
    await removed.click()
    await expect(transcript(page).get_by_text("an unwanted idea", exact=True)).to_be_visible()


async def test_the_send_button_does_not_jump(site: Site, page: Page) -> None:
    """O4, Q1: from sending a prompt to the end of its turn the button changes once to “Queue” and once back, and keeps
    its size."""
    session = await site.session(title="Calm")
    await site.client.ask(session["id"], "warm up")
    await page.goto(f"/session/{session['id']}")
    await expect(said(page, re.compile("user turn 1"))).to_be_visible()
    await page.evaluate(
        """() => {
          window.labels = [];
          const button = document.querySelector('form[aria-label=Prompt] button[type=submit]');
          const note = () => {
            const state = `${button.innerText.trim()} ${Math.round(button.getBoundingClientRect().width)}`;
            if (window.labels.at(-1) !== state) window.labels.push(state);
          };
          note();
          new MutationObserver(note).observe(button, {subtree: true, childList: true, characterData: true});
        }"""
    )
    await send(page, "[[slow 5 1]]")
    await expect(said(page, re.compile("tick 5"))).to_be_visible()
    await expect(page.get_by_role("button", name="Send", exact=True)).to_be_visible()
    labels: list[str] = await page.evaluate("() => window.labels")
    assert [label.split()[0] for label in labels] == ["Send", "Queue", "Send"], labels
    assert len({label.split()[1] for label in labels}) == 1, labels


async def test_a_stopped_turn_without_a_queue_is_not_paused(site: Site, page: Page) -> None:
    """O4, T6: a queue that holds nothing back is not called paused: the next prompt is simply sent."""
    session = await site.session(title="Stopped")
    await site.client.prompt(session["id"], "[[hang]]")
    await page.goto(f"/session/{session['id']}")
    await page.get_by_role("button", name="Stop").click()
    await expect(transcript(page).get_by_text("Cancelled", exact=True)).to_be_visible()
    await expect(page.get_by_role("button", name="Send", exact=True)).to_be_visible()
    await expect(page.get_by_role("button", name="Resume", exact=True)).to_have_count(0)
    await send(page, "go on")
    await expect(said(page, re.compile('You said "go on"'))).to_be_visible()


async def test_a_failed_turn_stays_failed_and_is_tried_again(site: Site, page: Page) -> None:
    """O4, T3: a failed turn says what went wrong, without a code; the session is failed, not ready, although somebody
    looks at it; its last turn can be tried again with its files."""
    session = await site.session(title="Unlucky")
    picture = {"name": "note.txt", "data": base64.b64encode(b"words").decode()}
    body = {"text": "[[fail Out of luck.]]", "files": [picture]}
    for _ in range(2):
        task = await site.client.post(f"/api/sessions/{session['id']}/prompt", body)
        await site.client.wait_task(task["taskId"] if "taskId" in task else task["id"])
    await page.goto(f"/session/{session['id']}")
    notice = transcript(page).get_by_role("alert").last
    await expect(notice).to_contain_text("Out of luck.")
    await expect(notice.get_by_text("agent_", exact=False)).to_have_count(0)
    # Seen by now: it is no longer unread, but its last turn still failed.
    await eventually(lambda: seen(site, session["id"]), "the session is marked as seen")
    await page.reload()
    await expect(page.locator("header [data-session-state]").first).to_have_attribute("data-session-state", "failed")
    tree = await site.client.get(f"/api/sessions/{session['id']}/tree")
    assert (tree["sessions"][0]["failed"], tree["sessions"][0]["unread"]) == (True, False)
    retry = transcript(page).get_by_role("button", name="Try again")
    await expect(retry).to_have_count(1)
    await retry.click()
    await expect(entries(page, "Prompt")).to_have_count(3)
    await expect(entries(page, "Prompt").last.get_by_text("note.txt")).to_be_visible()
    await expect(transcript(page).locator("[data-row^='task:'][data-status=failed]")).to_have_count(3)
    await expand(notice.get_by_role("button", name="Details"))
    await expect(notice.get_by_text("Error code: ", exact=False)).to_be_visible()
    await send(page, "all is well")
    await expect(said(page, re.compile('You said "all is well"'))).to_be_visible()
    await expect(page.locator("header [data-session-state]").first).to_have_attribute("data-session-state", "idle")
    await expect(retry).to_have_count(0)


async def seen(site: Site, session_id: str) -> bool:
    return (await site.client.get(f"/api/sessions/{session_id}"))["seenAt"] is not None


async def test_decisions_stay_with_the_tool_call(site: Site, page: Page) -> None:
    """O4, P4: who allowed or denied a tool use, how far it reaches and why, are shown with the call, also after a
    reload; an “always” can be undone there. While it is asked about, the call waits instead of running."""
    session = await site.session(title="Decides", permissionMode="default")
    await site.client.prompt(session["id"], "[[run echo one]][[run echo two]][[say Done.]]")
    await page.goto(f"/session/{session['id']}")
    first, second = entries(page, "Tool: echo one"), entries(page, "Tool: echo two")
    await expect(first.locator("[data-state=waiting]")).to_be_visible()
    await expect(first.locator("[data-state=running]")).to_have_count(0)
    await page.get_by_role("button", name="Always").click()
    await page.get_by_role("menuitem", name="In this session").click()
    await expect(first.get_by_text("Allowed by you, always in this session.")).to_be_visible()
    await expect(second.locator("[data-state=waiting]")).to_be_visible()
    await page.get_by_role("button", name="More ways to deny").click()
    await page.get_by_role("menuitem", name="Deny with a reason").click()
    await page.get_by_label("Reason", exact=True).fill("Once is enough.")
    await page.get_by_role("button", name="Deny", exact=True).click()
    await expect(said(page, "Done.")).to_be_visible()
    await page.reload()
    await expect(second.get_by_text("Denied by you: Once is enough.")).to_be_visible()
    await first.get_by_role("button", name="Undo “always”").click()
    await expect(first.get_by_text("No longer in force.")).to_be_visible()
    assert (await site.client.get("/api/policy/choices"))["choices"] == []
    await send(page, "[[run echo one]]")
    await expect(page.get_by_role("group", name="The agent wants to run a command")).to_be_visible()


async def test_a_session_proposed_by_create_session_has_the_whole_form(site: Site, page: Page) -> None:
    """O4, 5d: a proposal of `create_session` is worded like the others and edited in the form of a new session."""
    session = await site.session(title="Proposes", permissionMode="default")
    proposal = {"name": "Side work", "workingDir": str(site.repo), "initialMessage": "Tidy up."}
    await site.client.prompt(session["id"], f"[[mcp create_session {json.dumps(proposal)}]]")
    await page.goto(f"/session/{session['id']}")
    card = page.get_by_role("group", name="The agent wants to start a session")
    await expect(card.get_by_text("Tidy up.")).to_be_visible()
    await card.get_by_role("link", name="Edit").click()
    await expect(page.get_by_role("heading", name="Proposed session")).to_be_visible()
    await expect(page.get_by_label("Prompt", exact=True)).to_have_value("Tidy up.")
    await expect(page.get_by_label("Title")).to_have_value("Side work")
    await expect(page.get_by_role("radio", name="Ask first", exact=True)).to_be_checked()
    await page.get_by_label("Title").fill("Tidying")
    await page.get_by_role("button", name="Approve with changes").click()
    await page.wait_for_url(f"**/session/{session['id']}")

    async def is_created() -> bool:
        sessions = (await site.client.get("/api/sessions"))["sessions"]
        return {other["title"] for other in sessions} == {"Proposes", "Tidying"}

    await eventually(is_created, "the edited session is created")


@pytest.mark.private_server
async def test_nothing_runs_on_while_the_server_is_away(site: Site, page: Page, complaints: Complaints) -> None:
    """O2, O4: while the server cannot be reached, the clock of a running turn stands still; when it is back, every
    message that it cannot be reached disappears by itself."""
    forgive_a_lost_server(complaints)
    session = await site.session(title="Waits")
    await site.client.prompt(session["id"], "[[hang]]")
    await page.goto(f"/session/{session['id']}")
    clock = transcript(page).locator("[data-row^='task:'][data-status=running]")
    await expect(clock).to_contain_text(re.compile(r"\d s"))
    await site.server.stop(signal.SIGKILL)
    await expect(page.get_by_text("The server cannot be reached. Showing data from")).to_be_visible()
    before = await clock.inner_text()
    # Long enough for a clock that runs to show another second; renaming fails at once and says why.
    await page.wait_for_timeout(2500)
    assert await clock.inner_text() == before
    await page.get_by_role("button", name="Rename").click()
    await page.get_by_role("textbox", name="Title").fill("Another name")
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("The page may be out of date.", exact=False)).to_be_visible()
    await site.server.start()
    await expect(page.get_by_text("cannot be reached")).to_have_count(0)
    await expect(prompt_box(page)).to_be_enabled()
