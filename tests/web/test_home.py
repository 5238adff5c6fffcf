"""O4: the home page shows, live, what needs the person, what is running and queued, and usage."""

from __future__ import annotations

import json
import re

import pytest
from playwright.async_api import Locator, Page, expect

from tests.web.conftest import Visit
from tests.web.helpers.site import Site, axe, said


def section(page: Page, name: str) -> Locator:
    return page.get_by_role("region", name=name)


def needs_you_item(page: Page, title: str) -> Locator:
    """Returns the item of a session in the “Needs you” section."""
    return section(page, "Needs you").get_by_role("listitem").filter(has=page.get_by_role("link", name=title))


async def test_an_approval_is_allowed_from_home(site: Site, page: Page) -> None:
    """O4, P4: an approval of any session appears on the home page at once and is counted in the tab title; allowing it
    there continues the turn."""
    session = await site.session(title="Asks first", permissionMode="default")
    await page.goto("/")
    await expect(page.get_by_text("All caught up")).to_be_visible()
    await expect(page).to_have_title("Bough")
    task = await site.client.prompt(session["id"], "[[run echo asked > asked.txt]]")
    asked = needs_you_item(page, "Asks first")
    await expect(asked.get_by_text("echo asked > asked.txt").first).to_be_visible()
    await expect(page).to_have_title("(1) Bough")
    await expect(section(page, "Needs you").get_by_text("1 approval", exact=True)).to_be_visible()
    await expect(page.get_by_role("navigation", name="Main").get_by_text("need your approval")).to_be_attached()
    assert not (site.repo / "asked.txt").exists()
    await asked.get_by_role("button", name="Allow", exact=True).click()
    assert (await site.client.wait_task(task))["status"] == "completed"
    assert (site.repo / "asked.txt").read_text("utf-8") == "asked\n"
    await expect(page).to_have_title("Bough")
    await expect(page.get_by_role("button", name="Allow", exact=True)).to_be_hidden()


async def test_an_approval_is_denied_from_home(site: Site, page: Page) -> None:
    """O4, P4: an approval denied on the home page is denied."""
    session = await site.session(title="Asks first", permissionMode="default")
    task = await site.client.prompt(session["id"], "[[write no.txt no]][[say Went on.]]")
    await page.goto("/")
    await needs_you_item(page, "Asks first").get_by_role("button", name="Deny", exact=True).click()
    assert (await site.client.wait_task(task))["status"] == "completed"
    assert not (site.repo / "no.txt").exists()
    assert "Went on." in await site.client.texts(session["id"])


async def test_equal_approvals_show_what_they_allow(site: Site, page: Page) -> None:
    """O4, P4: equal approvals are one row with the command, the reason and the time left; one key answers them all.
    Calls of Bough's tools with one title and different prompts are no equal approvals."""
    await page.goto("/")
    tasks: list[str] = []
    for number in (1, 2):
        wait = {"headless": "deny", "approvalTimeout": 90}
        session = await site.session(title=f"Asks {number}", permissionMode="default", **wait)
        tasks.append(await site.client.prompt(session["id"], "[[run echo asked >> asked.txt]]"))
    row = page.get_by_role("group", name="2 equal approvals")
    await expect(row.get_by_role("heading", name="The agent wants to run a command")).to_be_visible()
    await expect(row.locator("pre", has_text="echo asked >> asked.txt")).to_be_visible()
    await expect(row.get_by_text("“Ask first” requires approval before this.")).to_be_visible()
    await expect(row.get_by_role("timer")).to_have_text(re.compile("Denied automatically in .* min"))
    for prompt in ("[[say I am the child.]]", "[[say I am another.]]"):
        session = await site.session(title="Spawns", permissionMode="default")
        call = {"title": "The tests", "prompt": prompt}
        await site.client.prompt(session["id"], f"[[mcp agor_sessions_spawn {json.dumps(call)}]]")
    await expect(section(page, "Needs you").get_by_text("4 approvals", exact=True)).to_be_visible()
    for text in ("I am the child.", "I am another."):
        await expect(page.get_by_test_id("approval").get_by_text(text)).to_be_visible()
    await expect(page.get_by_role("group", name="equal approvals")).to_have_count(1)
    assert await axe(page) == []
    await row.focus()
    await page.keyboard.press("y")
    assert [(await site.client.wait_task(task))["status"] for task in tasks] == ["completed"] * 2
    assert (site.repo / "asked.txt").read_text("utf-8") == "asked\n" * 2


