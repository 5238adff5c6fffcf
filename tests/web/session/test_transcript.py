"""O4: a session's transcript: every kind of message, streaming text, and a stable scroll position."""

from __future__ import annotations

import asyncio
import re
from typing import TypedDict, cast

from playwright.async_api import Page, Route, expect

from tests.support.client import Json
from tests.web.helpers.site import Site, axe, entries, expand, transcript

MARKDOWN = """# What I found

| file | lines |
|---|---|
| app.py | 42 |

- first point
- second point

```python
def answer():
    return 42
```

Use **care** with `rm`."""
# Returns the first message whose upper edge is in sight, and its distance from the upper edge of the list.
POSITION = """list => {
  const top = list.getBoundingClientRect().top;
  for (const row of list.querySelectorAll('article')) {
    const offset = row.getBoundingClientRect().top - top;
    if (offset >= 0) return {row: row.dataset.row, offset};
  }
}"""
OFFSET_OF_ROW = """(list, row) => {
  const element = list.querySelector(`[data-row="${row}"]`);
  return element && element.getBoundingClientRect().top - list.getBoundingClientRect().top;
}"""
# The wheel scrolls some frames later, or not at all at the end of the list.
WAIT_UNTIL_STILL = """async list => {
  for (let still = 0, last = -1; still < 12; last = list.scrollTop) {
    await new Promise(requestAnimationFrame);
    still = list.scrollTop === last ? still + 1 : 0;
  }
}"""


class ReadingPosition(TypedDict):
    row: str
    offset: float


async def reading_position(page: Page) -> ReadingPosition:
    return cast("ReadingPosition", await transcript(page).evaluate(POSITION))


async def assert_not_moved(page: Page, before: ReadingPosition) -> None:
    """Asserts that the reader still sees the same message at the same height."""
    offset = cast("float | None", await transcript(page).evaluate(OFFSET_OF_ROW, before["row"]))
    assert offset is not None, f"the message is out of sight; the reader is at {await reading_position(page)}"
    assert abs(offset - before["offset"]) < 3, f"the message moved from {before['offset']} to {offset}"


async def wheel(page: Page, by: int) -> None:
    """Turns the mouse wheel and waits until the list stops moving."""
    await transcript(page).hover()
    await page.mouse.wheel(0, by)
    await transcript(page).evaluate(WAIT_UNTIL_STILL)


async def long_session(site: Site, count: int) -> Json:
    """Creates a session with `count` answers, separated by thoughts."""
    session = await site.session(title="Long", permissionMode="bypassPermissions")
    lines = (f"[[say Line {at} of many.]][[think So it is.]]" for at in range(1, count + 1))
    task = await site.client.ask(session["id"], "".join(lines))
    assert task["status"] == "completed"
    return session


async def test_every_kind_of_message_is_shown(site: Site, page: Page) -> None:
    """O4: rendered Markdown, a collapsed thought, a plan, an edit, a command with its output, and the error that
    ended the turn."""
    session = await site.session(title="All kinds", permissionMode="bypassPermissions")
    await page.goto(f"/session/{session['id']}")
    await site.client.ask(
        session["id"],
        f"[[think Look around.\n\nThen decide.]][[plan Read; Change; Test]][[say {MARKDOWN}]]"
        "[[write notes.txt first line]][[run printf 'printed here'; exit 3]][[fail The model is not there]]",
    )
    answer = entries(page, "Answer from demo").first
    await expect(answer.get_by_role("heading", name="What I found")).to_be_visible()
    await expect(answer.get_by_role("cell", name="app.py")).to_be_visible()
    await expect(answer.get_by_role("listitem").filter(has_text="second point")).to_be_visible()
    await expect(answer.get_by_text("return 42")).to_be_visible()
    await expect(answer.get_by_role("button", name="Copy code")).to_be_visible()
    await expect(answer.locator("strong")).to_have_text("care")

    thought = entries(page, "Thought")
    await expect(thought.get_by_role("button", name="Look around.")).to_have_attribute("aria-expanded", "false")
    await expect(thought.get_by_text("Then decide.")).to_be_hidden()
    await expand(thought.get_by_role("button", name="Look around."))
    await expect(thought.get_by_text("Then decide.")).to_be_visible()

    plan = transcript(page).get_by_role("region", name="Plan")
    await expect(plan.get_by_role("listitem")).to_have_count(3)

    change = entries(page, "Tool: Write")
    await expect(change.get_by_role("button", name="notes.txt").first).to_be_visible()
    await expect(change.get_by_role("cell", name="added: first line")).to_be_visible()

    command = entries(page, "Tool: printf")
    await expect(command.get_by_text("Failed")).to_be_visible()
    await expand(command.get_by_role("button", name="printf").first)
    await expect(command.get_by_text("printed here", exact=True)).to_be_visible()
    await expect(command.get_by_text("Exit code 3")).to_be_visible()

    await expect(entries(page, "Error").get_by_text("The model is not there")).to_be_visible()
    await expect(transcript(page).get_by_text("Failed", exact=True).last).to_be_visible()
    assert await axe(page) == []


