"""O4, A2: search over all transcripts and tool output, from the page."""

from __future__ import annotations

import asyncio

from playwright.async_api import Page, expect

from tests.web.helpers.site import Site, axe


async def test_a_word_is_found_and_opened(site: Site, page: Page) -> None:
    """O4: words are found in answers and tool output and highlighted; a click opens the transcript at the message;
    filters narrow the results; the address holds the search."""
    answered = await site.session(title="Said it", permissionMode="bypassPermissions")
    await site.client.ask(answered["id"], "[[say The walrus sleeps.]]")
    ran_command = await site.session(title="Ran it", permissionMode="bypassPermissions")
    await site.client.ask(ran_command["id"], "[[run echo walrus in the output]]")
    await page.goto("/search")
    await page.get_by_role("searchbox", name="Search transcripts").fill("walrus")
    results = page.get_by_role("region", name="Results")
    await expect(results.get_by_role("link")).to_have_count(4)
    await expect(results.locator("mark").first).to_have_text("walrus")
    assert await axe(page) == []
    await page.get_by_label("Type").select_option("tool")
    await expect(results.get_by_role("link")).to_have_count(1)
    assert "type=tool" in page.url
    await page.get_by_role("button", name="Clear filters").click()
    await results.get_by_role("link").filter(has_text="The walrus sleeps").filter(has_text="Answer").click()
    assert f"/session/{answered['id']}?message=" in page.url
    await expect(page.get_by_role("log").get_by_text("The walrus sleeps.", exact=True)).to_be_visible()
    await page.go_back()
    await expect(page.get_by_role("searchbox", name="Search transcripts")).to_have_value("walrus")


async def test_text_is_found_while_it_streams(site: Site, page: Page) -> None:
    """O4: an agent's text is found before its turn ends."""
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
    """Repeats the search until it finds the answer itself and not only the prompt."""
    answer = page.get_by_role("region", name="Results").get_by_role("link").filter(has_text="Answer")
    async with asyncio.timeout(20):
        while True:
            await page.goto(address)
            await page.get_by_role("status").filter(has_text="result").wait_for()
            if await answer.count():
                return


async def test_an_empty_result_suggests_what_to_do(page: Page) -> None:
    """O4: an empty result suggests what to do next."""
    await page.goto("/search?q=nowhere")
    await expect(page.get_by_role("heading", name="No results")).to_be_visible()
