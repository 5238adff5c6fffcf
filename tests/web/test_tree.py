"""O4: the canvas of a tree: relations and states of its sessions, reading one, comparing two, stopping all."""

from __future__ import annotations

import contextlib
import re
from typing import cast

from playwright.async_api import Locator, Page, TimeoutError, expect

from tests.support.client import Json
from tests.support.eventually import eventually
from tests.web.conftest import Visit
from tests.web.helpers.site import PHONE, Site, axe, said

# How often a click on a node may miss, and how many milliseconds a drawer takes to show.
MISSES = 5
SHOWN_WITHIN = 5000


def node(page: Page, title: str) -> Locator:
    """Returns the node of a session."""
    return page.get_by_test_id("tree-canvas").get_by_role("button").filter(has_text=title)


def edge(page: Page, label: str) -> Locator:
    """Returns an edge by its label."""
    return page.get_by_test_id("tree-canvas").get_by_label(label, exact=True)


def drawer(page: Page, title: str) -> Locator:
    """Returns the drawer that shows a session beside the tree."""
    return page.get_by_role("complementary", name=title)


async def show(page: Page, title: str) -> Locator:
    """Clicks a node until its drawer shows. The canvas fits its view after the first frame, and a click before that may
    miss the node."""
    for _ in range(MISSES):
        await node(page, title).click()
        with contextlib.suppress(TimeoutError):
            await drawer(page, title).wait_for(timeout=SHOWN_WITHIN)
            break
    return drawer(page, title)


async def zoom(page: Page) -> float:
    """Returns the canvas's zoom factor."""
    style = await page.locator(".react-flow__viewport").evaluate("element => element.style.transform")
    return float(re.findall(r"scale\(([\d.]+)\)", cast("str", style))[0])


async def expect_readable(page: Page) -> None:
    """Waits until the canvas is drawn at a readable size; while it moves to a session, it is smaller."""

    async def is_readable() -> bool:
        return await zoom(page) >= 0.6

    await eventually(is_readable)


async def branch(site: Site, parent: Json, way: str, **fields: object) -> Json:
    """Forks, spawns or asks a side question: `way` is the last part of the path."""
    made = await site.client.post(f"/api/sessions/{parent['id']}/{way}", dict(fields))
    return await site.client.get(f"/api/sessions/{made['sessionId']}")


async def test_edges_show_how_sessions_are_related(site: Site, page: Page) -> None:
    """O4, B1, B3, B4, Q3: forks, children, side questions and reports are drawn with their own kinds of edges; new ones
    appear by themselves."""
    root = await site.session(title="Root")
    await site.client.ask(root["id"], "Begin.")
    await site.client.ask(root["id"], "Go on.")
    await branch(site, root, "fork", title="Fork")
    await page.goto(f"/tree/{root['id']}")
    await expect(page.get_by_role("heading", level=1)).to_contain_text("Root")
    await expect(edge(page, "Fork: fork of Root")).to_be_attached()
    await expect(page.get_by_text("fork after turn 2")).to_be_attached()
    child = await branch(site, root, "spawn", title="Child", prompt="[[say Done.]]")
    await expect(edge(page, "Child: child of Root")).to_be_attached()
    await expect(edge(page, "reported to its parent")).to_be_attached()
    await branch(site, child, "spawn", title="Grandchild", prompt="[[say Done.]]")
    await expect(edge(page, "Grandchild: child of Child")).to_be_attached()
    await site.client.post(f"/api/sessions/{root['id']}/btw", {"prompt": "What is this?"})
    aside = page.get_by_test_id("tree-canvas").get_by_label(re.compile(": side question to Root$"))
    await expect(aside).to_be_attached()
    await expect(
        page.get_by_test_id("tree-canvas").get_by_role("button").filter(has_text="Side question")
    ).to_be_visible()
    await expect(page.get_by_role("list", name="Legend")).to_be_visible()


