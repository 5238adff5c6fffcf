"""A session from end to end, as a new user would try it."""

from __future__ import annotations

from bough.testing.server import Running


async def test_a_prompt_is_answered(server: Running) -> None:
    """A1, Q2: a created session with a prompt starts by itself, and its transcript holds both sides in order."""
    client = server.client
    repo = await client.repo(server.repo())
    session = await client.session(repo["id"], initialPrompt="hello")
    await client.wait_task(session["taskId"])
    assert await client.texts(session["id"], "user") == ["hello"]
    assert await client.texts(session["id"]) == ['You said "hello". This is user turn 1.']
