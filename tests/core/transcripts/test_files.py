"""Tests how agents get a prompt's files: as pictures and embedded texts, or quoted, whatever happens between accepting
and sending the prompt."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

from bough.agents.acp.types import ImageBlock, ResourceBlock, TextBlock, TextResource
from bough.core.live_agents import prompt_files
from bough.core.live_agents.prompt_files import PromptCapabilities
from bough.model.file import described
from tests.core.helpers import add_agent, messages, open_session
from tests.support.client import Client, Json
from tests.support.images import PNG, picture
from tests.support.repos import make_repo
from tests.support.server import Running, ServerProcess, serving

SHOT = described("shot.png", "image/png", len(PNG))
NOTES: Json = {"name": "notes.txt", "text": "a ```` fence\nsecond\n"}
NOTED = described("notes.txt", "text/plain", 20)
DEMO = ["{python}", "-m", "bough.agents.demo", "--home", "{data}/demo"]


def plain_agent(folder: Path, without: str) -> None:
    """Adds a demo agent with fewer abilities."""
    add_agent(folder, "plain", [*DEMO, "--without", without])


async def told(client: Client, session: str, **fields: Any) -> str:
    """Returns the agent's answer to a prompt with files."""
    task = await client.wait_task(await client.prompt(session, "look", **fields))
    assert task["status"] == "completed", task
    return (await client.texts(session))[-1]


async def recalled(client: Client, session: str) -> str:
    """Returns every text that the agent was ever sent."""
    assert (await client.ask(session, "[[recall]]"))["status"] == "completed"
    return (await client.texts(session))[-1]


async def test_an_agent_gets_pictures_and_texts(server: Running) -> None:
    """C1, L5: Sends both before the prompt, which stays the last text; a prompt without files is answered as usual."""
    session = await open_session(server)
    client = server.client
    assert await told(client, session, files=[picture(), NOTES]) == (
        f'You said "look" with {SHOT}, {NOTED}. This is user turn 1.'
    )
    assert await told(client, session) == 'You said "look". This is user turn 2.'
    assert await recalled(client, session) == "1. a ```` fence\\nsecond\\n\n2. look\n3. look\n4. [[recall]]"
    assert await messages(client, session, "notice") == []


async def test_the_first_prompt_of_a_session_has_files_too(server: Running) -> None:
    """Q2: Also sends files with the prompts that create a session, a fork, a child or a side question."""
    client = server.client
    session = await open_session(server, initialPrompt="look", files=[picture()])
    tasks = (await client.get(f"/api/sessions/{session}/tasks"))["tasks"]
    await client.wait_task(tasks[0]["id"])
    assert await client.texts(session) == [f'You said "look" with {SHOT}. This is user turn 1.']
    for kind, turn in (("fork", 2), ("btw", 2), ("spawn", 1)):
        branch = await client.post(f"/api/sessions/{session}/{kind}", {"prompt": "and this", "files": [NOTES]})
        await client.wait_task(branch["taskId"])
        answer = f'You said "and this" with {NOTED}. This is user turn {turn}.'
        assert (await client.texts(branch["sessionId"]))[-1] == answer, kind


async def test_an_agent_that_accepts_neither(tmp_path: Path) -> None:
    """C1: Quotes a text with its name, in a fence that does not occur in it; tells people and the agent of a picture
    that cannot be sent, and sends the prompt."""
    plain_agent(tmp_path, "images,embedded")
    async with serving(tmp_path) as server:
        session = await open_session(server, agent="plain")
        client = server.client
        assert await told(client, session, files=[picture(), NOTES]) == 'You said "look". This is user turn 1.'
        (notice,) = await messages(client, session, "notice")
        assert notice["text"] == f"{SHOT} was not sent: plain takes no pictures."
        unseen, quoted, prompt, _ = (await recalled(client, session)).splitlines()
        assert unseen == f"1. The user attached the picture {SHOT}, which you cannot be shown."
        fence = "`" * 5
        assert quoted == (f"2. The user attached the file {NOTED}:\\n{fence}\\na ```` fence\\nsecond\\n{fence}\\n")
        assert prompt == "3. look"
        await told(client, session, files=[picture()])
        assert len(await messages(client, session, "notice")) == 2