async def test_nodes_show_their_state_live(site: Site, page: Page) -> None:
    """O4: a node shows its session's state live, and the header that of the whole tree."""
    root = await site.session(title="Root", permissionMode="default")
    await page.goto(f"/tree/{root['id']}")
    child = await branch(site, root, "spawn", title="Child", prompt="[[say Begun.]][[run true]]")
    await expect(node(page, "Child").get_by_text("Needs your approval")).to_be_visible()
    await expect(page.get_by_text("1 approval needed")).to_be_visible()
    approval = await site.client.approval(child["id"])
    await site.client.post(f"/api/approvals/{approval['id']}", {"decision": "allow"})
    await expect(node(page, "Child").get_by_text("Ready")).to_be_visible()
    await expect(node(page, "Child").get_by_text("Unread")).to_be_attached()
    await site.client.prompt(child["id"], "[[hang]]")
    await expect(node(page, "Child").get_by_text("Working")).to_be_visible()
    await expect(page.get_by_text("1 working")).to_be_visible()


async def test_a_session_is_read_beside_the_tree(site: Site, page: Page) -> None:
    """O4: a click shows a session beside the tree, live; it can be prompted and its approval answered there; the
    address keeps it open; Escape returns to the node."""
    root = await site.session(title="Root")
    child = await branch(site, root, "spawn", title="Child", prompt="[[say I am the child.]]")
    await page.goto(f"/tree/{root['id']}")
    read = await show(page, "Child")
    await expect(said(read, "I am the child.")).to_be_visible()
    assert page.url.endswith(f"?show={child['id']}")
    await read.get_by_label("Prompt for Child").fill("[[say I was asked.]][[run echo ran > ran.txt]]")
    await read.get_by_role("button", name="Send").click()
    await expect(said(read, "I was asked.")).to_be_visible()
    await expect(node(page, "Child").get_by_text("Ready")).to_have_count(0)
    await read.get_by_role("button", name="Allow", exact=True).click()
    await expect(node(page, "Child").get_by_text("Ready")).to_be_visible()
    assert (site.repo / "ran.txt").exists()
    await page.reload()
    await expect(said(drawer(page, "Child"), "I was asked.")).to_be_visible()
    await drawer(page, "Child").get_by_role("heading", name="Child").press("Escape")
    await expect(drawer(page, "Child")).to_be_hidden()
    await expect(node(page, "Child")).to_be_focused()


async def test_the_tree_is_used_by_keyboard(site: Site, page: Page) -> None:
    """O4: the arrow keys move between sessions, Enter shows one, and its link opens it."""
    root = await site.session(title="Root")
    await site.client.ask(root["id"], "Begin.")
    first = await branch(site, root, "fork", title="First")
    await branch(site, root, "fork", title="Second")
    await page.goto(f"/tree/{root['id']}")
    await node(page, "Second").wait_for()
    await node(page, "Root").focus()
    await page.keyboard.press("ArrowRight")
    await expect(node(page, "First")).to_be_focused()
    await page.keyboard.press("ArrowDown")
    await expect(node(page, "Second")).to_be_focused()
    await page.keyboard.press("ArrowUp")
    await expect(node(page, "First")).to_be_focused()
    await page.keyboard.press("ArrowLeft")
    await expect(node(page, "Root")).to_be_focused()
    await page.keyboard.press("ArrowRight")
    await expect(node(page, "First")).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(drawer(page, "First").get_by_role("heading", name="First")).to_be_focused()
    await drawer(page, "First").get_by_role("link", name="Open").click()
    await expect(page).to_have_url(f"{site.url}/session/{first['id']}")
    await expect(page.get_by_role("heading", level=1, name="First")).to_be_visible()


async def test_two_sessions_are_compared(site: Site, page: Page) -> None:
    """O4, B1, B2: the transcripts and changes of two sessions are compared side by side."""
    root = await site.session(title="Root")
    await site.client.ask(root["id"], "Begin.")
    for name in ("left", "right"):
        fork = await branch(site, root, "fork", title=f"The {name} way", worktree={"branch": name})
        await site.client.ask(fork["id"], f"[[write {name}.txt made by {name}]][[say I went {name}.]]")
    await page.goto(f"/tree/{root['id']}")
    await node(page, "The left way").wait_for()
    await page.get_by_role("button", name="Compare").click()
    await expect(page.get_by_text("Choose two sessions to compare.")).to_be_visible()
    await node(page, "The left way").click()
    await expect(page.get_by_text("Choose the second session.")).to_be_visible()
    await node(page, "The right way").click()
    await page.wait_for_url("**/compare/**")
    sides = [page.get_by_role("region", name=name) for name in ("A: The left way", "B: The right way")]
    await expect(said(sides[0], "I went left.")).to_be_visible()
    await expect(said(sides[1], "I went right.")).to_be_visible()
    await page.get_by_role("tab", name="Changes").click()
    for name in ("left", "right"):
        await expect(page.get_by_role("region", name=f"{name}.txt").get_by_text(f"made by {name}")).to_be_visible()
    await page.get_by_role("button", name="Swap").click()
    await page.get_by_role("tab", name="Transcripts").click()
    await expect(said(page.get_by_role("region", name="B: The left way"), "I went left.")).to_be_visible()


