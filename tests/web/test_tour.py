"""O1, O4: the first run: the tour, which plays a small tree live, and connecting a real agent."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from tests.support.eventually import eventually
from tests.web.helpers.site import Complaints, Site, axe


@pytest.mark.private_server
async def test_the_tour_plays_a_whole_tree(site: Site, page: Page, complaints: Complaints) -> None:
    """O1, O4: the tour plays a session, an approval, a fork, a child with its report and a side question in a scratch
    repository, in plain sentences. In the end nothing is unread, and it can be removed with everything in it."""
    # What the page shows is taken away under it in the end.
    complaints.forgive("404 (Not Found)")
    await page.goto("/welcome")
    await expect(page.get_by_role("heading", name="Connect a real agent")).to_be_visible()
    await expect(page.get_by_text("bough agents install claude-code")).to_be_visible()
    await page.get_by_role("button", name="Start tour").click()
    log = page.get_by_role("log")
    await expect(log.get_by_text("I wrote HELLO.md", exact=False)).to_be_visible()
    await page.get_by_role("button", name="Ask it to run the tests").click()
    await expect(page.get_by_label("Needs your approval")).to_be_visible()
    await expect(page.get_by_label("In progress")).to_be_hidden()
    await page.get_by_role("button", name="Allow", exact=True).click()
    await expect(log.get_by_text("The tests ran, because you allowed it.")).to_be_visible()
    await page.get_by_role("button", name="Fork it").click()
    await expect(page.get_by_text("What was asked so far").first).to_be_visible()
    # The fork's answer stays until the next step begins.
    await expect(page.get_by_role("button", name="Spawn a child")).to_be_visible()
    await expect(log.get_by_text("You have asked me:", exact=False)).to_be_visible()
    await page.get_by_role("button", name="Spawn a child").click()
    # A reload in the middle continues where the tour stood.
    await expect(page.get_by_text("Write the notes").first).to_be_visible()
    await page.reload()
    await expect(log.get_by_text("Thank you, I have read the report.")).to_be_visible()
    await page.get_by_role("button", name="Keep it busy and ask").click()
    await expect(page.get_by_role("heading", name="Tour complete")).to_be_visible(timeout=45_000)
    await expect(log.get_by_text("A side answer").first).to_be_visible()
    assert "[[" not in await page.inner_text("body")
    assert await axe(page) == []

    async def needs_nobody() -> bool:
        home = await site.client.get("/api/home")
        return not any(home["needs"].values()) and not any(tree["unread"] for tree in home["trees"])

    await eventually(needs_nobody)
    tour = next(repo for repo in (await site.client.get("/api/repos"))["repos"] if repo["name"] == "tour")
    assert await asyncio.to_thread((Path(tour["path"]) / "NOTES.md").exists)
    kinds = {session["kind"] for session in (await site.client.get("/api/sessions"))["sessions"]}
    assert kinds >= {"root", "fork", "subsession"}
    await page.get_by_role("button", name="Remove tour").click()
    await expect(page.get_by_role("button", name="Start tour")).to_be_visible()
    assert not await asyncio.to_thread(Path(tour["path"]).exists)
    assert (await site.client.get("/api/sessions"))["total"] == 0


@pytest.mark.private_server
async def test_the_home_page_offers_the_tour(page: Page) -> None:
    """O4: without sessions, the home page leads to the tour."""
    await page.goto("/")
    await page.get_by_role("main").get_by_role("link", name="tour", exact=False).first.click()
    await expect(page.get_by_role("heading", name="Welcome to Bough")).to_be_visible()
