"""O4, L1: people on the page: adding them, signing in with their token, what each role sees, and the audit trail."""

from __future__ import annotations

from playwright.async_api import Page, expect

from tests.web.conftest import Visit
from tests.web.helpers.site import Complaints, Site, axe, transcript


async def test_a_person_is_added_and_signs_in(site: Site, page: Page, visit: Visit, complaints: Complaints) -> None:
    """L1: An admin adds a person and creates a token; its link signs that person in, with that person's rights."""
    # A refused name, on purpose.
    complaints.forgive("status of 400")
    await page.goto("/settings/people")
    await page.get_by_role("button", name="Add person").click()
    dialog = page.get_by_role("dialog", name="Add person")
    await dialog.get_by_label("Name").fill("Petra")
    await dialog.get_by_role("button", name="Add", exact=True).click()
    await expect(dialog.get_by_role("alert")).to_contain_text("characters")
    await dialog.get_by_label("Name").fill("petra")
    await dialog.get_by_role("button", name="Add", exact=True).click()
    person = page.get_by_role("listitem").filter(has=page.get_by_role("heading", name="petra"))
    await expect(person).to_be_visible()
    assert await axe(page) == []
    await person.get_by_role("button", name="New token").click()
    await page.get_by_role("button", name="Create token").click()
    link = await page.get_by_label("Sign-in link").input_value()
    await page.get_by_role("button", name="Done").click()
    await expect(person).to_contain_text("1 token")
    session = await site.session(title="Shared")
    await site.client.ask(session["id"], "[[say Hello.]]")
    async with visit(logged_in=False) as context:
        viewer = await context.new_page()
        await viewer.goto(link)
        await expect(viewer.get_by_text("You can only read here.")).to_be_visible()
        await viewer.goto(f"/session/{session['id']}")
        await expect(transcript(viewer).get_by_text("owner", exact=True).first).to_be_visible()
        await expect(viewer.get_by_role("link", name="New session")).to_have_count(0)
        await expect(viewer.get_by_role("textbox")).to_have_count(0)
        await viewer.goto("/settings/policy")
        await expect(viewer.get_by_role("button", name="Add rule")).to_be_disabled()
        assert await axe(viewer) == []
        await viewer.goto("/settings/access")
        await expect(viewer.get_by_text("petra · viewer").first).to_be_visible()
        await expect(viewer.get_by_role("link", name="People")).to_have_count(0)
        await expect(viewer.get_by_role("link", name="Audit")).to_have_count(0)
    await page.goto("/settings/audit")
    await page.get_by_label("Person").select_option("petra")
    await expect(page.get_by_role("row").filter(has_text="page.signed_in")).to_have_count(1)
    assert await axe(page) == []
    await site.client.call("DELETE", "/api/users/petra")


async def test_roles_are_changed_on_the_page(site: Site, page: Page) -> None:
    """L1: A role is chosen in the list, and a person is removed there."""
    await site.client.post("/api/users", {"name": "rolf", "role": "viewer"})
    await page.goto("/settings/people")
    await page.get_by_label("Role of rolf").select_option("operator")
    await page.get_by_role("button", name="Save role").click()
    # It disappears when the page has read the new role from the server.
    await expect(page.get_by_role("button", name="Save role")).to_have_count(0)
    await expect(page.get_by_label("Role of rolf")).to_have_value("operator")
    users = (await site.client.get("/api/users"))["users"]
    assert [user["role"] for user in users if user["name"] == "rolf"] == ["operator"]
    await page.get_by_role("button", name="Remove rolf").click()
    await page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    await expect(page.get_by_role("heading", name="rolf")).to_have_count(0)
