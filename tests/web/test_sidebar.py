"""O4: the sidebar lists live sessions by repository, with pins, on every view; on a phone it is a drawer."""

from __future__ import annotations

from typing import Any

from playwright.async_api import Locator, Page, expect

from tests.web.conftest import Visit
from tests.web.helpers.site import PHONE, Site, axe

WIDE: dict[str, Any] = {"viewport": {"width": 1440, "height": 900}}
ON_A_PHONE: dict[str, Any] = {"viewport": PHONE, "has_touch": True, "is_mobile": True}


def sidebar(page: Page) -> Locator:
    return page.get_by_role("navigation", name="Sessions")


async def test_live_sessions_are_in_the_sidebar(site: Site, visit: Visit) -> None:
    """O4: a wide window shows live sessions by repository; work that ended is unread until it is opened, and a group
    folds."""
    session = await site.session(title="Paint the walls")
    async with visit(**WIDE) as context:
        page = await context.new_page()
        await page.goto("/board")
        group = sidebar(page).get_by_role("region", name="repo")
        link = group.get_by_role("link", name="Paint the walls")
        await expect(link).to_be_visible()
        await site.client.ask(session["id"], "[[say The walls are painted.]]")
        await expect(link.get_by_text("unread")).to_be_attached()
        assert await axe(page) == []
        await link.click()
        await expect(page).to_have_url(f"{site.url}/session/{session['id']}")
        await expect(link).to_have_attribute("aria-current", "page")
        await expect(link.get_by_text("unread")).to_be_hidden()
        await group.get_by_role("button", name="repo").click()
        await expect(link).to_be_hidden()
        await page.reload()
        await expect(group.get_by_role("button", name="repo")).to_be_visible()
        await expect(link).to_be_hidden()


async def test_a_session_is_pinned(site: Site, visit: Visit) -> None:
    """O4: a pinned session is at the top, after a reload and in another browser too, until it is unpinned."""
    await site.session(title="Important")
    async with visit(**WIDE) as context:
        page = await context.new_page()
        await page.goto("/board")
        pinned = sidebar(page).get_by_role("region", name="Pinned")
        await sidebar(page).get_by_role("link", name="Important").hover()
        await sidebar(page).get_by_role("button", name="Pin Important").click()
        await expect(pinned.get_by_role("link", name="Important")).to_be_visible()
        async with visit(**ON_A_PHONE) as phone:
            other = await phone.new_page()
            await other.goto("/board")
            await other.get_by_role("button", name="Sessions").tap()
            drawer = other.get_by_role("dialog", name="Sessions")
            await drawer.get_by_role("button", name="Unpin Important").tap()
            await expect(drawer.get_by_role("region", name="Pinned")).to_be_hidden()
            await drawer.get_by_role("link", name="Important").tap()
            await expect(drawer).to_be_hidden()
            await expect(other.get_by_role("heading", name="Important").first).to_be_visible()
        await page.reload()
        await expect(sidebar(page).get_by_role("link", name="Important")).to_be_visible()
        await expect(pinned).to_be_hidden()


async def test_the_sidebar_opens_and_closes(site: Site, page: Page) -> None:
    """O4: a narrow window shows the list on request, and keeps it so."""
    await site.session(title="Somewhere")
    await page.goto("/board")
    link = sidebar(page).get_by_role("link", name="Somewhere")
    await expect(sidebar(page)).to_be_visible()
    await expect(link).to_be_hidden()
    await page.keyboard.press("Control+b")
    await expect(link).to_be_visible()
    await page.reload()
    await expect(link).to_be_visible()
    await sidebar(page).get_by_role("button", name="Sessions").click()
    await expect(link).to_be_hidden()


async def test_usage_is_charted(site: Site, page: Page) -> None:
    """O4: usage is shown per day, agent, repository and tree; the numbers are in a table behind the chart."""
    session = await site.session(title="Costly work")
    await site.client.ask(session["id"], "one two three")
    await page.goto("/")
    usage = page.get_by_role("region", name="Usage")
    table = usage.get_by_role("table", name="Usage by day")
    await expect(table.get_by_role("row")).to_have_count(15)
    await usage.get_by_role("combobox", name="Group usage by").select_option("Trees")
    tree = usage.get_by_role("table", name="Usage by tree")
    await expect(tree.get_by_role("row", name="Costly work").get_by_role("cell").first).to_have_text("1")
    await usage.get_by_role("button", name="Show as table").click()
    await tree.get_by_role("link", name="Costly work").click()
    await expect(page).to_have_url(f"{site.url}/tree/{session['id']}")
