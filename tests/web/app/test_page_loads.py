"""O4, L1: the page loads in a logged-in browser, and refuses others."""

from __future__ import annotations

import re

from playwright.async_api import Page, expect

from bough.api.page.routes import BUILT
from tests.web.conftest import Visit
from tests.web.helpers.site import Complaints, Site, axe


async def test_the_printed_link_logs_in(site: Site, visit: Visit) -> None:
    """O4, L1: opening the printed link shows the page, and the token disappears from the address."""
    async with visit(logged_in=False) as context:
        page = await context.new_page()
        await page.goto(site.link)
        await expect(page.locator("#root > *").first).to_be_attached()
        assert "token" not in page.url
        assert page.url == f"{site.url}/"
        await expect(page.get_by_role("alert")).to_have_count(0)
        await page.reload()
        await expect(page.get_by_role("link", name="Settings").first).to_be_visible()


def test_the_page_brings_the_licenses_of_its_parts() -> None:
    """O4: The built page contains the license of every package that its bundles hold."""
    notices = (BUILT / "third-party-notices.md").read_text("utf-8")
    packages = set(re.findall(r"^## (\S+) - \S+ \(", notices, re.MULTILINE))
    assert packages >= {"react", "react-dom", "@tanstack/react-query", "lucide-react", "marked", "wouter"}
    assert notices.count("Permission is hereby granted") >= 20


async def test_a_browser_can_be_signed_out(site: Site, page: Page, visit: Visit, complaints: Complaints) -> None:
    """L1: the settings list the signed-in browsers; one that is revoked is locked at once and told what to do."""
    complaints.forgive("401")
    async with visit() as other_context:
        other = await other_context.new_page()
        await other.goto("/settings/page")
        await expect(other.get_by_role("heading", name="Appearance")).to_be_visible()
        await page.goto("/settings/access")
        await expect(page.get_by_text("This browser")).to_have_count(1)
        await expect(page.get_by_role("button", name="Revoke this browser")).to_be_visible()
        buttons = page.get_by_role("button", name="Revoke")
        count = await buttons.count()
        # The list is in the order of signing in.
        await buttons.last.click()
        await expect(buttons).to_have_count(count - 1)
        await expect(other.get_by_role("alert")).to_contain_text("bough open")
        await other.reload()
        await expect(other.get_by_role("heading")).to_have_text("This Bough is locked")


async def test_a_page_without_its_key_says_what_to_do(site: Site, visit: Visit, complaints: Complaints) -> None:
    """L1: a page that was open during the upgrade to page keys has only a cookie; it asks for the link."""
    complaints.forgive("401")
    async with visit() as context:
        page = await context.new_page()
        await page.goto("/")
        await page.evaluate("localStorage.removeItem('bough.key')")
        await page.reload()
        await expect(page.get_by_role("alert").filter(has_text="bough open").first).to_be_visible()
        await page.goto(site.link)
        await expect(page.get_by_role("alert")).to_have_count(0)


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
