"""O4: the box for prompts: sending, queueing, earlier prompts, drafts, files, commands of the agent, refusals."""

from __future__ import annotations

import asyncio
import base64
import re

from playwright.async_api import FilePayload, Page, expect

from .site import Complaints, Site, axe, entries, prompt_box, send, transcript

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
# What a drag of one file from the desktop ends in.
DROP = """(target, [name, text]) => {
  const data = new DataTransfer();
  data.items.add(new File([text], name, {type: 'text/plain'}));
  for (const type of ['dragover', 'drop'])
    target.dispatchEvent(new DragEvent(type, {bubbles: true, cancelable: true, dataTransfer: data}));
}"""
MOST_QUEUED = 100


async def test_a_prompt_is_sent_and_answered(site: Site, page: Page) -> None:
    """O4, A1: Enter sends what was written, Shift+Enter begins a line; the prompt and its answer are in the transcript,
    and the box is empty again."""
    session = await site.session(title="Talk")
    await page.goto(f"/session/{session['id']}")
    await expect(page.get_by_role("button", name="Send", exact=True)).to_be_disabled()
    await prompt_box(page).fill("two")
    await prompt_box(page).press("Shift+Enter")
    await prompt_box(page).press_sequentially("lines")
    assert await axe(page) == []
    await prompt_box(page).press("Enter")
    await expect(entries(page, "Prompt")).to_contain_text("two\nlines")
    await expect(entries(page, "Answer from demo")).to_contain_text("This is user turn 1.")
    await expect(prompt_box(page)).to_have_value("")
    [task] = (await site.client.get(f"/api/sessions/{session['id']}/tasks"))["tasks"]
    assert task["prompt"] == "two\nlines"


async def test_a_prompt_to_a_busy_session_waits_its_turn(site: Site, page: Page) -> None:
    """O4, Q1: while a turn is under way the button says that the prompt will wait and in which place; it is shown above
    the box until it runs."""
    session = await site.session(title="Busy")
    await site.client.prompt(session["id"], "[[hang]]")
    await page.goto(f"/session/{session['id']}")
    await prompt_box(page).fill("the next one")
    await page.get_by_role("button", name="Queue (next)").click()
    strip = page.get_by_role("region", name="Queue")
    await expect(strip.get_by_role("listitem").filter(has_text="the next one")).to_be_visible()
    await prompt_box(page).fill("and another")
    await page.get_by_role("button", name="Queue (2nd in line)").click()
    await expect(strip.get_by_role("listitem")).to_have_count(2)
    await page.get_by_role("button", name="Stop").click()
    await expect(strip.get_by_text("2 prompts queued, paused")).to_be_visible()
    await page.get_by_role("button", name="Resume", exact=True).click()
    await expect(transcript(page).get_by_text('You said "and another".', exact=False)).to_be_visible()
    await expect(strip).to_be_hidden()


async def test_earlier_prompts_come_back_with_the_arrow(site: Site, page: Page) -> None:
    """O4: as in a shell, up fetches what was said before, down leads back to what was being written."""
    session = await site.session(title="Again")
    for text in ("first words", "second words"):
        await site.client.ask(session["id"], text)
    await page.goto(f"/session/{session['id']}")
    await expect(entries(page, "Prompt")).to_have_count(2)
    await prompt_box(page).fill("half a thou")
    await prompt_box(page).press("Home")
    for shown in ("second words", "first words"):
        await prompt_box(page).press("ArrowUp")
        await expect(prompt_box(page)).to_have_value(shown)
    for shown in ("second words", "half a thou"):
        await prompt_box(page).press("ArrowDown")
        await expect(prompt_box(page)).to_have_value(shown)


async def test_a_draft_survives_a_reload(site: Site, page: Page) -> None:
    """O4: what is half written is there after a reload, in its own session only, and gone once it was sent."""
    session = await site.session(title="Drafted")
    other = await site.session(title="Other")
    await page.goto(f"/session/{session['id']}")
    await prompt_box(page).fill("not yet sent")
    await page.reload()
    await expect(prompt_box(page)).to_have_value("not yet sent")
    await page.goto(f"/session/{other['id']}")
    await expect(prompt_box(page)).to_have_value("")
    await page.go_back()
    await expect(prompt_box(page)).to_have_value("not yet sent")
    await prompt_box(page).press("Enter")
    await expect(entries(page, "Answer from demo")).to_contain_text('You said "not yet sent".')
    await page.reload()
    await expect(entries(page, "Answer from demo")).to_contain_text('You said "not yet sent".')
    await expect(prompt_box(page)).to_have_value("")


