"""O2, O4: the page stays correct when the server is killed, in two browsers at once, and after a sleep."""

from __future__ import annotations

import signal

import pytest
from playwright.async_api import Page, expect

from tests.web.conftest import Visit
from tests.web.helpers.site import Complaints, Site

LOST = ("ERR_CONNECTION_REFUSED", "WebSocket connection", "Failed to load resource", "ERR_EMPTY_RESPONSE")


def forgive_a_lost_server(complaints: Complaints) -> None:
    for part in LOST:
        complaints.forgive(part)


@pytest.mark.private_server
async def test_the_server_is_killed_and_comes_back(site: Site, page: Page, complaints: Complaints) -> None:
    """O2, O4: while the server is gone the page says so and keeps its contents; when it is back, the page shows the
    whole turn, which continued meanwhile, without any action by the person."""
    forgive_a_lost_server(complaints)
    session = await site.session(title="Survivor")
    await page.goto(f"/session/{session['id']}")
    await site.client.prompt(session["id"], "[[slow 40 8]]")
    log = page.get_by_role("log")
    await expect(log.get_by_text("tick 3", exact=False).first).to_be_visible()
    await site.server.stop(signal.SIGKILL)
    await expect(page.get_by_text("The server cannot be reached")).to_be_visible()
    await expect(log.get_by_text("tick 3", exact=False).first).to_be_visible()
    await site.server.start()
    await expect(page.get_by_text("The server cannot be reached")).to_be_hidden()
    await expect(log.get_by_text("tick 40", exact=False).first).to_be_visible()
    shown = await log.inner_text()
    assert all(f"tick {number}" in shown for number in range(1, 41))


@pytest.mark.private_server
async def test_a_prompt_sent_while_the_server_restarts_arrives_once(
    site: Site, page: Page, complaints: Complaints
) -> None:
    """A4, O4: a prompt that is sent while the server is away is retried with its key until it is
    accepted, and runs once."""
    forgive_a_lost_server(complaints)
    session = await site.session(title="Patient")
    await site.client.ask(session["id"], "first")
    await page.goto(f"/session/{session['id']}")
    await expect(page.get_by_role("log").get_by_text("This is user turn 1.", exact=False)).to_be_visible()
    await site.server.stop(signal.SIGKILL)
    box = page.get_by_role("combobox", name="Prompt").or_(page.get_by_role("textbox", name="Prompt"))
    await box.fill("second")
    await box.press("Control+Enter")
    await site.server.start()
    await expect(page.get_by_role("log").get_by_text("This is user turn 2.", exact=False)).to_be_visible()
    tasks = (await site.client.get(f"/api/sessions/{session['id']}/tasks"))["tasks"]
    assert [task["prompt"] for task in tasks] == ["first", "second"]


async def test_two_browsers_see_one_session(site: Site, page: Page, visit: Visit) -> None:
    """O4, P4: two people on one session see the same text as it streams, and an approval that one has answered
    disappears for the other."""
    session = await site.session(title="Shared", permissionMode="default")
    async with visit() as context:
        other = await context.new_page()
        await page.goto(f"/session/{session['id']}")
        await other.goto(f"/session/{session['id']}")
        await site.client.prompt(session["id"], "[[say Both read this.]][[run true]]")
        for each in (page, other):
            await expect(each.get_by_role("log").get_by_text("Both read this.", exact=True)).to_be_visible()
            await expect(each.get_by_role("button", name="Allow", exact=True)).to_be_visible()
        await other.get_by_role("button", name="Allow", exact=True).click()
        for each in (page, other):
            await expect(each.get_by_role("button", name="Allow", exact=True)).to_be_hidden()
        [approval] = (await site.client.get("/api/approvals"))["approvals"]
        assert approval["status"] == "allowed"


async def test_a_page_that_slept_catches_up(site: Site, page: Page, complaints: Complaints) -> None:
    """O4: a page that was offline shows what happened meanwhile as soon as it is back, in order and once."""
    forgive_a_lost_server(complaints)
    complaints.forgive("ERR_INTERNET_DISCONNECTED")
    session = await site.session(title="Sleeper")
    await page.goto(f"/session/{session['id']}")
    await site.client.ask(session["id"], "before")
    log = page.get_by_role("log")
    await expect(log.get_by_text("This is user turn 1.", exact=False)).to_be_visible()
    await page.context.set_offline(True)
    await page.evaluate("() => window.dispatchEvent(new Event('online'))")
    await site.client.ask(session["id"], "meanwhile")
    await page.context.set_offline(False)
    await page.evaluate("() => window.dispatchEvent(new Event('online'))")
    await expect(log.get_by_text("This is user turn 2.", exact=False)).to_have_count(1)
