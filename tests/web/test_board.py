"""O4: the board: worktrees and repositories as cards with their session trees, which people arrange."""

from __future__ import annotations

import re
from typing import cast

from playwright.async_api import Locator, Page, Response, expect

from tests.web.conftest import Visit
from tests.web.helpers.site import PHONE, Site, axe, card, transcript

OWN = "repo · main folder"


def session_line(page: Page, title: str) -> Locator:
    """Returns the line of a session, whichever card it is on."""
    return page.get_by_role("main").get_by_role("listitem").get_by_role("link").filter(has_text=title)


def handle(page: Page, name: str) -> Locator:
    """Returns the handle that moves a card by keyboard."""
    return card(page, name).get_by_role("button", name=f"Move {name} with arrow keys")


async def position(page: Page, name: str) -> tuple[float, float]:
    """Returns a card's position on the board, whichever part of the board is visible."""
    style = await card(page, name).evaluate("element => element.closest('.react-flow__node').style.transform")
    x, y = re.findall(r"-?[\d.]+", cast("str", style))[:2]
    return float(x), float(y)


def is_patch_of(response: Response, path: str) -> bool:
    return path in response.url and response.request.method == "PATCH"


async def zoom_level(page: Page) -> float:
    """Returns the canvas's zoom factor."""
    style = await page.locator(".react-flow__viewport").evaluate("element => element.style.transform")
    return float(re.findall(r"scale\(([\d.]+)\)", cast("str", style))[0])


async def expect_position(page: Page, name: str, at: tuple[float, float]) -> None:
    """Waits until a card is at a position."""
    x, y = at
    node = page.locator(".react-flow__node").filter(has=card(page, name))
    await expect(node).to_have_attribute("style", re.compile(rf"translate\({x:g}px, ?{y:g}px\)"))


async def test_cards_show_their_sessions(site: Site, page: Page) -> None:
    """O4, W1: the repository's own folder and each worktree have a card with their session trees; a line opens its
    session; new worktrees and sessions appear by themselves."""
    await site.worktree("feature/login")
    root = await site.session(title="In the folder")
    await site.client.ask(root["id"], "Begin.")
    await site.client.post(f"/api/sessions/{root['id']}/fork", {"title": "Another way"})
    await page.goto("/board")
    own = card(page, OWN)
    await expect(own.get_by_role("link").filter(has_text="In the folder")).to_be_visible()
    fork = own.get_by_role("link").filter(has_text="Another way")
    await expect(fork.get_by_text("Fork", exact=True)).to_be_attached()
    login = card(page, "repo · feature/login")
    await expect(login.get_by_text("No sessions")).to_be_visible()
    await expect(login.get_by_title(str(site.repo / ".worktrees/feature/login"))).to_contain_text("feature/login")
    worktree = await site.worktree("feature/later")
    await expect(card(page, "repo · feature/later")).to_be_visible()
    await site.session(title="Came later", worktreeId=worktree["id"])
    await expect(card(page, "repo · feature/later").get_by_role("link")).to_contain_text("Came later")
    await own.get_by_role("link").filter(has_text="In the folder").click()
    await expect(page).to_have_url(f"{site.url}/session/{root['id']}")
    await expect(transcript(page).get_by_text("This is user turn 1.", exact=False)).to_be_visible()


async def test_session_lines_follow_the_work(site: Site, page: Page) -> None:
    """O4, Q1: a line shows its session's state, the number of queued prompts and an unread mark, live."""
    session = await site.session(title="Busy")
    await page.goto("/board")
    busy = session_line(page, "Busy")
    await expect(busy.get_by_text("Not started")).to_be_attached()
    await site.client.prompt(session["id"], "[[say One.]][[hang]]")
    await expect(busy.get_by_text("Working")).to_be_attached()
    await site.client.prompt(session["id"], "Two.")
    await site.client.prompt(session["id"], "Three.")
    await expect(busy.get_by_text("2 queued")).to_be_attached()
    await site.client.post(f"/api/sessions/{session['id']}/stop")
    await expect(busy.get_by_text("Paused")).to_be_attached()
    await site.client.post(f"/api/sessions/{session['id']}/resume")
    await expect(busy.get_by_text("Ready")).to_be_attached()
    await expect(busy.get_by_text("Unread")).to_be_attached()
    await expect(busy.get_by_text("queued")).to_have_count(0)
    await site.client.post(f"/api/sessions/{session['id']}/seen")
    await expect(busy.get_by_text("Unread")).to_have_count(0)