async def test_files_go_along(site: Site, page: Page) -> None:
    """O4: files that are chosen or dropped are listed, can be taken off again, reach the agent, and stay with the
    prompt in the transcript."""
    session = await site.session(title="Files")
    await page.goto(f"/session/{session['id']}")
    async with page.expect_file_chooser() as chosen:
        await page.get_by_role("button", name="Attach files").click()
    chooser = await chosen.value
    picture = FilePayload(name="shot.png", mimeType="image/png", buffer=PIXEL)
    await chooser.set_files([picture, FilePayload(name="wrong.txt", mimeType="text/plain", buffer=b"wrong")])
    files = page.get_by_role("list", name="Attached files")
    await expect(files.get_by_role("listitem")).to_have_count(2)
    await files.get_by_role("button", name="Remove wrong.txt").click()
    # Anywhere in the session will do.
    await page.get_by_role("heading", name="Files", level=1).evaluate(DROP, ["notes.txt", "twelve bytes"])
    await expect(files.get_by_role("listitem").filter(has_text="notes.txt")).to_be_visible()
    assert await axe(page) == []
    await send(page, "Look at these")
    answer = entries(page, "Answer from demo")
    await expect(answer).to_contain_text(f"shot.png (image/png, {len(PIXEL)} bytes)")
    await expect(answer).to_contain_text("notes.txt (text/plain, 12 bytes)")
    await expect(answer).not_to_contain_text("wrong.txt")
    await expect(files).to_be_hidden()
    link = entries(page, "Prompt").get_by_role("link", name="notes.txt")
    found = await page.request.get(await link.get_attribute("href") or "")
    assert await found.text() == "twelve bytes"


async def test_a_command_of_the_agent_is_chosen_by_keys(site: Site, page: Page) -> None:
    """O4, C1: a slash lists the agent's own commands; arrows choose, Tab completes, Enter sends; Escape puts the list
    away until something is typed again."""
    session = await site.session(title="Commands")
    await site.client.ask(session["id"], "hello")
    await page.goto(f"/session/{session['id']}")
    await prompt_box(page).press_sequentially("/")
    commands = page.get_by_role("listbox", name="Agent commands")
    await expect(commands.get_by_role("option")).to_have_count(3)
    assert await axe(page) == []
    await prompt_box(page).press("Escape")
    await expect(commands).to_be_hidden()
    await prompt_box(page).fill("")
    await prompt_box(page).press_sequentially("/")
    first = commands.get_by_role("option").first
    await expect(first).to_have_attribute("aria-selected", "true")
    while not await commands.get_by_role("option", name="/status", selected=True).count():
        await prompt_box(page).press("ArrowDown")
    await prompt_box(page).press("Tab")
    await expect(prompt_box(page)).to_have_value("/status ")
    await expect(commands).to_be_hidden()
    await prompt_box(page).press("Enter")
    await expect(entries(page, "Answer from demo").last).to_contain_text(re.compile("mode", re.IGNORECASE))


async def test_what_was_refused_is_still_in_the_box(site: Site, page: Page, complaints: Complaints) -> None:
    """O4, Q1: a prompt that the server does not take stays in the box with the reason above it, and is sent again."""
    complaints.forgive("Failed to load resource")
    session = await site.session(title="Full")
    await site.client.prompt(session["id"], "[[hang]]")
    waiting = await asyncio.gather(*(site.client.prompt(session["id"], f"waits {at}") for at in range(MOST_QUEUED)))
    await page.goto(f"/session/{session['id']}")
    await send(page, "one too many")
    await expect(page.get_by_role("alert")).to_contain_text(str(MOST_QUEUED))
    await expect(prompt_box(page)).to_have_value("one too many")
    assert await axe(page) == []
    await site.client.call("DELETE", f"/api/tasks/{waiting[0]}")
    await prompt_box(page).press("Control+Enter")
    await expect(prompt_box(page)).to_have_value("")
    await expect(page.get_by_role("alert")).to_be_hidden()


async def test_a_prompt_resumes_a_completed_session(site: Site, page: Page) -> None:
    """O4, T2: the page says that the session is completed and that a prompt resumes it; one does."""
    session = await site.session(title="Over")
    await site.client.ask(session["id"], "first")
    await site.client.post(f"/api/sessions/{session['id']}/complete")
    await page.goto(f"/session/{session['id']}")
    await expect(page.get_by_text("This session is completed. Sending a prompt resumes it.")).to_be_visible()
    await prompt_box(page).fill("once more")
    await page.get_by_role("button", name="Resume and send").click()
    await expect(entries(page, "Answer from demo").last).to_contain_text("This is user turn 2.")
    await expect(page.get_by_text("This session is completed.")).to_be_hidden()
    assert (await site.client.get(f"/api/sessions/{session['id']}"))["status"] == "active"
