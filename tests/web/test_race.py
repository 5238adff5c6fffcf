"""B6, O4: a race on the page, from its start to keeping one racer."""

from __future__ import annotations

import asyncio
from pathlib import Path

from playwright.async_api import Locator, Page, expect

from tests.support.client import Json
from tests.support.repos import git
from tests.web.helpers.site import Site, choose, transcript


def racer(page: Page, number: int) -> Locator:
    """Returns the card of a racer."""
    return page.get_by_role("main").get_by_role("article").filter(has=page.locator(f"#racer-{number}"))


async def start_race(site: Site, page: Page, prompt: str) -> tuple[Json, Json]:
    """Starts a race of two racers from a session's menu; returns the session and the race."""
    session = await site.session(title="Origin", permissionMode="bypassPermissions")
    await site.client.ask(session["id"], "Begin.")
    await page.goto(f"/session/{session['id']}")
    await choose(page, "Race")
    dialog = page.get_by_role("dialog", name="Start a race")
    await dialog.get_by_label("Prompt", exact=True).fill(prompt)
    await expect(dialog.get_by_label("Agent of racer 1")).to_have_value("demo")
    await dialog.get_by_label("Model of racer 1").fill("demo-small")
    await dialog.get_by_label("Model of racer 2").fill("demo-large")
    await dialog.get_by_role("button", name="Start").click()
    await page.wait_for_url("**/race/*")
    return session, await site.client.get(f"/api/races/{page.url.rsplit('/', 1)[1]}")


async def test_one_racer_is_kept(site: Site, page: Page) -> None:
    """B6, O4: two racers get one prompt in their own worktrees, and their diffs are shown side by side; the kept
    racer's files are merged where the race began, and the other racer is archived and its worktree removed."""
    # Each racer writes the name of its own folder.
    session, race = await start_race(site, page, "[[run basename $PWD > who.txt]][[say I have raced.]]")
    for number in (1, 2):
        await expect(racer(page, number).get_by_text("I have raced.", exact=True)).to_be_visible()
        await expect(racer(page, number).get_by_text("1 file", exact=False)).to_be_visible()
    await expect(page.get_by_text("All finished", exact=False)).to_be_visible()
    await expect(racer(page, 1).get_by_text("demo-small")).to_be_visible()
    await expect(racer(page, 2).get_by_text("demo-large")).to_be_visible()
    changes = page.get_by_role("region", name="Changes")
    for number in (1, 2):
        button = racer(page, number).get_by_role("button", name="Show changes")
        if await button.count():
            await button.click()
    folders = [
        Path((await site.client.get(f"/api/sessions/{status['sessionId']}"))["cwd"]) for status in race["contenders"]
    ]
    diff = changes.get_by_role("region", name="who.txt")
    for folder in folders:
        await expect(diff.get_by_text(folder.name, exact=False).first).to_be_visible()
    await racer(page, 2).get_by_role("button", name="Keep this one").click()
    dialog = page.get_by_role("dialog", name="Keep racer 2, demo?")
    await expect(dialog.get_by_text("1 session is archived", exact=False)).to_be_visible()
    await dialog.get_by_role("button", name="Keep this one").click()
    await expect(dialog).to_be_hidden()
    await expect(page.get_by_text("Decided: kept racer 2", exact=False)).to_be_visible()
    await expect(racer(page, 2).get_by_text("Kept", exact=True)).to_be_visible()
    await expect(racer(page, 1).get_by_text("Archived", exact=True)).to_be_visible()
    await expect(page.get_by_role("status", name="Result")).to_contain_text("Merged")
    assert (site.repo / "who.txt").read_text("utf-8").strip() == folders[1].name
    assert git(site.repo, "status", "--porcelain", "--untracked-files=no") == ""
    assert not await asyncio.to_thread(folders[0].exists)
    other = await site.client.get(f"/api/sessions/{race['contenders'][0]['sessionId']}")
    assert other["archived"]
    assert session["id"] == race["sessionId"]
    # The decision was made by looking at the winner, so nothing is left to review.
    await page.goto("/")
    await expect(page.get_by_role("heading", name="Needs you")).to_be_visible()
    needs = (await site.client.get("/api/home"))["needs"]
    winner = race["contenders"][1]["sessionId"]
    assert winner not in [waiting["id"] for waiting in needs["review"]]
    # Where the race began, a link leads to it.
    await page.goto(f"/session/{session['id']}")
    notice = transcript(page).get_by_role("article", name="Notice").filter(has_text="Started a race of 2")
    await expect(notice).not_to_contain_text("bough race show")
    # The winner is linked by its name.
    decision = transcript(page).get_by_role("article", name="Notice").filter(has_text="was kept, merged into main.")
    await expect(decision).not_to_contain_text(winner[-8:])
    await expect(decision.get_by_role("link").first).to_have_attribute("href", f"/session/{winner}")
    await expect(decision.get_by_role("link", name="View race")).to_be_visible()
    await notice.get_by_role("link", name="View race").click()
    await expect(page).to_have_url(f"{site.url}/race/{race['raceId']}")


async def test_a_racers_files_are_copied_without_a_commit(site: Site, page: Page) -> None:
    """B6: the kept racer's files can also be copied as uncommitted changes."""
    _, race = await start_race(site, page, "[[write made.txt by a racer]]")
    before = git(site.repo, "rev-parse", "HEAD")
    keep = racer(page, 1).get_by_role("button", name="Keep this one")
    await expect(page.get_by_text("All finished", exact=False)).to_be_visible()
    await keep.click()
    dialog = page.get_by_role("dialog", name="Keep racer 1, demo?")
    await dialog.get_by_role("radio", name="Copy its files").check()
    await dialog.get_by_role("button", name="Keep this one").click()
    await expect(page.get_by_role("status", name="Result")).to_contain_text("not committed")
    assert (site.repo / "made.txt").read_text("utf-8").strip() == "by a racer"
    assert git(site.repo, "rev-parse", "HEAD") == before
    decided = await site.client.get(f"/api/races/{race['raceId']}")
    assert decided["keptSessionId"] == race["contenders"][0]["sessionId"]


async def test_the_tree_leads_to_its_race(site: Site, page: Page) -> None:
    """B6, O4: racers are marked in their tree, which links to the race."""
    session, race = await start_race(site, page, "[[say Ready.]]")
    await page.goto(f"/tree/{session['id']}")
    canvas = page.get_by_test_id("tree-canvas")
    await expect(canvas.get_by_text("Racer 1")).to_be_visible()
    await expect(canvas.get_by_text("Racer 2")).to_be_visible()
    await page.get_by_role("link", name="Race", exact=True).click()
    await expect(page).to_have_url(f"{site.url}/race/{race['raceId']}")
