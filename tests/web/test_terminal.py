"""Y1, Y2: terminals on the page: opened from a card and a session, kept across reloads, ended; links to an editor."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from playwright.async_api import Locator, Page, expect

from tests.web.conftest import Visit
from tests.web.helpers.site import PATIENCE, Complaints, Site, axe

SHELL = {"SHELL": "/bin/sh", "PS1": "$ "}
# Asks for the terminal's attributes and the cursor's place, which xterm.js answers by typing.
QUERIES = r"printf '\033[c\033[6n\033[>q'; cat -v"


def screen(page: Page) -> Locator:
    return page.locator(".xterm-rows")


async def type_in(page: Page, text: str) -> None:
    await page.get_by_role("textbox", name="Terminal input").focus()
    await page.keyboard.type(text)


@pytest.mark.private_server(**SHELL)
async def test_a_terminal_from_end_to_end(site: Site, page: Page, tmp_path: Path) -> None:
    """Y1, Y2: A person opens a terminal in a worktree, works in it in color, reloads, meets it at the session, and ends
    it."""
    worktree = await site.worktree("feature")
    await page.goto("/board")
    await page.get_by_role("button", name="Actions for repo · feature").click()
    await page.get_by_role("menuitem", name="Terminal").click()
    drawer = page.get_by_role("region", name="Terminal in repo · feature")
    await drawer.get_by_role("button", name="Open terminal").click()
    await expect(screen(page)).to_contain_text("$")
    await type_in(page, "name=kept; printf '\\033[31mred\\033[0m \\033[1mbold\\033[0m\\n'; pwd\n")
    await expect(screen(page)).to_contain_text(worktree["path"][-20:])
    assert await screen(page).get_by_text("red", exact=True).evaluate("node => getComputedStyle(node).color") not in (
        await screen(page).evaluate("node => getComputedStyle(node).color"),
        "",
    )
    # The styles that xterm.js makes apply, though the page's policy forbids style elements.
    assert await screen(page).evaluate("node => getComputedStyle(node).whiteSpace") == "pre"
    assert await page.locator("style").count() == 0
    # Single keys that are shortcuts elsewhere are typed.
    await type_in(page, "echo cgb\n")
    await expect(screen(page)).to_contain_text("cgb")
    assert await axe(page) == []
    await page.screenshot(path=os.environ.get("BOUGH_SHOTS", str(tmp_path)) + "/terminal.png")
    await page.reload()
    await expect(screen(page)).to_contain_text("bold")
    await type_in(page, "echo it is $name\n")
    await expect(screen(page)).to_contain_text("it is kept")

    session = await site.session(worktreeId=worktree["id"], title="Beside")
    await page.goto(f"/session/{session['id']}")
    await page.get_by_role("button", name="Hide terminal").click()
    await expect(screen(page)).to_have_count(0)
    await page.get_by_role("button", name="More actions").click()
    await page.get_by_role("menuitem", name="Terminal", exact=True).click()
    await expect(screen(page)).to_contain_text("it is kept")
    await page.get_by_role("button", name="End this terminal").click()
    await expect(page.get_by_role("button", name="Open terminal")).to_be_visible()
    assert (await site.client.get("/api/terminals"))["terminals"] == []


@pytest.mark.private_server(**SHELL)
async def test_a_replayed_query_is_not_answered_again(site: Site, page: Page) -> None:
    """Y1: What a program asks a terminal is answered once, and not typed into the shell again after a reload."""
    worktree = await site.worktree("feature")
    terminal = await site.client.post("/api/terminals", {"worktreeId": worktree["id"]})
    await page.goto("/board")
    await page.get_by_role("button", name="Actions for repo · feature").click()
    await page.get_by_role("menuitem", name="Terminal").click()
    await expect(screen(page)).to_contain_text("$")
    await type_in(page, QUERIES + "\n")
    answer = "^[[?1;2c"
    await expect(screen(page)).to_contain_text(answer)
    for _ in range(2):
        await page.reload()
        await expect(screen(page)).to_contain_text(answer)
    await type_in(page, "end\n")
    await expect(screen(page)).to_contain_text("end")
    text = "".join(await screen(page).all_inner_texts())
    # As it was typed (echoed by the terminal) and as `cat` printed it.
    assert text.count("?1;2c") <= 2, text
    assert terminal["id"] == (await site.client.get("/api/terminals"))["terminals"][0]["id"]


@pytest.mark.private_server(**SHELL)
async def test_it_comes_back_with_the_server(site: Site, page: Page, complaints: Complaints) -> None:
    """Y1: The page says when the server is away, and shows the same terminal when it is back."""
    # While no server runs, and until the page has its key again.
    complaints.forgive("ERR_CONNECTION_REFUSED")
    complaints.forgive("WebSocket")
    worktree = await site.worktree("feature")
    await site.client.post("/api/terminals", {"worktreeId": worktree["id"]})
    await page.goto("/board")
    await page.get_by_role("button", name="Actions for repo · feature").click()
    await page.get_by_role("menuitem", name="Terminal").click()
    await type_in(page, "echo be''fore\n")
    await expect(screen(page)).to_contain_text("before")
    await site.server.stop()
    await expect(page.get_by_text("Not connected. Trying again…")).to_be_visible()
    await site.server.start()
    await expect(page.get_by_text("Not connected. Trying again…")).to_have_count(0, timeout=4 * PATIENCE)
    await expect(screen(page)).to_contain_text("before")
    await type_in(page, "echo af''ter\n")
    await expect(screen(page)).to_contain_text("after")


async def test_who_may_not_use_terminals_sees_none(site: Site, visit: Visit) -> None:
    """Y2: An operator's page offers no terminal, but the folder's path and an editor."""
    worktree = await site.worktree("feature")
    session = await site.session(worktreeId=worktree["id"])
    await site.client.post("/api/users", {"name": "otto", "role": "operator"})
    token = (await site.client.post("/api/tokens", {"user": "otto"}))["token"]
    async with visit(logged_in=False) as context:
        page = await context.new_page()
        await page.goto(f"/?token={token}")
        await expect(page.get_by_role("link", name="New session").first).to_be_visible()
        await page.goto(f"/session/{session['id']}")
        await page.get_by_role("button", name="More actions").click()
        await expect(page.get_by_role("menuitem", name="Copy path")).to_be_visible()
        await expect(page.get_by_role("menuitem", name="Open in VS Code")).to_be_visible()
        await expect(page.get_by_role("menuitem", name="Terminal", exact=True)).to_have_count(0)
    await site.client.call("DELETE", "/api/users/otto")