async def test_reports_side_questions_and_agents_prompts_are_shown(site: Site, page: Page) -> None:
    """O4, B3, B4, Q3: the parent shows its child's report and the answer to a side question, each with a link to its
    session; the child shows that an agent prompted it."""
    session = await site.session(title="Parent", permissionMode="bypassPermissions")
    await page.goto(f"/session/{session['id']}")
    await site.client.ask(
        session["id"], '[[mcp agor_sessions_spawn {"prompt": "[[say The **child** is done.]]", "title": "Helper"}]]'
    )
    report = entries(page, "Report from a child")
    await expect(report.get_by_text("Report from Helper")).to_be_visible()
    await expect(report.get_by_text("Completed")).to_be_visible()
    await expand(report.get_by_role("button", name="Last message"))
    await expect(report.locator("strong")).to_have_text("child")

    await site.client.post(f"/api/sessions/{session['id']}/btw", {"prompt": "[[say Beside the work.]]"})
    side_question = entries(page, "Side question")
    await expect(side_question.get_by_text("[[say Beside the work.]]")).to_be_visible()
    await expect(side_question.get_by_text("Beside the work.", exact=True)).to_be_visible()
    await expect(side_question.get_by_role("link", name="Side question")).to_have_attribute(
        "href", re.compile("/session/")
    )
    assert await axe(page) == []

    await report.get_by_role("link", name="Helper").click()
    await expect(page.get_by_role("heading", name="Helper", level=1)).to_be_visible()
    sender = entries(page, "Prompt").get_by_role("link", name="From an agent")
    await expect(sender).to_have_attribute("href", f"/session/{session['id']}")


async def test_text_grows_in_place(site: Site, page: Page) -> None:
    """O4, A3: an answer is one element from its first words to its last, and the list follows its end."""
    session = await site.session(title="Growing")
    await page.goto(f"/session/{session['id']}")
    await site.client.prompt(session["id"], "[[slow 60 12]]")
    answer = entries(page, "Answer from demo")
    await expect(answer).to_contain_text("tick 3")
    await expect(answer).not_to_contain_text("tick 60", timeout=1)
    await answer.evaluate("element => { element.sameElement = true }")
    await expect(answer).to_contain_text("tick 60")
    await expect(answer).to_have_count(1)
    assert await answer.evaluate("element => element.sameElement === true"), "the message was recreated while it grew"
    await expect(transcript(page).get_by_role("button", name="Fork from here")).to_be_in_viewport()


async def test_a_reader_keeps_their_position_while_text_streams(site: Site, page: Page) -> None:
    """O4: a reader who scrolled up keeps their position while an answer grows, and sees that there is more below."""
    session = await long_session(site, 40)
    await page.goto(f"/session/{session['id']}")
    await expect(transcript(page).get_by_text("Line 40 of many.")).to_be_in_viewport()
    await site.client.prompt(session["id"], "[[slow 60 6]][[think Then.]][[say That was all.]]")
    await expect(transcript(page).get_by_text("tick 3", exact=False).last).to_be_in_viewport()
    await wheel(page, -900)
    more = page.get_by_role("button", name="New messages").or_(page.get_by_role("button", name="Jump to end"))
    await expect(more).to_be_visible()
    before = await reading_position(page)
    await expect(page.get_by_role("button", name="New messages")).to_be_visible()
    await expect(page.get_by_role("button", name="Stop")).to_be_hidden()
    await assert_not_moved(page, before)
    await page.get_by_role("button", name="New messages").click()
    await expect(transcript(page).get_by_text("That was all.", exact=True)).to_be_in_viewport()
    await expect(more).to_be_hidden()


async def test_older_pages_load_without_moving_the_reader(site: Site, page: Page) -> None:
    """O4: of several hundred messages the newest are shown at once; older ones load above the reader while they scroll,
    each once, up to the first."""
    count = 200
    session = await long_session(site, count)
    release = asyncio.Event()
    requested = asyncio.Event()

    async def hold(route: Route) -> None:
        requested.set()
        await release.wait()
        await route.continue_()

    await page.route(re.compile(r"/messages\?.*before="), hold)
    await page.goto(f"/session/{session['id']}")
    await expect(transcript(page).get_by_text(f"Line {count} of many.")).to_be_in_viewport()
    await wheel(page, -1200)
    await asyncio.wait_for(requested.wait(), 10)
    before = await reading_position(page)
    height = cast("int", await transcript(page).evaluate("list => list.scrollHeight"))
    release.set()
    await page.wait_for_function(
        "height => document.querySelector('[aria-label=\"Transcript\"]').scrollHeight > height + 1000", arg=height
    )
    await assert_not_moved(page, before)

    seen: list[int] = []
    async with asyncio.timeout(60):
        while 1 not in seen:
            shown = await transcript(page).get_by_text(re.compile(r"^Line \d+ of many\.$")).all_inner_texts()
            numbers = [int(text.split()[1]) for text in shown]
            assert numbers == list(range(numbers[0], numbers[-1] + 1)), "a message is missing or duplicated"
            seen.extend(numbers)
            # Less than the height of the view, so that no message is skipped.
            await wheel(page, -400)
    assert set(seen) >= set(range(1, 150))
    await expect(entries(page, "Prompt").first).to_be_visible()


async def test_a_link_opens_the_transcript_at_its_message(site: Site, page: Page) -> None:
    """O4: a URL with a message opens there, with its surroundings, and leads on to the end."""
    count = 200
    session = await long_session(site, count)
    messages = await site.client.get(f"/api/sessions/{session['id']}/messages")
    [linked] = [message["id"] for message in messages if message["content"].get("text") == "Line 80 of many."]
    await page.goto(f"/session/{session['id']}?message={linked}")
    await expect(transcript(page).get_by_text("Line 80 of many.")).to_be_in_viewport()
    await expect(transcript(page).get_by_text("Line 81 of many.")).to_be_in_viewport()
    await expect(transcript(page).get_by_text(f"Line {count} of many.")).to_have_count(0)
    await page.get_by_role("button", name="New messages").click()
    await expect(transcript(page).get_by_text(f"Line {count} of many.")).to_be_in_viewport()
