"""O4, L1: the page loads in a logged-in browser, and refuses others."""

from __future__ import annotations

from playwright.async_api import Page, expect

from .conftest import Visit
from .site import Complaints, Site, axe


async def test_the_printed_link_logs_in(site: Site, visit: Visit) -> None:
    """O4, L1: opening the printed link shows the page, and the token disappears from the address."""
    async with visit(logged_in=False) as context:
        page = await context.new_page()
        await page.goto(site.link)
        await expect(page.locator("#root > *").first).to_be_attached()
        assert "token" not in page.url
        assert page.url.startswith(f"{site.url}/")


async def test_a_session_address_can_be_reloaded(site: Site, page: Page) -> None:
    """O4: the address of a session can be opened directly and reloaded."""
    session = await site.session(title="Smoke")
    await page.goto(f"/session/{session['id']}")
    await expect(page.get_by_text("Smoke").first).to_be_visible()
    await page.reload()
    await expect(page.get_by_text("Smoke").first).to_be_visible()


async def test_injected_scripts_do_not_run(page: Page, complaints: Complaints) -> None:
    """L1: the content security policy keeps an injected script from running."""
    complaints.forgive("Content Security Policy")
    await page.goto("/")
    added = "() => { const s = document.createElement('script'); s.text = 'window.ran = 1'; document.body.append(s) }"
    await page.evaluate(added)
    assert await page.evaluate("() => window.ran") is None
    assert complaints.heard, "the browser says what it refused"


async def test_page_errors_fail_the_test(page: Page, complaints: Complaints) -> None:
    """O4: an uncaught error or one on the console fails the test whose page reported it."""
    await page.goto("/")
    async with page.expect_event("pageerror"), page.expect_console_message():
        await page.evaluate("() => { console.error('told'); setTimeout(() => { throw new Error('not caught') }) }")
    assert len(complaints.left()) == 2
    complaints.forgive("told")
    complaints.forgive("not caught")


async def test_strangers_learn_how_to_log_in(site: Site, visit: Visit, complaints: Complaints) -> None:
    """L1: without the cookie, an accessible page says where to find the link."""
    complaints.forgive("401 (Unauthorized)")
    async with visit(logged_in=False) as context:
        page = await context.new_page()
        answer = await page.goto("/session/00000000")
        assert answer is not None
        assert answer.status == 401
        await expect(page.get_by_role("heading")).to_have_text("This Bough is locked")
        await expect(page.get_by_text("bough open --print")).to_be_visible()
        assert await axe(page) == []


async def test_links_from_other_sites_open_the_page(site: Site, page: Page) -> None:
    """L1: browsers withhold the cookie when a link on another site is followed; the page opens all the same."""
    await page.goto("about:blank")
    await page.set_content(f'<a href="{site.url}/home">there</a>')
    await page.get_by_role("link").click()
    await expect(page.locator("#root > *").first).to_be_attached()