async def test_a_session_prompted_by_an_agent_is_marked(site: Site, page: Page) -> None:
    """O4, B3: a session that an agent created is marked and listed below its parent."""
    root = await site.session(title="Delegates", permissionMode="bypassPermissions")
    await site.client.ask(root["id"], '[[mcp agor_sessions_spawn {"prompt": "[[say Hello.]]", "title": "Helper"}]]')
    await page.goto("/board")
    child = session_line(page, "Helper")
    await expect(child.get_by_text("Prompted by an agent")).to_be_attached()
    await expect(child.get_by_text("Child", exact=True)).to_be_attached()
    titles = await card(page, OWN).get_by_role("link").all_inner_texts()
    assert [next(name for name in ("Delegates", "Helper") if name in text) for text in titles] == [
        "Delegates",
        "Helper",
    ]


async def test_a_card_stays_where_it_was_dragged(site: Site, page: Page, visit: Visit) -> None:
    """O4: a card dragged with the mouse moves in other browsers too, and stays there after a reload."""
    worktree = await site.worktree("feature/drag")
    name = "repo · feature/drag"
    await page.goto("/board")
    await expect(card(page, name)).to_be_visible()
    async with visit() as context:
        other = await context.new_page()
        await other.goto("/board")
        await expect(card(other, name)).to_be_visible()
        before = await position(page, name)
        head = card(page, name).get_by_role("heading")
        box = await head.bounding_box()
        assert box is not None
        scale = await zoom_level(page)
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        async with page.expect_response(
            lambda response: is_patch_of(response, f"/api/worktrees/{worktree['id']}")
        ) as patched:
            await page.mouse.move(x, y)
            await page.mouse.down()
            await page.mouse.move(x + 100 * scale, y + 60 * scale, steps=5)
            await page.mouse.move(x + 200 * scale, y + 100 * scale, steps=5)
            await page.mouse.up()
        assert (await patched.value).status == 200
        after = await position(page, name)
        assert after[0] - before[0] > 150
        assert after[1] - before[1] > 60
        stored = await site.client.get(f"/api/worktrees/{worktree['id']}")
        assert (stored["x"], stored["y"]) == after
        await expect_position(other, name, after)
    await page.reload()
    await expect_position(page, name, after)


async def test_a_card_is_moved_by_keyboard(site: Site, page: Page) -> None:
    """O4: the arrow keys move a card by its handle, further with Shift; the new position is announced and kept."""
    await site.worktree("feature/keys")
    name = "repo · feature/keys"
    await page.goto("/board")
    await handle(page, name).focus()
    x, y = await position(page, name)
    async with page.expect_response(lambda response: is_patch_of(response, "/api/worktrees/")):
        await page.keyboard.press("ArrowRight")
        await page.keyboard.press("Shift+ArrowDown")
    moved = (x + 20, y + 100)
    await expect_position(page, name, moved)
    await expect(page.get_by_role("status").filter(has_text="moved to")).to_have_text(
        f"{name} moved to {moved[0]:g}, {moved[1]:g}"
    )
    await page.reload()
    await expect_position(page, name, moved)


async def test_tidy_and_undo(site: Site, page: Page) -> None:
    """O4: one button tidies the board, and this can be undone."""
    worktree = await site.worktree("feature/far")
    far = {"x": 2000, "y": 1500}
    await site.client.call("PATCH", f"/api/worktrees/{worktree['id']}", json=far)
    name = "repo · feature/far"
    await page.goto("/board")
    await page.get_by_role("button", name="Tidy").click()
    notice = page.get_by_role("region", name="Notifications")
    await expect(notice.get_by_text("Board tidied.")).to_be_visible()
    assert (await site.client.get(f"/api/worktrees/{worktree['id']}"))["x"] is None
    await notice.get_by_role("button", name="Undo").click()
    await expect_position(page, name, (2000, 1500))
    stored = await site.client.get(f"/api/worktrees/{worktree['id']}")
    assert {"x": stored["x"], "y": stored["y"]} == far