async def test_all_sessions_are_stopped(site: Site, page: Page) -> None:
    """O4, B5: one action stops everything that is running in a tree."""
    root = await site.session(title="Root")
    await site.client.prompt(root["id"], "[[say On it.]][[hang]]")
    child = await branch(site, root, "spawn", title="Child", prompt="[[hang]]")
    await page.goto(f"/tree/{root['id']}")
    await expect(page.get_by_text("2 working")).to_be_visible()
    await page.get_by_role("button", name="More", exact=True).click()
    await page.get_by_role("menuitem", name="Stop all").click()
    await expect(page.get_by_text("2 working")).to_be_hidden()
    await expect(node(page, "Child").get_by_text("Working")).to_be_hidden()
    await expect(node(page, "Root").get_by_text("Working")).to_be_hidden()
    for item in (root, child):
        [task] = (await site.client.get(f"/api/sessions/{item['id']}/tasks"))["tasks"][:1]
        assert task["status"] == "cancelled"


async def test_a_child_is_spawned_from_the_tree(site: Site, page: Page) -> None:
    """O4, B3: a child is spawned from the tree and appears there."""
    root = await site.session(title="Root")
    await site.client.ask(root["id"], "Begin.")
    await page.goto(f"/tree/{root['id']}")
    await (await show(page, "Root")).get_by_role("button", name="New child").click()
    dialog = page.get_by_role("dialog", name="Spawn child")
    await dialog.get_by_label("Prompt", exact=True).fill("[[say Grown.]]")
    await dialog.get_by_label("Title").fill("Twig")
    await dialog.get_by_role("button", name="Spawn").click()
    await expect(edge(page, "Twig: child of Root")).to_be_attached()
    await expect(node(page, "Twig").get_by_text("Ready")).to_be_visible()


async def test_a_tree_is_archived(site: Site, page: Page) -> None:
    """O4, B5: after a confirmation a whole tree is archived and leaves the home page."""
    root = await site.session(title="Old tree")
    await site.client.ask(root["id"], "Begin.")
    fork = await branch(site, root, "fork", title="Old fork")
    await page.goto(f"/tree/{root['id']}")
    await page.get_by_role("button", name="More", exact=True).click()
    await page.get_by_role("menuitem", name="Archive all").click()
    dialog = page.get_by_role("dialog", name="Archive this tree?")
    await expect(dialog.get_by_text("Archives 2 sessions.", exact=False)).to_be_visible()
    await dialog.get_by_role("button", name="Archive all").click()
    await expect(dialog).to_be_hidden()
    for item in (root, fork):
        assert (await site.client.get(f"/api/sessions/{item['id']}"))["archived"]


async def test_a_tree_on_a_phone(site: Site, visit: Visit) -> None:
    """O4: on a phone the tree runs from top to bottom, and a tap shows a session."""
    root = await site.session(title="Root")
    await site.client.ask(root["id"], "Begin.")
    child = await branch(site, root, "spawn", title="Child", prompt="[[say Small.]]")
    await site.client.wait_task((await site.client.get(f"/api/sessions/{child['id']}/tasks"))["tasks"][0]["id"])
    async with visit(viewport=PHONE, has_touch=True, is_mobile=True) as context:
        page = await context.new_page()
        await page.goto(f"/tree/{root['id']}")
        await node(page, "Child").tap()
        await expect(said(drawer(page, "Child"), "Small.")).to_be_visible()
        await drawer(page, "Child").get_by_role("link", name="Open").tap()
        await expect(said(page, "Small.")).to_be_visible()


