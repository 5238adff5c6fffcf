"""V1, V2: the review in a browser: comments on lines that survive a reload and are sent as one prompt, viewed files,
long diffs, and the phone."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from tests.support.client import Json
from tests.support.repos import git
from tests.web.helpers.site import PHONE, Complaints, Site, axe, entries, send, visiting

CODE = "".join(f"def step_{number}(value):\n    return value + {number}\n\n" for number in range(12))
LONG = 5000
MOST_ELEMENTS = 3000


async def changed(site: Site, **fields: Any) -> tuple[Json, Json, Path]:
    """Creates a worktree in which two files have changed, and a session in it."""
    (site.repo / "src").mkdir(exist_ok=True)
    (site.repo / "src/steps.py").write_text(CODE)
    git(site.repo, "add", "--all")
    git(site.repo, "commit", "--quiet", "--message", "Add steps.")
    worktree = await site.worktree("review", **fields)
    session = await site.session(worktreeId=worktree["id"], title="Count steps", permissionMode="bypassPermissions")
    folder = Path(worktree["path"])
    (folder / "src/steps.py").write_text(CODE.replace("value + 5", "value + five"))
    (folder / "notes.md").write_text("# Notes\n\nThe first line.\n")
    return worktree, session, folder


def diff(page: Page, path: str = "src/steps.py") -> Locator:
    return page.get_by_role("region", name=f"Diff of {path}")


async def open_file(page: Page, name: str) -> None:
    await page.get_by_role("navigation", name="Changed files").get_by_role("button", name=name).click()


async def test_comments_survive_a_reload_and_become_one_prompt(site: Site, page: Page) -> None:
    """V2, O4: Comments on a line and on a range are there after a reload, and Send makes one prompt that quotes both;
    an answered comment says so."""
    worktree, session, folder = await changed(site)
    await page.goto(f"/review/worktree/{worktree['id']}")
    await open_file(page, "steps.py")
    await expect(diff(page).locator("[data-changed]").first).to_be_visible()
    await expect(diff(page).locator(".hljs-keyword").first).to_be_visible()
    await diff(page).get_by_role("button", name="Comment on line 17").click()
    box = page.get_by_role("textbox", name="Comment on line 17")
    await box.fill("half a thou")
    await page.reload()
    await expect(box).to_have_value("half a thou")
    await box.fill("Use a number.")
    await box.press("Control+Enter")
    await expect(page.get_by_role("article", name="Line 17")).to_contain_text("Use a number.")
    await diff(page).get_by_role("button", name="Comment on line 14").click()
    await diff(page).get_by_role("button", name="Comment on line 16").click(modifiers=["Shift"])
    await page.get_by_role("textbox", name="Comment on lines 14–16").fill("Say what it does.")
    await page.get_by_role("button", name="Save comment").click()
    bar = page.get_by_role("region", name="Draft")
    await expect(bar).to_contain_text("2 comments")
    await page.reload()
    await expect(page.get_by_role("article", name="Lines 14–16")).to_contain_text("Say what it does.")
    await expect(bar).to_contain_text("2 comments")
    assert await axe(page) == []
    await bar.get_by_role("button", name="Send").click()
    await expect(bar).to_be_hidden()
    await expect(page.get_by_role("article", name="Line 17")).to_contain_text("Sent")
    prompts = [task["prompt"] for task in (await site.client.get(f"/api/sessions/{session['id']}/tasks"))["tasks"]]
    assert len(prompts) == 1
    assert "`src/steps.py`, line 17:\n\n```py\n    return value + five\n```\n\nUse a number." in prompts[0]
    assert "`src/steps.py`, lines 14–16:" in prompts[0]
    (folder / "src/steps.py").write_text(CODE.replace("value + 5", "value + 6"))
    await page.get_by_role("button", name="Refresh").click()
    await expect(page.get_by_role("article", name="Line 17")).to_contain_text("Answered")
    await expect(page.get_by_role("article", name="Lines 14–16")).to_contain_text("Sent")


async def test_a_comment_does_not_move_to_other_lines(site: Site, page: Page, complaints: Complaints) -> None:
    """V2, O4: If the file changes while a comment is typed, it is not saved about the lines that have its numbers now:
    the person chooses the lines again, and the text is kept."""
    worktree, _, folder = await changed(site)
    await page.goto(f"/review/worktree/{worktree['id']}")
    await open_file(page, "steps.py")
    await diff(page).get_by_role("button", name="Comment on line 17").click()
    await page.get_by_role("textbox", name="Comment on line 17").fill("Use a number.")
    (folder / "src/steps.py").write_text("import five\n" + CODE.replace("value + 5", "value + five"))
    await page.get_by_role("button", name="Refresh").click()
    await expect(diff(page)).to_contain_text("import five")
    await expect(diff(page).get_by_role("status")).to_contain_text("The file has changed.")
    save = page.get_by_role("button", name="Save comment")
    await expect(save).to_be_disabled()
    await diff(page).get_by_role("button", name="Comment on line 18").click()
    await expect(page.get_by_role("textbox", name="Comment on line 18")).to_have_value("Use a number.")
    # This change is not on the page yet.
    complaints.forgive("409 (Conflict)")
    (folder / "src/steps.py").write_text("import four\nimport five\n" + CODE.replace("value + 5", "value + five"))
    await save.click()
    await expect(diff(page).get_by_role("status")).to_contain_text("The file has changed.")
    assert (await site.client.get(f"/api/reviews/worktree/{worktree['id']}"))["comments"] == []
    await diff(page).get_by_role("button", name="Comment on line 19").click()
    await save.click()
    await expect(page.get_by_role("article", name="Line 19")).to_contain_text("Use a number.")
    (comment,) = (await site.client.get(f"/api/reviews/worktree/{worktree['id']}"))["comments"]
    assert (comment["startLine"], comment["quote"]) == (19, "    return value + five")


async def test_viewed_falls_when_the_file_changes(site: Site, page: Page) -> None:
    """V1, O4: A viewed file is marked in the tree, also after a reload, until its content changes."""
    worktree, _, folder = await changed(site)
    await page.goto(f"/review/worktree/{worktree['id']}")
    await open_file(page, "steps.py")
    box = page.get_by_role("checkbox", name="Viewed")
    await box.check()
    entry = page.get_by_role("navigation", name="Changed files").get_by_role("button", name="steps.py")
    await expect(entry).to_contain_text("viewed")
    await expect(page.get_by_text("1 viewed")).to_be_visible()
    await page.reload()
    await expect(box).to_be_checked()
    (folder / "src/steps.py").write_text(CODE.replace("value + 5", "value + seven"))
    await page.get_by_role("button", name="Refresh").click()
    await expect(box).not_to_be_checked()
    await expect(entry).not_to_contain_text("viewed")
    await expect(diff(page)).to_contain_text("seven")


async def test_the_keyboard_is_enough(site: Site, page: Page) -> None:
    """V2, O4: The arrow keys choose lines, Shift extends them, Enter opens the box, and Escape leaves it."""
    worktree, _, _ = await changed(site)
    await page.goto(f"/review/worktree/{worktree['id']}?file=notes.md")
    area = diff(page, "notes.md")
    await area.focus()
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("Shift+ArrowDown")
    await page.keyboard.press("Shift+ArrowDown")
    await page.keyboard.press("Enter")
    box = page.get_by_role("textbox", name="Comment on lines 1–3")
    await expect(box).to_be_focused()
    await page.keyboard.press("Escape")
    await expect(area).to_be_focused()
    assert await area.evaluate("area => getComputedStyle(area).outlineStyle") == "none"
    await expect(box).to_be_hidden()
    await expect(area).to_be_focused()
    await page.keyboard.press("]")
    await expect(diff(page)).to_be_visible()
    await page.keyboard.press("v")
    await expect(page.get_by_role("checkbox", name="Viewed")).to_be_checked()


async def test_a_long_diff_draws_only_what_is_in_sight(site: Site, page: Page) -> None:
    """V1, O4: A change of 5,000 lines draws a small part of them, and scrolls to its end without long frames."""
    worktree, _, folder = await changed(site)
    (folder / "src/steps.py").write_text("".join(f"value_{number} = {number}\n" for number in range(LONG)))
    await page.goto(f"/review/worktree/{worktree['id']}?file=src/steps.py")
    await expect(diff(page)).to_contain_text("value_3")
    count = "document.querySelectorAll('*').length"
    assert await page.evaluate(count) < MOST_ELEMENTS
    frames: list[float] = await page.evaluate(
        """async () => {
          const area = document.querySelector('section[aria-label^="Diff of"]');
          const times = [];
          let last = performance.now();
          for (let step = 0; step < 120; step++) {
            area.scrollTop += 900;
            await new Promise((done) => requestAnimationFrame(done));
            const now = performance.now();
            times.push(now - last);
            last = now;
          }
          return times;
        }"""
    )
    frames.sort()
    print(f"\nframes of a scroll: median {frames[60]:.0f} ms, 95 % {frames[114]:.0f} ms, longest {frames[-1]:.0f} ms")
    assert frames[60] < 100
    await diff(page).evaluate("(area) => area.scrollTo(0, area.scrollHeight)")
    await expect(diff(page)).to_contain_text(f"value_{LONG - 1}")
    assert await page.evaluate(count) < MOST_ELEMENTS


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_it_works_on_a_phone(site: Site, chromium: Browser, scheme: str) -> None:
    """V1, V2, O4: On a phone the diff is unified and fits the width; a comment can be written and sent, in both themes,
    and axe finds nothing serious."""
    worktree, session, _ = await changed(site)
    complaints = Complaints()
    options: dict[str, Any] = {"viewport": PHONE, "has_touch": True, "is_mobile": True, "color_scheme": scheme}
    async with visiting(chromium, site, complaints, **options) as context:
        page = await context.new_page()
        await page.goto(f"/review/worktree/{worktree['id']}")
        await page.get_by_label("Changed files").select_option("src/steps.py")
        await diff(page).get_by_role("button", name="Comment on line 17").tap()
        await page.get_by_role("textbox", name="Comment on line 17").fill("Use a number.")
        await page.get_by_role("button", name="Save comment").tap()
        await expect(page.get_by_role("region", name="Draft")).to_contain_text("1 comment")
        assert await page.evaluate("document.scrollingElement.scrollWidth") <= PHONE["width"]
        assert await axe(page) == []
        await page.get_by_role("region", name="Draft").get_by_role("button", name="Send").tap()
        await expect(page.get_by_role("region", name="Draft")).to_be_hidden()
    assert complaints.left() == []
    assert len((await site.client.get(f"/api/sessions/{session['id']}/tasks"))["tasks"]) == 1


async def test_the_review_is_linked_from_where_changes_are_shown(site: Site, page: Page) -> None:
    """V1, O4: A session, a turn's changes and a worktree's card lead to their review."""
    _, session, _ = await changed(site)
    await site.client.ask(session["id"], "[[write made.txt one]] [[say Done.]]")
    await page.goto(f"/session/{session['id']}")
    await page.get_by_role("button", name="Review", exact=True).click()
    await expect(page).to_have_url(re.compile(r"/review/session/"))
    await expect(diff(page, "made.txt")).to_contain_text("one")
    await page.get_by_role("link", name="Session", exact=True).click()
    await page.get_by_role("button", name="Changes", exact=True).first.click()
    await page.get_by_role("dialog").get_by_role("link", name="Review").click()
    await expect(page).to_have_url(re.compile(r"/review/task/"))
    await expect(diff(page, "made.txt")).to_contain_text("one")
    await page.goto("/board")
    await page.get_by_role("button", name=re.compile("Actions for .*review")).first.click()
    await page.get_by_role("menuitem", name="Review changes").click()
    await expect(page).to_have_url(re.compile(r"/review/worktree/"))
    await expect(page.get_by_role("heading", name="Review")).to_be_visible()


async def test_plans_and_answers_get_comments(site: Site, page: Page) -> None:
    """V2, O4: A plan and an answer are commented on in the transcript, and sent from there as one prompt."""
    session = await site.session(title="Plan")
    await page.goto(f"/session/{session['id']}")
    await send(page, "[[plan Look; Leap]] [[say I will leap.]]")
    for name, text in (("Plan", "Look twice."), ("Answer from demo", "Walk instead.")):
        entry = entries(page, name).first
        await entry.hover()
        await entry.get_by_role("button", name="Comment", exact=True).click()
        await page.get_by_role("dialog").get_by_role("textbox").fill(text)
        await page.get_by_role("button", name="Save comment").click()
        await expect(page.get_by_role("dialog")).to_be_hidden()
    await page.reload()
    bar = page.get_by_role("region", name="Draft")
    await expect(bar).to_contain_text("2 comments")
    await bar.get_by_role("button", name="Send").click()
    await expect(bar).to_be_hidden()
    await expect(entries(page, "Prompt").last).to_contain_text("Walk instead.")
    tasks = (await site.client.get(f"/api/sessions/{session['id']}/tasks"))["tasks"]
    assert len(tasks) == 2 and "> - Look\n> - Leap" in tasks[1]["prompt"] and "> I will leap." in tasks[1]["prompt"]