async def test_a_failure_is_shown_until_it_is_dismissed(site: Site, page: Page) -> None:
    """O4: a failed turn is shown with the agent's own error message until it is dismissed, and does not return after a
    reload."""
    session = await site.session(title="Goes wrong")
    await page.goto("/")
    await expect(page.get_by_text("All caught up")).to_be_visible()
    await site.client.ask(session["id"], "[[fail The model is not there]]")
    failed = needs_you_item(page, "Goes wrong")
    await expect(failed.get_by_text("Demo agent says: The model is not there")).to_be_visible()
    await expect(section(page, "Needs you").get_by_text("1 failure", exact=True)).to_be_visible()
    await failed.get_by_role("button", name="Dismiss").click()
    await expect(page.get_by_text("All caught up")).to_be_visible()
    await page.reload()
    await expect(page.get_by_text("All caught up")).to_be_visible()
    await expect(page.get_by_text("The model is not there")).to_be_hidden()


async def test_a_failed_prompt_is_retried(site: Site, page: Page) -> None:
    """O4: the whole prompt of a failed turn is sent again from the home page."""
    session = await site.session(title="Second try")
    prompt = "[[fail Not now]]" + " and more words" * 40
    await site.client.ask(session["id"], prompt)
    await page.goto("/")
    await needs_you_item(page, "Second try").get_by_role("button", name="Try again").click()
    async with site.client.events(session["id"]) as events:
        tasks = (await site.client.get(f"/api/sessions/{session['id']}/tasks"))["tasks"]
        if len(tasks) < 2:
            await events.until(lambda event: event["type"] == "task.created")
    tasks = (await site.client.get(f"/api/sessions/{session['id']}/tasks"))["tasks"]
    assert [task["prompt"] for task in tasks] == [prompt, prompt]


async def test_finished_work_is_unread_until_opened(site: Site, page: Page) -> None:
    """O4: finished work is shown with its last answer and a link; opening the session marks it as read."""
    session = await site.session(title="Finished")
    await site.client.ask(session["id"], "[[say The walls are painted.]]")
    await page.goto("/")
    done = needs_you_item(page, "Finished")
    await expect(done.get_by_text("The walls are painted.")).to_be_visible()
    await expect(section(page, "Needs you").get_by_text("1 finished session to review")).to_be_visible()
    await done.get_by_role("link", name="Finished").click()
    await expect(page).to_have_url(f"{site.url}/session/{session['id']}")
    await expect(said(page, "The walls are painted.")).to_be_visible()
    await page.get_by_role("navigation", name="Main").get_by_role("link", name="Home", exact=True).click()
    await expect(page.get_by_text("All caught up")).to_be_visible()


async def test_finished_work_is_marked_as_read(site: Site, page: Page) -> None:
    """O4: finished work is marked as read on the home page, one by one or all at once."""
    for title in ("One", "Two", "Three"):
        session = await site.session(title=title)
        await site.client.ask(session["id"], f"[[say {title} is done.]]")
    await page.goto("/")
    await expect(section(page, "Needs you").get_by_text("3 finished sessions to review")).to_be_visible()
    await needs_you_item(page, "Two").get_by_role("button", name="Mark as read").click()
    await expect(needs_you_item(page, "Two")).to_be_hidden()
    await expect(section(page, "Needs you").get_by_text("2 finished sessions to review")).to_be_visible()
    await page.get_by_role("button", name="Mark all as read").click()
    await expect(page.get_by_text("All caught up")).to_be_visible()
    assert (await site.client.get("/api/home"))["counts"]["review"] == 0


async def test_work_read_in_another_browser_disappears(site: Site, page: Page, visit: Visit) -> None:
    """O4: when a finished session is opened in another browser, this home page stops listing it."""
    session = await site.session(title="Seen by another")
    await site.client.ask(session["id"], "[[say Ready.]]")
    await page.goto("/")
    await expect(needs_you_item(page, "Seen by another")).to_be_visible()
    async with visit() as context:
        other = await context.new_page()
        await other.goto(f"/session/{session['id']}")
        await expect(said(other, "Ready.")).to_be_visible()
        await expect(page.get_by_text("All caught up")).to_be_visible()


