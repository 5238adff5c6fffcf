"""N1, N2: presets on the page: added, chosen for a new session and a racer, renamed and removed."""

from __future__ import annotations

from playwright.async_api import Locator, Page, expect

from tests.web.helpers.site import PHONE, Complaints, Site, axe, choose

WIDER = "document.documentElement.scrollWidth > document.documentElement.clientWidth"


def card(page: Page, name: str) -> Locator:
    return page.get_by_role("listitem").filter(has=page.get_by_role("heading", name=name, exact=True))


async def add(page: Page, name: str) -> None:
    """Adds a preset of the demo agent in the settings."""
    await page.goto("/settings/presets")
    await page.get_by_role("button", name="Add preset").click()
    dialog = page.get_by_role("dialog", name="Add preset")
    await dialog.get_by_label("Name", exact=True).fill(name)
    await dialog.get_by_label("Description").fill("Reads and comments")
    await dialog.get_by_label("Agent", exact=True).select_option("demo")
    await dialog.get_by_label("Mode", exact=True).select_option("plan")
    await dialog.get_by_label("Instructions").fill("Review with care.")
    await dialog.get_by_label("Variables").fill("REVIEW_KEY=key-7f3a")
    assert await axe(page) == []
    await dialog.get_by_role("button", name="Add", exact=True).click()
    await expect(dialog).to_be_hidden()


async def test_a_preset_from_end_to_end(site: Site, page: Page, complaints: Complaints) -> None:
    """N1, N2: A preset is added, chosen for a new session and for a racer, renamed, and removed; its sessions keep its
    name, and the values of its variables are not shown."""
    await add(page, "reviewer")
    await expect(card(page, "reviewer")).to_contain_text("Reads and comments")
    await expect(card(page, "reviewer")).to_contain_text("Plan")
    # A name that could be an id is refused in the dialog, which stays open.
    complaints.forgive("(Bad Request)")
    await page.get_by_role("button", name="Add preset").click()
    dialog = page.get_by_role("dialog", name="Add preset")
    await dialog.get_by_label("Name", exact=True).fill("0190aaaabbbb")
    await dialog.get_by_label("Agent", exact=True).select_option("demo")
    await dialog.get_by_role("button", name="Add", exact=True).click()
    await expect(dialog.get_by_role("alert")).to_contain_text("does not look like an id")
    await dialog.get_by_role("button", name="Cancel").click()

    await page.goto("/new")
    await page.get_by_label("Preset").select_option("reviewer")
    assert await axe(page) == []
    await page.get_by_label("What should the agent do?").fill("[[say read]]")
    await page.get_by_role("button", name="Start session").click()
    await page.wait_for_url("**/session/*")
    session = await site.client.get(f"/api/sessions/{page.url.rsplit('/', 1)[1]}")
    assert (session["preset"], session["permissionMode"], session["agent"]) == ("reviewer", "plan", "demo")
    assert session["env"] == {"REVIEW_KEY": "***"}

    origin = await site.session(title="Origin")
    await site.client.ask(origin["id"], "Begin.")
    await page.goto(f"/session/{origin['id']}")
    await choose(page, "Race")
    race = page.get_by_role("dialog", name="Start a race")
    await race.get_by_label("Prompt", exact=True).fill("[[say raced]]")
    await race.get_by_label("Agent of racer 2").select_option("reviewer")
    await race.get_by_role("button", name="Start").click()
    await page.wait_for_url("**/race/*")
    racers = (await site.client.get(f"/api/races/{page.url.rsplit('/', 1)[1]}"))["contenders"]
    rows = [await site.client.get(f"/api/sessions/{racer['sessionId']}") for racer in racers]
    assert [row["preset"] for row in rows] == [None, "reviewer"]

    await page.goto("/settings/presets")
    await card(page, "reviewer").get_by_role("button", name="Edit").click()
    dialog = page.get_by_role("dialog", name="Edit reviewer")
    await expect(dialog.get_by_label("Variables")).to_have_value("REVIEW_KEY=***")
    await dialog.get_by_label("Name", exact=True).fill("critic")
    await dialog.get_by_role("button", name="Save").click()
    await expect(card(page, "critic")).to_be_visible()
    await expect(card(page, "reviewer")).to_have_count(0)
    again = await site.session(preset="critic", agent=None)
    assert again["env"] == {"REVIEW_KEY": "***"}
    await page.get_by_role("button", name="Remove critic").click()
    await expect(page.get_by_text("No presets yet")).to_be_visible()
    assert (await site.client.get(f"/api/sessions/{session['id']}"))["preset"] == "reviewer"
    await page.goto("/new")
    await expect(page.get_by_label("What should the agent do?")).to_be_visible()
    await expect(page.get_by_label("Preset")).to_have_count(0)


async def test_presets_on_a_phone(site: Site, page: Page) -> None:
    """N1: Presets are added and removed on a narrow screen, and nothing is wider than it."""
    await page.set_viewport_size({"width": PHONE["width"], "height": PHONE["height"]})
    await add(page, "a-preset-with-the-longest-name-of-them-4")
    await expect(card(page, "a-preset-with-the-longest-name-of-them-4")).to_be_visible()
    assert not await page.evaluate(WIDER)
    assert await axe(page) == []
    await page.get_by_role("button", name="Remove a-preset-with-the-longest-name-of-them-4").click()
    await expect(page.get_by_text("No presets yet")).to_be_visible()