async def test_zoom(site: Site, page: Page) -> None:
    """O4: buttons zoom the canvas in and out and fit it to the window."""
    await site.worktree("feature/zoom")
    await page.goto("/board")
    await expect(card(page, "repo · feature/zoom")).to_be_visible()
    viewport = page.locator(".react-flow__viewport")
    full_size = re.compile(r"scale\(1\)")
    await expect(viewport).to_have_attribute("style", full_size)
    await page.get_by_role("button", name="Zoom out", exact=True).click()
    await expect(viewport).not_to_have_attribute("style", full_size)
    await page.get_by_role("button", name="Fit to window", exact=True).click()
    await expect(viewport).to_have_attribute("style", full_size)
    await page.get_by_role("button", name="Zoom in", exact=True).click()
    await expect(viewport).to_have_attribute("style", re.compile(r"scale\(1\.[1-9]"))
    await page.get_by_role("button", name="Fit to window", exact=True).click()
    for name in (OWN, "repo · feature/zoom"):
        await expect(card(page, name)).to_be_in_viewport(ratio=1)


async def test_a_phone_shows_lists(site: Site, visit: Visit) -> None:
    """O4: on a phone the board is nested lists with the same sessions, menus and marks."""
    await site.worktree("feature/phone")
    await site.session(title="Small screen")
    async with visit(viewport=PHONE, has_touch=True, is_mobile=True) as context:
        page = await context.new_page()
        await page.goto("/board")
        await expect(page.get_by_role("heading", level=2, name="repo")).to_be_visible()
        await expect(page.get_by_role("heading", level=3).filter(has_text="feature/phone")).to_be_visible()
        await expect(page.get_by_test_id("board-canvas")).to_be_hidden()
        await session_line(page, "Small screen").tap()
        await expect(page.get_by_role("heading", level=1, name="Small screen")).to_be_visible()
        await page.go_back()
        await page.get_by_role("button", name="Actions for repo · feature/phone").tap()
        await expect(page.get_by_role("menuitem", name="New session here")).to_be_visible()


async def test_the_list_view_is_remembered(site: Site, page: Page) -> None:
    """O4: the list view can be chosen on a desktop too, and is remembered."""
    await site.session(title="Listed")
    await page.goto("/board")
    await expect(page.get_by_test_id("board-canvas")).to_be_visible()
    await page.get_by_role("button", name="List view").click()
    await expect(page.get_by_test_id("board-list").get_by_role("link").filter(has_text="Listed")).to_be_visible()
    await page.reload()
    await expect(page.get_by_test_id("board-list")).to_be_visible()
    await page.get_by_role("button", name="Canvas view").click()
    await expect(page.get_by_test_id("board-canvas")).to_be_visible()


async def test_several_boards(site: Site, page: Page) -> None:
    """O4: boards are created, renamed and deleted; a worktree moved to another board is shown only there, and returns
    when that board is deleted."""
    await site.worktree("feature/board")
    name = "repo · feature/board"
    boards = page.get_by_role("button", name="Boards", exact=True)
    title = page.get_by_role("heading", level=1)
    await page.goto("/board")
    await expect(card(page, name)).to_be_visible()
    first = await title.inner_text()
    await boards.click()
    await page.get_by_role("menuitem", name="New board").click()
    dialog = page.get_by_role("dialog", name="New board")
    await dialog.get_by_label("Name").fill("Later")
    await dialog.get_by_role("button", name="Create").click()
    await expect(title).to_have_text("Later")
    await expect(page.get_by_role("heading", name="This board is empty")).to_be_visible()
    await boards.click()
    await page.get_by_role("menuitem", name="Rename board").click()
    dialog = page.get_by_role("dialog", name="Rename board")
    await dialog.get_by_label("Name").fill("Some day")
    await dialog.get_by_role("button", name="Rename").click()
    await expect(title).to_have_text("Some day")
    await boards.click()
    await page.get_by_role("menuitem", name=first, exact=True).click()
    await expect(page).to_have_url(f"{site.url}/board")
    await card(page, name).get_by_role("button", name=f"Actions for {name}").click()
    await page.get_by_role("menuitem", name="Move to Some day").click()
    await expect(page.get_by_role("region", name="Notifications").get_by_text("Moved to Some day.")).to_be_visible()
    await expect(card(page, name)).to_be_hidden()
    await expect(card(page, OWN)).to_be_visible()
    await boards.click()
    await page.get_by_role("menuitem", name="Some day").click()
    await expect(title).to_have_text("Some day")
    await expect(card(page, name)).to_be_visible()
    await expect(card(page, OWN)).to_be_hidden()
    await boards.click()
    await page.get_by_role("menuitem", name="Delete board").click()
    await page.get_by_role("dialog").get_by_role("button", name="Delete board").click()
    await expect(page).to_have_url(f"{site.url}/board")
    await expect(card(page, name)).to_be_visible()


