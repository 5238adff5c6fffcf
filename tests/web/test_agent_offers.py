"""O4, H4, A5: the form for a new session offers an agent's models and commands before the first turn, and admins add
agents from a registry's entry in the settings."""

from __future__ import annotations

import json

from playwright.async_api import Page, expect

from tests.agents.registry.test_read_entry import ENTRY
from tests.web.helpers.site import Complaints, Site


async def test_the_form_knows_models_and_commands(site: Site, page: Page) -> None:
    """H4: Opening the form has the chosen agent asked once; its models, efforts and commands are offered."""
    await page.goto("/new")
    await page.get_by_text("More", exact=True).click()
    model = page.get_by_label("Model", exact=True)
    await expect(page.get_by_text("blank uses the agent's default, demo-small.")).to_be_visible()
    options = page.locator("datalist option")
    await expect(options.filter(has_not_text="x").first).to_be_attached()
    values = await options.evaluate_all("all => all.map(option => option.value)")
    assert {"demo-small", "demo-large", "low", "medium", "high"} <= set(values)
    await expect(model).to_be_visible()
    await page.get_by_label("What should the agent do?").fill("/rec")
    await page.get_by_role("button", name="/recall").click()
    await expect(page.get_by_label("What should the agent do?")).to_have_value("/recall ")


async def test_an_agent_of_a_registry(site: Site, page: Page, complaints: Complaints) -> None:
    """A5: An entry is added and removed in the settings; a refusal is shown in the dialog."""
    complaints.forgive("409")
    await page.goto("/settings/agents")
    await page.get_by_role("button", name="Add agent").click()
    dialog = page.get_by_role("dialog", name="Add agent")
    await dialog.get_by_label("Entry").fill(json.dumps(ENTRY | {"id": "demo"}))
    await dialog.get_by_role("button", name="Add", exact=True).click()
    await expect(dialog.get_by_text("demo is the name of an agent that Bough knows by itself.")).to_be_visible()
    await dialog.get_by_label("Entry").fill(json.dumps(ENTRY))
    await dialog.get_by_role("button", name="Add", exact=True).click()
    await expect(page.get_by_role("heading", name="Swift Agent")).to_be_visible()
    await expect(page.get_by_text("Not measured", exact=True)).to_be_visible()
    await page.get_by_role("button", name="Remove Swift Agent").click()
    await expect(page.get_by_role("heading", name="Swift Agent")).to_have_count(0)
