"""J1, J3: schedules on the page: added, run, paused and removed, with the history of their runs."""

from __future__ import annotations

from playwright.async_api import Page, expect

from tests.web.helpers.site import Site, axe


async def test_a_schedule_from_end_to_end(site: Site, page: Page) -> None:
    """J1: A schedule for a session is added, runs when somebody asks, is changed, paused and removed."""
    session = await site.session(title="Nightly work")
    await page.goto("/settings/schedules")
    await page.get_by_role("button", name="Add schedule").click()
    dialog = page.get_by_role("dialog", name="Add schedule")
    await dialog.get_by_label("Prompt").fill("[[say Good morning.]]")
    await dialog.get_by_label("Times").select_option("Weekdays at 06:00")
    await dialog.get_by_label("Time zone").fill("Europe/Berlin")
    await dialog.get_by_label("Send to").select_option("Nightly work")
    assert await axe(page) == []
    await dialog.get_by_role("button", name="Add", exact=True).click()
    card = page.get_by_role("listitem").filter(has=page.get_by_role("heading", name="[[say Good morning.]]"))
    await expect(card).to_contain_text("At 06:00 on Monday through Friday (Europe/Berlin) · next")
    await card.get_by_role("button", name="Run now").click()
    await expect(card).to_contain_text("Started")
    await card.get_by_role("button", name="History").click()
    await expect(card.get_by_role("list", name="Runs").get_by_role("listitem")).to_have_count(1)
    await card.get_by_role("button", name="Edit").click()
    await page.get_by_label("Times").select_option("Every hour")
    await page.get_by_role("button", name="Save").click()
    await expect(card).to_contain_text("At the start of every hour")
    await card.get_by_role("button", name="Pause").click()
    await expect(card.get_by_text("Paused", exact=True)).to_be_visible()
    assert await axe(page) == []
    await card.get_by_role("link", name="Open session").first.click()
    await expect(page).to_have_url(f"{site.client.url}/session/{session['id']}")
    await expect(page.get_by_text("Good morning.").first).to_be_visible()
    await page.go_back()
    await card.get_by_role("button", name="Remove").click()
    await expect(card).to_have_count(0)


async def test_a_schedule_of_new_sessions(site: Site, page: Page) -> None:
    """J3: A schedule opens a session with a branch of its own at each run; a bad time is explained in the dialog."""
    session = await site.session(title="Known")
    repo = await site.client.get(f"/api/repos/{session['repoId']}")
    await page.goto("/settings/schedules")
    await page.get_by_role("button", name="Add schedule").click()
    dialog = page.get_by_role("dialog", name="Add schedule")
    await dialog.get_by_label("Prompt").fill("[[say fresh]]")
    await dialog.get_by_label("Times").select_option("Once")
    await dialog.get_by_label("Date and time").fill("2999-01-01T08:00")
    await dialog.get_by_label("Time zone").fill("UTC")
    await dialog.get_by_label("Send to").select_option("A new session each time")
    await dialog.get_by_label("Repository").select_option(repo["name"])
    await dialog.get_by_label("Agent").select_option("demo")
    await dialog.get_by_label("Branch").fill("fresh")
    await dialog.get_by_role("button", name="Add", exact=True).click()
    card = page.get_by_role("listitem").filter(has=page.get_by_role("heading", name="[[say fresh]]"))
    await card.get_by_role("button", name="Run now").click()
    await expect(card).to_contain_text("Started")
    (schedule,) = [
        row
        for row in (await site.client.get("/api/schedules?limit=100"))["schedules"]
        if row["title"] == "[[say fresh]]"
    ]
    opened = await site.client.get(f"/api/sessions/{schedule['lastRun']['sessionId']}")
    assert opened["gitState"]["branch"].startswith("fresh-")
    await site.client.call("DELETE", f"/api/schedules/{schedule['id']}")
