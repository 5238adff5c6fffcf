"""O4: the composer: sending, queueing, earlier prompts, drafts, files, slash commands and refused prompts."""

from __future__ import annotations

import asyncio
import base64
import re

from playwright.async_api import FilePayload, Page, expect

from tests.web.helpers.site import Complaints, Site, axe, entries, prompt_box, send, transcript

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
# Simulates dropping one file from the desktop.
DROP = """(target, [name, text]) => {
  const data = new DataTransfer();
  data.items.add(new File([text], name, {type: 'text/plain'}));
  for (const type of ['dragover', 'drop'])
    target.dispatchEvent(new DragEvent(type, {bubbles: true, cancelable: true, dataTransfer: data}));
}"""
MAX_QUEUE = 100


async def test_a_prompt_is_sent_and_answered(site: Site, page: Page) -> None:
    """O4, A1: Enter sends the prompt, Shift+Enter starts a new line; prompt and answer appear in the transcript, and
    the composer is cleared."""
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


async def test_a_prompt_to_a_busy_session_is_queued(site: Site, page: Page) -> None:
    """O4, Q1: during a turn the button queues, and a hint names the position; the prompt is shown above the composer
    until it runs."""
    session = await site.session(title="Busy")
    await site.client.prompt(session["id"], "[[hang]]")
    await page.goto(f"/session/{session['id']}")
    await prompt_box(page).fill("the next one")
    await expect(page.get_by_text("Sends after this turn.", exact=True)).to_be_visible()
    await page.get_by_role("button", name="Queue", exact=True).click()
    strip = page.get_by_role("region", name="Queue")
    await expect(strip.get_by_role("listitem").filter(has_text="the next one")).to_be_visible()
    await prompt_box(page).fill("and another")
    await expect(page.get_by_text("Sends 2nd in line, after this turn.", exact=True)).to_be_visible()
    await page.get_by_role("button", name="Queue", exact=True).click()
    await expect(strip.get_by_role("listitem")).to_have_count(2)
    await page.get_by_role("button", name="Stop").click()
    await expect(strip.get_by_text("2 prompts queued, paused")).to_be_visible()
    await page.get_by_role("button", name="Resume", exact=True).click()
    await expect(transcript(page).get_by_text('You said "and another".', exact=False)).to_be_visible()
    await expect(strip).to_be_hidden()


async def test_earlier_prompts_are_recalled_with_the_arrow_keys(site: Site, page: Page) -> None:
    """O4: like in a shell, up recalls earlier prompts and down returns to the draft."""
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
    """O4: a draft survives a reload, belongs to its session only, and is gone once it was sent."""
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


async def test_files_are_attached(site: Site, page: Page) -> None:
    """O4: chosen and dropped files are listed, can be removed, reach the agent, and are shown with the prompt in the
    transcript."""
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
    # Files may be dropped anywhere in the session.
    await page.get_by_role("heading", name="Files", level=1).evaluate(DROP, ["notes.txt", "twelve bytes"])
    await expect(files.get_by_role("listitem").filter(has_text="notes.txt")).to_be_visible()
    assert await axe(page) == []
    await send(page, "Look at these")
    answer = entries(page, "Answer from demo")
    await expect(answer).to_contain_text(f"shot.png (image/png, {len(PIXEL)} bytes)")
    await expect(answer).to_contain_text("notes.txt (text/plain, 12 bytes)")
    await expect(answer).not_to_contain_text("wrong.txt")
    await expect(files).to_be_hidden()
    async with page.context.expect_page() as opened:
        await entries(page, "Prompt").get_by_role("button", name="notes.txt").click()
    await expect((await opened.value).get_by_text("twelve bytes")).to_be_visible()


async def test_a_slash_command_is_chosen_by_keyboard(site: Site, page: Page) -> None:
    """O4, C1: a slash lists the agent's own commands; arrows choose, Tab completes, Enter sends; Escape closes the list
    until the next key."""
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


async def test_a_refused_prompt_stays_in_the_composer(site: Site, page: Page, complaints: Complaints) -> None:
    """O4, Q1: a prompt that the server refuses stays in the composer with the error above it, and can be sent again."""
    complaints.forgive("Failed to load resource")
    session = await site.session(title="Full")
    await site.client.prompt(session["id"], "[[hang]]")
    queued = await asyncio.gather(*(site.client.prompt(session["id"], f"prompt {at}") for at in range(MAX_QUEUE)))
    await page.goto(f"/session/{session['id']}")
    await send(page, "one too many")
    await expect(page.get_by_role("alert")).to_contain_text(str(MAX_QUEUE))
    await expect(prompt_box(page)).to_have_value("one too many")
    assert await axe(page) == []
    await site.client.call("DELETE", f"/api/tasks/{queued[0]}")
    await prompt_box(page).press("Control+Enter")
    await expect(prompt_box(page)).to_have_value("")
    await expect(page.get_by_role("alert")).to_be_hidden()


async def test_a_prompt_resumes_a_completed_session(site: Site, page: Page) -> None:
    """O4, T2: the page explains that a prompt resumes the completed session, and it does."""
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


async def test_files_are_completed_after_an_at_sign(site: Site, page: Page) -> None:
    """O4: after `@`, files of the session's folder are offered while their names are typed; Tab, Enter or a click
    completes one, and Escape hides the list."""
    (site.repo / "src").mkdir()
    for name in ("src/server.py", "src/settings.py", "notes.md"):
        (site.repo / name).write_text("text\n")
    session = await site.session(title="Mentions")
    await page.goto(f"/session/{session['id']}")
    await prompt_box(page).press_sequentially("Read @se")
    files = page.get_by_role("listbox", name="Files")
    await expect(files.get_by_role("option")).to_have_text(["@src/server.py", "@src/settings.py"])
    assert await axe(page) == []
    await prompt_box(page).press("ArrowDown")
    await prompt_box(page).press("Enter")
    await expect(prompt_box(page)).to_have_value("Read @src/settings.py ")
    await prompt_box(page).press_sequentially("and @not")
    await files.get_by_role("option", name="@notes.md").click()
    await expect(prompt_box(page)).to_have_value("Read @src/settings.py and @notes.md ")
    await expect(files).to_be_hidden()
    await prompt_box(page).press_sequentially("@s")
    await expect(files).to_be_visible()
    await prompt_box(page).press("Escape")
    await expect(files).to_be_hidden()
    await expect(prompt_box(page)).to_be_focused()
