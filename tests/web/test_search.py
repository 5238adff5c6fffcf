"""O4, A2: search over all transcripts and tool output, from the page."""

from __future__ import annotations

import asyncio

from playwright.async_api import Page, expect

from .site import Site, axe


async def test_a_word_is_found_and_opened(site: Site, page: Page) -> None:
    """O4: words are found in answers and in the output of tools, with their place marked; a click opens the transcript
    there; filters narrow; the address holds it all."""
    said = await site.session(title="Said it", permissionMode="bypassPermissions")
    await site.client.ask(said["id"], "[[say The walrus sleeps.]]")
    ran = await site.session(title="Ran it", permissionMode="bypassPermissions")
    await site.client.ask(ran["id"], "[[run echo walrus in the output]]")
    await page.goto("/search")
    await page.get_by_role("searchbox", name="Search words").fill("walrus")
    results = page.get_by_role("region", name="Results")
    await expect(results.get_by_role("link")).to_have_count(4)
    await expect(results.locator("mark").first).to_have_text("walrus")
    assert await axe(page) == []
    await page.get_by_label("Type").select_option("tool")
    await expect(results.get_by_role("link")).to_have_count(1)
    assert "type=tool" in page.url
    await page.get_by_role("button", name="Clear filters").click()
    await results.get_by_role("link").filter(has_text="The walrus sleeps").filter(has_text="Answer").click()
    assert f"/session/{said['id']}?message=" in page.url
    await expect(page.get_by_role("log").get_by_text("The walrus sleeps.", exact=True)).to_be_visible()
    await page.go_back()
    await expect(page.get_by_role("searchbox", name="Search words")).to_have_value("walrus")


async def test_text_is_found_while_it_streams(site: Site, page: Page) -> None:
    """O4: what an agent is still saying is found before its turn ends."""
    session = await site.session(title="Long")
    await site.client.prompt(session["id"], "[[say A narwhal comes by.]][[slow 200 60]]")
    async with site.client.events(session["id"]) as events:
        await events.until(
            lambda event: "narwhal" in str(event.get("data", "")) or "tick" in str(event.get("text", ""))
        )
    # The page asks once; the index follows the stream within a second or so.
    await expect_found(page, "/search?q=narwhal&type=text")
    await site.client.post(f"/api/sessions/{session['id']}/stop", {})


async def expect_found(page: Page, address: str) -> None:
    """Looks again until the answer itself, not only the prompt, is there."""
    answer = page.get_by_role("region", name="Results").get_by_role("link").filter(has_text="Answer")
    async with asyncio.timeout(20):
        while True:
            await page.goto(address)
            await page.get_by_role("status").filter(has_text="result").wait_for()
            if await answer.count():
                return


async def test_nothing_found_says_what_to_do(page: Page) -> None:
    """O4: an empty answer names the next step."""
    await page.goto("/search?q=nowhere")
    await expect(page.get_by_role("heading", name="No results")).to_be_visible()
