"""O4, Q5: a session's queue beside its transcript: prompts are edited, moved and removed, and the queue is paused."""

from __future__ import annotations

from playwright.async_api import Locator, Page, expect

from tests.web.helpers.site import Site, axe, transcript


async def busy_session(site: Site, *prompts: str) -> str:
    """Creates a session whose turn does not end by itself, with queued prompts."""
    session = await site.session(title="Busy")
    await site.client.prompt(session["id"], "[[hang]]")
    for text in prompts:
        await site.client.prompt(session["id"], text)
    return session["id"]


async def queued_prompts(site: Site, session_id: str) -> list[str]:
    """Returns the queue as the server has it."""
    tasks = (await site.client.get(f"/api/sessions/{session_id}/tasks?status=queued"))["tasks"]
    return [task["prompt"] for task in sorted(tasks, key=lambda task: task["position"])]


async def open_queue(page: Page, session_id: str) -> Locator:
    """Opens the queue's tab and returns its items."""
    await page.goto(f"/session/{session_id}")
    await page.get_by_role("tab", name="Queue").click()
    return page.get_by_role("list", name="Queued prompts").get_by_role("listitem")


async def test_a_queued_prompt_is_edited(site: Site, page: Page) -> None:
    """Q5: its text is edited in place; Escape discards the edit."""
    session_id = await busy_session(site, "one", "two")
    items = await open_queue(page, session_id)
    await expect(items).to_have_count(2)
    await items.nth(1).get_by_role("button", name="Edit").click()
    await page.get_by_role("textbox", name="Prompt 2").fill("never")
    await page.keyboard.press("Escape")
    await expect(items.nth(1)).to_contain_text("two")
    await items.nth(1).get_by_role("button", name="Edit").click()
    await page.get_by_role("textbox", name="Prompt 2").fill("two, better said")
    assert await axe(page) == []
    await page.get_by_role("button", name="Save", exact=True).click()
    await expect(items.nth(1)).to_contain_text("two, better said")
    await expect(page.get_by_role("textbox", name="Prompt 2")).to_be_hidden()
    assert await queued_prompts(site, session_id) == ["one", "two, better said"]


async def test_queued_prompts_are_moved_by_keyboard_and_by_dragging(site: Site, page: Page) -> None:
    """Q5: buttons move a prompt up or down, dragging moves it anywhere, and the new position is announced."""
    session_id = await busy_session(site, "one", "two", "three")
    items = await open_queue(page, session_id)
    await expect(items).to_have_count(3)
    await expect(items.first.get_by_role("button", name="Move up")).to_be_disabled()
    await items.nth(2).get_by_role("button", name="Move up").focus()
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("status").filter(has_text="Moved to position 2.")).to_be_attached()
    await expect(items.nth(1)).to_contain_text("three")
    assert await queued_prompts(site, session_id) == ["one", "three", "two"]
    await items.filter(has_text="one").get_by_role("button", name="Move down").click()
    await expect(items.nth(1)).to_contain_text("one")
    await expect(page.get_by_role("status").filter(has_text="Moved to position 2.")).to_be_attached()
    await items.filter(has_text="two").drag_to(items.filter(has_text="three"))
    await expect(page.get_by_role("status").filter(has_text="Moved to position 1.")).to_be_attached()
    await expect(items.first).to_contain_text("two")
    assert await queued_prompts(site, session_id) == ["two", "three", "one"]


async def test_a_queued_prompt_is_removed(site: Site, page: Page) -> None:
    """Q5: a prompt that was removed from the queue does not run."""
    session_id = await busy_session(site, "wanted", "unwanted")
    items = await open_queue(page, session_id)
    await items.filter(has_text="unwanted").get_by_role("button", name="Remove from queue").click()
    await expect(items).to_have_count(1)
    assert await queued_prompts(site, session_id) == ["wanted"]
    await page.get_by_role("button", name="Stop").click()
    await page.get_by_role("button", name="Resume queue").click()
    await expect(transcript(page).get_by_text('You said "wanted".', exact=False)).to_be_visible()
    await expect(page.get_by_text("Queue is empty")).to_be_visible()
    assert not [text for text in await site.client.texts(session_id) if '"unwanted"' in text]


async def test_a_paused_queue_waits_until_it_is_resumed(site: Site, page: Page) -> None:
    """Q5, T6: a paused queue starts no prompt after the turn, until it is resumed."""
    session = await site.session(title="Held", permissionMode="bypassPermissions")
    await site.client.prompt(session["id"], "[[run until test -e go; do sleep 0.05; done]]")
    for text in ("one", "two"):
        await site.client.prompt(session["id"], text)
    await open_queue(page, session["id"])
    await page.get_by_role("button", name="Pause queue").click()
    await expect(page.get_by_text("2 prompts queued, paused")).to_be_visible()
    (site.repo / "go").touch()
    await expect(page.get_by_role("button", name="Stop")).to_be_hidden()
    await expect(page.get_by_text("Paused", exact=True).first).to_be_visible()
    assert await queued_prompts(site, session["id"]) == ["one", "two"]
    assert await axe(page) == []
    await page.get_by_role("button", name="Resume queue").click()
    await expect(transcript(page).get_by_text('You said "two".', exact=False)).to_be_visible()
    await expect(page.get_by_text("Queue is empty")).to_be_visible()
