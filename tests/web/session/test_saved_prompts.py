"""R9, O4: prompts are saved and inserted; mode and model are changed below the prompt box, which has the focus."""

from __future__ import annotations

from pathlib import Path

from playwright.async_api import Page, expect

from tests.web.helpers.site import PHONE, Site, axe, prompt_box

WIDER = "document.documentElement.scrollWidth > document.documentElement.clientWidth"


async def test_a_prompt_is_saved_and_inserted(site: Site, page: Page) -> None:
    """R9: A typed prompt is saved, inserted by its name after a slash and by the menu, also one of the repository, and
    managed in the settings."""
    folder = Path(site.repo) / ".bough" / "prompts"
    folder.mkdir(parents=True)
    (folder / "release.md").write_text("Prepare a release.")
    session = await site.session(title="Saves")
    await page.goto(f"/session/{session['id']}")
    await prompt_box(page).fill("Review it.\nName the risks.")
    await page.get_by_role("button", name="Saved prompts").click()
    await page.get_by_role("menuitem", name="Save this prompt").click()
    dialog = page.get_by_role("dialog", name="Save a prompt")
    await expect(dialog.get_by_label("Prompt", exact=True)).to_have_value("Review it.\nName the risks.")
    await dialog.get_by_label("Name").fill("review")
    assert await axe(page) == []
    await dialog.get_by_role("button", name="Save").click()
    await expect(dialog).to_be_hidden()

    await prompt_box(page).fill("")
    await prompt_box(page).press_sequentially("/rev")
    await expect(page.get_by_role("option", name="review")).to_contain_text("saved prompt")
    await page.keyboard.press("Tab")
    await expect(prompt_box(page)).to_have_value("Review it.\nName the risks.")
    await prompt_box(page).press_sequentially(" ")
    await page.get_by_role("button", name="Saved prompts").click()
    await page.get_by_role("menuitem", name="release").click()
    await expect(prompt_box(page)).to_have_value("Review it.\nName the risks. Prepare a release.")
    await expect(prompt_box(page)).to_be_focused()

    await page.goto("/settings/prompts")
    card = page.get_by_role("listitem").filter(has=page.get_by_role("heading", name="review", exact=True))
    await card.get_by_role("button", name="Edit").click()
    edit = page.get_by_role("dialog", name="Edit review")
    await edit.get_by_label("Prompt", exact=True).fill("Look.")
    await edit.get_by_role("button", name="Save").click()
    await expect(card).to_contain_text("Look.")
    assert await axe(page) == []
    await page.get_by_role("button", name="Remove review").click()
    await expect(page.get_by_text("No saved prompts yet")).to_be_visible()


async def test_mode_and_model_are_changed_below_the_prompt(site: Site, page: Page) -> None:
    """O4: The chips show the session's mode and model and change them; on a phone, nothing is wider than the screen."""
    session = await site.session(title="Chips", permissionMode="default")
    await page.set_viewport_size({"width": PHONE["width"], "height": PHONE["height"]})
    await page.goto(f"/session/{session['id']}")
    mode = page.get_by_label("Mode of the session")
    await expect(mode).to_have_value("default")
    await mode.select_option("plan")
    model = page.get_by_label("Model of the session")
    await model.fill("demo-large")
    await model.press("Enter")
    await expect(model).to_have_value("demo-large")
    assert not await page.evaluate(WIDER)
    assert await axe(page) == []
    await page.reload()
    await expect(mode).to_have_value("plan")
    await expect(model).to_have_value("demo-large")
    changed = await site.client.get(f"/api/sessions/{session['id']}")
    assert (changed["permissionMode"], changed["model"]) == ("plan", "demo-large")


async def test_the_prompt_box_has_the_focus(site: Site, page: Page) -> None:
    """O4: A session opens with the focus in its prompt box; single keys are typed there until Escape leaves it.
    The agent's commands are completed before the first turn."""
    earlier = await site.session(title="Earlier")
    await site.client.ask(earlier["id"], "Begin.")
    session = await site.session(title="Focus")
    await page.goto(f"/session/{session['id']}")
    await expect(prompt_box(page)).to_be_focused()
    await page.keyboard.type("c")
    await expect(prompt_box(page)).to_have_value("c")
    await page.keyboard.press("Escape")
    await page.keyboard.press("?")
    await expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    await page.keyboard.press("Escape")
    await prompt_box(page).fill("/")
    await expect(page.get_by_role("listbox", name="Agent commands").get_by_role("option").first).to_be_visible()
    await expect(page.get_by_role("option", name="/help")).to_be_visible()


async def test_a_question_keeps_single_keys(site: Site, page: Page) -> None:
    """O4: If a question waits when a session opens, its keys work at once."""
    session = await site.session(title="Asks", permissionMode="default")
    await site.client.prompt(session["id"], "[[run echo asked]]")
    await site.client.approval(session["id"])
    await page.goto(f"/session/{session['id']}")
    await expect(page.get_by_role("region", name="Pending approvals")).to_contain_text("echo asked")
    await expect(prompt_box(page)).not_to_be_focused()
    await page.keyboard.press("w")
    await expect(page.get_by_role("group", name="The agent wants to run a command")).to_be_focused()


async def test_a_preset_on_the_start_page(site: Site, page: Page) -> None:
    """N2: The prompt box of the start page starts a session from a preset, whose values its chips show."""
    preset = {"name": "reader", "agent": "demo", "permissionMode": "plan", "instructions": "Only read."}
    await site.client.post("/api/presets", preset)
    await page.goto("/")
    await page.get_by_label("Preset").select_option("reader")
    await expect(page.get_by_label("Mode", exact=True)).to_have_value("plan")
    await page.get_by_label("Prompt for a new session").fill("[[say read]]")
    assert await axe(page) == []
    await page.get_by_role("button", name="Start", exact=True).click()
    await page.wait_for_url("**/session/*")
    session = await site.client.get(f"/api/sessions/{page.url.rsplit('/', 1)[1]}")
    assert (session["preset"], session["permissionMode"], session["agent"]) == ("reader", "plan", "demo")
    await site.client.call("DELETE", "/api/presets/reader")
