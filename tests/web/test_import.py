"""H1, H3: Conversations are imported on the page, and sessions are continued in a terminal."""

from __future__ import annotations

from playwright.async_api import Page, expect

from tests.support.outside import demo_chat
from tests.web.helpers.site import Site


async def test_a_conversation_is_imported(site: Site, page: Page) -> None:
    """H1: The page lists conversations from outside, imports one and shows its transcript; afterwards the list opens
    its session."""
    repo = site.repo
    await demo_chat(site.server.data / "demo", repo, "[[say said outside]]")
    await page.goto("/import")
    row = page.get_by_role("listitem").filter(has_text=str(repo))
    await row.get_by_role("button", name="Import").click()
    await expect(page.get_by_text("said outside", exact=True).first).to_be_visible()
    await page.goto("/import")
    await page.get_by_role("listitem").filter(has_text=str(repo)).get_by_role("link", name="Open").click()
    await expect(page.get_by_text("said outside", exact=True).first).to_be_visible()


async def test_a_session_opens_in_a_terminal(site: Site, page: Page) -> None:
    """H3: The menu of an idle session shows the command of the agent's own program, with a button that copies it."""
    session = await site.session()
    await site.client.ask(session["id"], "[[say inside]]")
    await page.goto(f"/session/{session['id']}")
    await page.get_by_role("button", name="More actions").click()
    await page.get_by_role("menuitem", name="Open in terminal").click()
    dialog = page.get_by_role("dialog", name="Open in terminal")
    await expect(dialog.get_by_text("--resume")).to_be_visible()
    await expect(dialog.get_by_role("button", name="Copy")).to_be_visible()