async def test_the_board_is_filtered(site: Site, page: Page) -> None:
    """O4: a board is filtered by text and by session state, and says so if nothing matches."""
    await site.worktree("feature/filter")
    waiting = await site.session(title="Needs approval", permissionMode="default")
    await site.session(title="Idle")
    await site.client.prompt(waiting["id"], "[[run true]]")
    await site.client.approval(waiting["id"])
    await page.goto("/board")
    await page.get_by_label("Session state").select_option("waiting")
    await expect(session_line(page, "Needs approval")).to_be_visible()
    await expect(session_line(page, "Idle")).to_be_hidden()
    await expect(card(page, "repo · feature/filter")).to_be_hidden()
    await page.get_by_role("searchbox", name="Search this board").fill("nowhere")
    await expect(page.get_by_role("heading", name="No matching cards")).to_be_visible()
    await page.get_by_role("button", name="Clear filters").click()
    await expect(card(page, "repo · feature/filter")).to_be_visible()


async def test_columns_sort_cards_by_state(site: Site, page: Page, visit: Visit) -> None:
    """O4: in columns, cards move by themselves from what is to do to what works, needs a person, is to review and is
    merged; the choice of the view is kept, and no text is smaller than 11 pixels."""
    worktree = await site.worktree("feature/columns")
    name = "feature/columns"
    await page.goto("/board")
    await page.get_by_role("button", name="Columns view").click()

    def column(title: str) -> Locator:
        return page.get_by_role("region", name=title, exact=True)

    await expect(column("To do").get_by_text(name, exact=True)).to_be_visible()
    session = await site.session(title="Builds it", worktreeId=worktree["id"], permissionMode="default")
    await site.client.prompt(
        session["id"],
        "[[say Begun.]][[run echo done > done.txt && git add . && "
        "git -c user.name=Demo -c user.email=demo@example.invalid commit -qm Done]]",
    )
    await expect(column("Needs you").get_by_role("link").filter(has_text="Builds it")).to_be_visible()
    await expect(column("To do").get_by_text(name, exact=True)).to_have_count(0)
    approval = await site.client.approval(session["id"])
    await site.client.post(f"/api/approvals/{approval['id']}", {"decision": "allow"})
    await expect(column("Review").get_by_text(name, exact=True)).to_be_visible()
    await site.client.prompt(session["id"], "[[hang]]")
    await expect(column("Working").get_by_text(name, exact=True)).to_be_visible()
    assert await axe(page) == []
    sizes = await page.evaluate(
        "[...document.querySelectorAll('main *')]"
        ".filter((element) => element.textContent.trim() && !element.children.length)"
        ".map((element) => parseFloat(getComputedStyle(element).fontSize))"
    )
    assert min(sizes) >= 11
    await site.client.post(f"/api/sessions/{session['id']}/stop")
    await site.client.post(f"/api/worktrees/{worktree['id']}/merge", {"how": "squash"})
    await expect(column("Merged").get_by_text(name, exact=True)).to_be_visible(timeout=60_000)
    await page.reload()
    await expect(column("To do")).to_be_visible()
    async with visit(viewport=PHONE, has_touch=True, is_mobile=True) as context:
        phone = await context.new_page()
        await phone.goto("/board")
        await phone.get_by_role("button", name="Columns view").tap()
        await expect(phone.get_by_role("region", name="Merged", exact=True)).to_be_visible()
        assert await phone.evaluate("document.scrollingElement.scrollWidth") <= PHONE["width"]
