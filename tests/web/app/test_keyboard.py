"""O4: keyboard shortcuts, the command palette, and settings that persist."""

from __future__ import annotations

import asyncio
import re

from playwright.async_api import Page, expect

from tests.web.helpers.site import Site, axe


async def test_the_palette_finds_actions_sessions_and_words(site: Site, page: Page) -> None:
    """O4: one key opens the command palette, which leads to views, to a session by its title, and to a search."""
    session = await site.session(title="Needle")
    await page.goto("/")
    await page.keyboard.press("Control+k")
    palette = page.get_by_role("dialog", name="Command palette")
    # It does not offer itself.
    await expect(palette.get_by_role("option").first).to_be_visible()
    await expect(palette.get_by_role("option", name="Command palette")).to_have_count(0)
    await palette.get_by_role("combobox").fill("needl")
    await expect(palette.get_by_role("option", name="Needle").first).to_be_visible()
    assert await axe(page) == []
    await page.keyboard.press("Enter")
    await expect(page).to_have_url(f"{site.url}/session/{session['id']}")
    await page.keyboard.press("Control+k")
    await palette.get_by_role("combobox").fill("zebra crossing")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("searchbox", name="Search transcripts")).to_have_value("zebra crossing")


async def test_shortcuts_open_views_and_help_lists_them(page: Page) -> None:
    """O4: `g b` opens the board, `?` lists the shortcuts, Escape closes the list."""
    await page.goto("/settings")
    await page.get_by_role("heading", name="Appearance", level=1).wait_for()
    await page.keyboard.press("g")
    await page.keyboard.press("b")
    await expect(page).to_have_url(re.compile("/board"))
    await page.keyboard.press("?")
    await expect(page.get_by_role("dialog", name="Keyboard shortcuts").get_by_text("Go to Home")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("dialog")).to_be_hidden()


async def test_only_controls_show_a_focus_ring(page: Page) -> None:
    """O4: a link that is reached by keyboard shows a ring; a view or a dialog that code focuses does not."""
    ring = "() => getComputedStyle(document.activeElement).outlineStyle"
    await page.goto("/board")
    await page.get_by_role("heading", name="Board").wait_for()
    await page.keyboard.press("Tab")
    assert await page.evaluate(ring) == "solid"
    # The first link skips the navigation.
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("main")).to_be_focused()
    assert await page.evaluate(ring) == "none"
    await page.keyboard.press("?")
    await expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_focused()
    assert await page.evaluate(ring) == "none"


async def test_the_theme_persists(page: Page) -> None:
    """O4: the chosen theme applies from the first paint of the next load."""
    await page.goto("/settings")
    await page.get_by_label("Theme").select_option("dark")
    await expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    assert await axe(page) == []
    await page.reload()
    await expect(page.locator("html")).to_have_attribute("data-theme", "dark")


async def test_rules_and_mcp_servers_are_edited(site: Site, page: Page) -> None:
    """P3, R1: a rule and an MCP server are added and changed in the settings; secret values are never shown again."""
    await page.goto("/settings/policy")
    await page.get_by_role("button", name="Add rule").click()
    await page.get_by_label("Decision").select_option("deny")
    await page.get_by_label("Command").fill("git push*")
    await page.get_by_role("button", name="Add", exact=True).click()
    await expect(page.get_by_text("command git push*")).to_be_visible()
    [rule] = (await site.client.get("/api/policy/rules"))["rules"]
    assert (rule["effect"], rule["command"]) == ("deny", "git push*")
    await page.goto("/settings/mcp-servers")
    await page.get_by_role("button", name="Add server").click()
    await page.get_by_label("Name").fill("files")
    await page.get_by_label("Command").fill("/bin/true")
    await page.get_by_label("Environment").fill("TOKEN=very-secret")
    await page.get_by_role("button", name="Add", exact=True).click()
    await expect(page.get_by_role("heading", name="files")).to_be_visible()
    await page.get_by_role("button", name="Edit").click()
    await expect(page.get_by_label("Environment")).to_have_value("TOKEN=***")
    assert await axe(page) == []


async def test_an_approval_sends_a_notification(site: Site, page: Page) -> None:
    """O4: with notifications on, an approval notifies a person whose page is in the background; a click opens the
    session."""
    shown: asyncio.Queue[list[str]] = asyncio.Queue()

    def record(title: str, body: str) -> None:
        shown.put_nowait([title, body])

    await page.expose_function("recordNotification", record)  # pyright: ignore[reportUnknownMemberType]
    # The browser's own pop-up cannot be seen from here: what it is asked to show can.
    await page.add_init_script(
        """window.Notification = class {
          static permission = "granted";
          static requestPermission = async () => "granted";
          constructor(title, options) { window.shown = this; window.recordNotification(title, options.body); }
          close() {} };
        document.hasFocus = () => false;"""
    )
    await page.goto("/settings")
    await page.get_by_role("combobox", name="Notifications").select_option("needed")
    session = await site.session(title="Asks", permissionMode="default")
    await site.client.prompt(session["id"], "[[run true]]")
    async with asyncio.timeout(20):
        assert await shown.get() == ["Approval needed", "true"]
    await page.evaluate("() => window.shown.onclick()")
    await expect(page).to_have_url(f"{site.url}/session/{session['id']}")