async def test_running_and_queued_work_is_live(site: Site, page: Page) -> None:
    """O4, Q1: without a reload, a started turn appears under Running with its queue; stopped from home, its queue is
    shown as paused; resumed, the queued prompts run and finish."""
    session = await site.session(title="Long job")
    await page.goto("/")
    await expect(page.get_by_text("All caught up")).to_be_visible()
    await expect(section(page, "Running")).to_be_hidden()
    await site.client.prompt(session["id"], "[[say Begun.]][[hang]]")
    running = section(page, "Running").get_by_role("listitem").filter(has_text="Long job")
    await expect(running.get_by_text("Working")).to_be_attached()
    await expect(page.get_by_text("Agents are working.", exact=False)).to_be_visible()
    await site.client.prompt(session["id"], "[[say The second is done.]]")
    await expect(running.get_by_text("1 prompt queued")).to_be_visible()
    await running.get_by_role("button", name="Stop Long job").click()
    queued = section(page, "Queued").get_by_role("listitem").filter(has_text="Long job")
    await expect(queued.get_by_text("1 prompt queued, paused")).to_be_visible()
    await expect(section(page, "Running")).to_be_hidden()
    await queued.get_by_role("button", name="Resume").click()
    await expect(section(page, "Queued")).to_be_hidden()
    await expect(needs_you_item(page, "Long job").get_by_text("The second is done.")).to_be_visible()


async def test_recent_trees_lead_to_their_canvas(site: Site, page: Page) -> None:
    """O4: the most recently active trees are listed with their number of sessions, and link to their canvas."""
    root = await site.session(title="A tree")
    await site.client.ask(root["id"], "Grow.")
    await site.client.post(f"/api/sessions/{root['id']}/fork", {"title": "A branch"})
    await page.goto("/")
    tree = section(page, "Recent trees").get_by_role("link").filter(has_text="A tree")
    await expect(tree.get_by_text("2 sessions", exact=False)).to_be_visible()
    await tree.click()
    await expect(page).to_have_url(f"{site.url}/tree/{root['id']}")
    await expect(page.get_by_role("heading", level=1)).to_contain_text("A tree")


@pytest.mark.private_server
async def test_usage_grows(site: Site, page: Page) -> None:
    """O4: turns, tokens and cost are added up as turns end."""
    session = await site.session(title="Costs", model="demo-large")
    await site.client.ask(session["id"], "one two three")
    await page.goto("/")
    used = section(page, "Usage")
    for row in ("Today", "Last 7 days", "All time"):
        await expect(used.get_by_role("row", name=row).get_by_role("cell").first).to_have_text("1")
    before = (await site.client.get("/api/home"))["totals"]["all"]
    assert before["tokens"] > 0
    today = used.get_by_role("row", name="Today").get_by_role("cell")
    await expect(today.nth(1)).to_have_text(str(before["tokens"]))
    await site.client.ask(session["id"], f"{'word ' * 900}")
    after = (await site.client.get("/api/home"))["totals"]["all"]
    assert after["tokens"] > before["tokens"] + 900
    await expect(today.first).to_have_text("2")
    await expect(today.nth(1)).to_have_text(f"{after['tokens'] / 1000:.1f}k")
    await expect(today.nth(2)).to_have_text(f"${after['cost']:.2f}")
    assert after["cost"] >= 0.01


@pytest.mark.private_server
async def test_the_first_run_offers_the_tour(page: Page) -> None:
    """O1, O4: without sessions, the home page offers the tour and a new session."""
    await page.goto("/")
    main = page.get_by_role("main")
    await expect(main.get_by_role("heading", name="Welcome to Bough")).to_be_visible()
    await expect(main.get_by_role("link", name="Take the tour")).to_have_attribute("href", "/welcome")
    await main.get_by_role("link", name="New session").click()
    await expect(page.get_by_role("heading", level=1, name="New session")).to_be_visible()


async def test_the_tab_title_counts_approvals_on_every_view(site: Site, page: Page) -> None:
    """O4: a new approval is counted in the tab title of every view, before the view's own title."""
    session = await site.session(title="Elsewhere", permissionMode="default")
    await page.goto("/board")
    await expect(page).to_have_title("Board · Bough")
    await site.client.prompt(session["id"], "[[run true]]")
    await expect(page).to_have_title("(1) Board · Bough")
    approval = await site.client.approval(session["id"])
    await site.client.post(f"/api/approvals/{approval['id']}", {"decision": "allow"})
    await expect(page).to_have_title("Board · Bough")