@pytest.mark.parametrize(
    ("takes", "kinds"),
    [
        (PromptCapabilities(), [TextBlock, TextBlock]),
        (PromptCapabilities(images=True), [ImageBlock, TextBlock]),
        (PromptCapabilities(resources=True), [TextBlock, ResourceBlock]),
        (PromptCapabilities(True, True), [ImageBlock, ResourceBlock]),
    ],
)
async def test_each_goes_as_the_agent_takes_it(server: Running, takes: PromptCapabilities, kinds: list[type]) -> None:
    """C1: Decides about each kind of file by the abilities that the agent declares."""
    session = await open_session(server)
    task = await server.client.prompt(session, "look", files=[picture("ü.png"), {"name": "a b.json", "text": "{}"}])
    sent = await server.services.store.read(lambda tx: prompt_files.prompt_files(tx, task, takes, "Agent"))
    assert [type(block) for block in sent.blocks] == kinds
    assert bool(sent.notices) is not takes.images


async def test_files_keep_their_names_and_types(server: Running) -> None:
    """C1: Sends each file with its media type and its name as an address."""
    session = await open_session(server)
    task = await server.client.prompt(session, "look", files=[picture("ü.png"), {"name": "a b.json", "text": "{}"}])
    takes = PromptCapabilities(True, True)
    sent = await server.services.store.read(lambda tx: prompt_files.prompt_files(tx, task, takes, "Agent"))
    shot, text = sent.blocks
    assert isinstance(shot, ImageBlock) and (shot.mime_type, shot.uri) == ("image/png", "file:///%C3%BC.png")
    assert text == ResourceBlock(
        resource=TextResource(uri="file:///a%20b.json", text="{}", mime_type="application/json")
    )


async def test_files_wait_with_their_prompt(tmp_path: Path) -> None:
    """Q1, Q4, Q5: A queued prompt keeps its files when it is edited, moved, or when the server is killed; an agent that
    outlives the server still gets pictures."""
    async with ServerProcess(tmp_path / "data", tmp_path / "work") as server:
        async with server.client() as client:
            repo = await client.repo(make_repo(server.root / "repo"))
            session = (await client.session(repo["id"]))["id"]
            running = await client.prompt(session, "[[slow 30 1.5]]")
            await client.wait_task(running, "running")
            first = await client.prompt(session, "first", files=[picture()])
            second = await client.prompt(session, "second", files=[NOTES])
            await client.call("PATCH", f"/api/tasks/{first}", json={"prompt": "changed"})
            await client.call("PATCH", f"/api/tasks/{first}", json={"before": ""})
            waiting = [message["content"] for message in await client.get(f"/api/sessions/{session}/messages")][-2:]
            assert [(message["text"], message["files"][0]["name"]) for message in waiting] == [
                ("second", "notes.txt"),
                ("changed", "shot.png"),
            ]
        await server.stop(signal.SIGKILL)
        await server.start()
        async with server.client() as client:
            for task in (second, first):
                assert (await client.wait_task(task))["status"] == "completed"
            assert (await client.texts(session))[-2:] == [
                f'You said "second" with {NOTED}. This is user turn 2.',
                f'You said "changed" with {SHOT}. This is user turn 3.',
            ]


async def test_the_next_attempt_has_the_files_again(tmp_path: Path) -> None:
    """Q4: An agent that died during a turn is told to continue, with the files before the quoted task."""
    async with serving(tmp_path) as server:
        client = server.client
        session = await open_session(server)
        # It dies in each attempt that obeys the prompt; the next one only quotes it.
        task = await client.wait_task(await client.prompt(session, "[[crash]]", files=[picture(), NOTES]))
        assert (task["status"], task["attempt"]) == ("completed", 2)
        (text,) = await client.texts(session)
        assert text.endswith(f"with {SHOT}, {NOTED}. This is user turn 2.")


async def test_a_quoted_transcript_includes_files(tmp_path: Path) -> None:
    """B1: A quoted transcript names pictures and contains texts, cut if they are long; also for a side question."""
    plain_agent(tmp_path, "fork,load,resume")
    async with serving(tmp_path) as server:
        client = server.client
        session = await open_session(server, agent="plain")
        long = {"name": "long.txt", "text": "z" * 20_000}
        await told(client, session, files=[picture(), NOTES, long])
        for kind in ("fork", "btw"):
            branch = await client.post(f"/api/sessions/{session}/{kind}", {"prompt": "[[recall]]"})
            await client.wait_task(branch["taskId"])
            past = (await client.texts(branch["sessionId"]))[-1]
            expected = (
                "    look\\n[image shot.png]\\n[file notes.txt]\\n    a ```` fence\\n    second\\n[file long.txt]\\n"
            )
            assert expected + "    " + "z" * 10_000 + " [cut]" in past, kind
            assert "z" * 10_001 not in past