async def grow(site: Site) -> tuple[Json, str]:
    """Grows a tree of 40 sessions: a root, five finished branches of seven each, and one of four whose end works."""
    root = await site.session(title="Root")
    await site.client.ask(root["id"], "Begin.")
    last = ""
    for number, below in enumerate((6, 6, 6, 6, 6, 3)):
        head = await branch(site, root, "fork", title=f"Branch {number}")
        twigs = [await branch(site, head, "fork", title=f"Twig {number}.{twig}") for twig in range(below)]
        last = twigs[-1]["id"]
        for session in (*twigs[:-1], head) if number == 5 else (*twigs, head):
            await site.client.post(f"/api/sessions/{session['id']}/complete")
    await site.client.prompt(last, "[[say On it.]][[hang]]")
    return root, last


async def test_a_large_tree_shows_what_works(site: Site, page: Page) -> None:
    """O4: in a large tree, finished subtrees are folded, the way to the session at work is drawn at a readable size,
    and an outline beside it lists the same; opening a drawer keeps the session in view."""
    root, last = await grow(site)
    await page.goto(f"/tree/{root['id']}")
    outline = page.get_by_role("tree", name="Sessions")
    await expect(outline.get_by_role("treeitem", name="Twig 5.2")).to_be_visible()
    await expect(outline.get_by_role("treeitem", name="Branch 1")).to_have_count(0)
    await expect(node(page, "Twig 5.2").get_by_text("Working")).to_be_visible()
    await expect(node(page, "Twig 5.2")).to_be_in_viewport(ratio=0.99)
    await expect_readable(page)
    await expect(edge(page, "Twig 5.2: fork of Branch 5")).to_be_attached()
    assert await axe(page) == []
    await outline.get_by_role("treeitem", name="35 more sessions").click()
    await expect(outline.get_by_role("treeitem", name="Branch 1")).to_be_visible()
    await expect(node(page, "Branch 1")).to_be_attached()
    await expect(outline.get_by_role("treeitem", name="Twig 1.0")).to_have_count(0)
    await outline.get_by_role("treeitem", name="Twig 5.2").click()
    await expect(said(drawer(page, "Twig 5.2"), "On it.")).to_be_visible()
    await expect(node(page, "Twig 5.2")).to_be_in_viewport(ratio=0.99)
    await expect_readable(page)
    assert page.url.endswith(f"?show={last}")


async def test_the_outline_is_used_by_keyboard(site: Site, page: Page) -> None:
    """O4: the arrow keys move through the outline and fold it; it can be hidden, and stays so."""
    root = await site.session(title="Root")
    await site.client.ask(root["id"], "Begin.")
    await branch(site, root, "fork", title="First")
    await page.goto(f"/tree/{root['id']}")
    outline = page.get_by_role("tree", name="Sessions")
    await outline.get_by_role("treeitem", name="Root").focus()
    await page.keyboard.press("ArrowDown")
    await expect(outline.get_by_role("treeitem", name="First")).to_be_focused()
    await page.keyboard.press("ArrowLeft")
    await expect(outline.get_by_role("treeitem", name="Root")).to_be_focused()
    await page.keyboard.press("ArrowLeft")
    await expect(outline.get_by_role("treeitem", name="1 more session")).to_be_visible()
    await expect(node(page, "First")).to_have_count(0)
    await page.keyboard.press("ArrowRight")
    await expect(node(page, "First")).to_be_visible()
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("Enter")
    await expect(drawer(page, "First")).to_be_visible()
    await page.get_by_role("button", name="Outline").click()
    await expect(outline).to_be_hidden()
    await page.reload()
    await expect(drawer(page, "First")).to_be_visible()
    await expect(outline).to_be_hidden()


async def test_the_outline_replaces_the_drawing_on_a_phone(site: Site, visit: Visit) -> None:
    """O4: on a phone the outline takes the place of the drawing, without scrolling sideways."""
    root, _ = await grow(site)
    async with visit(viewport=PHONE, has_touch=True, is_mobile=True) as context:
        page = await context.new_page()
        await page.goto(f"/tree/{root['id']}")
        await page.get_by_role("button", name="Outline").tap()
        row = page.get_by_role("tree", name="Sessions").get_by_role("treeitem", name="Twig 5.2")
        await expect(page.get_by_test_id("tree-canvas")).to_have_count(0)
        assert await axe(page) == []
        assert await page.evaluate("document.scrollingElement.scrollWidth") <= PHONE["width"]
        await row.tap()
        await expect(drawer(page, "Twig 5.2")).to_be_visible()
