"""The client with a well-behaved agent: order, ids, cancelling and the lines on the wire."""

import asyncio

import msgspec
import pytest

from bough import __version__
from bough.agents.acp.types import (
    HttpServer,
    ImageBlock,
    NameValue,
    ResourceBlock,
    ResourceLinkBlock,
    SseServer,
    StdioServer,
    TextBlock,
    TextResource,
)
from bough.agents.acp.wire import AgentRequest, SessionUpdate
from bough.agents.errors import AgentGone, AgentTimeout
from bough.errors import Internal
from tests.agents.acp.acp_peers import Peer, peer
from tests.support.acp.acp_schema import AcpSchema


def say(text: str) -> list[TextBlock]:
    return [TextBlock(text=text)]


@pytest.mark.skipif(not AcpSchema.at_hand(), reason="needs the published schema of the protocol")
async def test_every_call_follows_the_schema() -> None:
    """C1: Every kind of line that we send is allowed by the published schema (the link checks them all)."""
    async with peer("echo") as agent:
        client = agent.client
        await client.initialize()
        servers = [
            StdioServer(name="a", command="/bin/a", args=["-x"], env=[NameValue(name="K", value="v")]),
            HttpServer(name="b", url="http://b/", headers=[NameValue(name="H", value="v")]),
            SseServer(name="c", url="http://c/", headers=[]),
        ]
        session = (await client.new_session("/w", servers, {"traceparent": "00-1"})).session_id
        await client.load_session(session, "/w", servers)
        await client.resume_session(session, "/w")
        await client.fork_session("other", "/w", servers)
        blocks = [
            TextBlock(text="look"),
            ImageBlock(data="aGk=", mime_type="image/png"),
            ResourceLinkBlock(name="a.py", uri="file:///w/a.py", mime_type="text/x-python", size=3),
            ImageBlock(data="aGk=", mime_type="image/png", uri="file:///shot.png"),
            ResourceBlock(resource=TextResource(uri="file:///a.txt", text="a", mime_type="text/plain")),
            msgspec.Raw(b'{"type":"resource","resource":{"uri":"file:///w/b","text":"b"}}'),
        ]
        await client.prompt(session, blocks, "prompt:1:1")
        await client.cancel(session, "cancel:1:1")
        await client.set_mode(session, "plan")
        await client.set_config_option(session, "model", "large")
        await client.set_config_option(session, "fast", True)
        methods = [msgspec.json.decode(line)["method"] for line in agent.link.sent]
    assert methods == [
        "initialize",
        "session/new",
        "session/load",
        "session/resume",
        "session/fork",
        "session/prompt",
        "session/cancel",
        "session/set_mode",
        "session/set_config_option",
        "session/set_config_option",
    ]


async def test_the_client_introduces_itself() -> None:
    """C2: The client names itself and offers neither files nor terminals."""
    async with peer("echo") as agent:
        await agent.client.initialize()
        [request] = agent.ear.echoes("initialize")
    assert request["params"] == {
        "protocolVersion": 1,
        "clientCapabilities": {
            "session": {"configOptions": {"boolean": {}}},
            "elicitation": {"form": {}, "url": {}},
        },
        "clientInfo": {"name": "bough", "title": "Bough", "version": __version__},
    }


async def test_the_key_is_the_id() -> None:
    """Q4: A prompt is sent under the id of its task and attempt, and never twice."""
    async with peer("echo") as agent:
        session = await agent.open()
        await agent.client.prompt(session, say("hi"), "prompt:019a:1")
        with pytest.raises(Internal, match="prompt:019a:1"):
            await agent.client.prompt(session, say("hi"), "prompt:019a:1")
        with pytest.raises(Internal):
            await agent.client.cancel(session, "prompt:019a:1")
        assert [message["id"] for message in agent.ear.echoes("session/prompt")] == ["prompt:019a:1"]


async def test_updates_come_before_the_answer() -> None:
    """Q1: When a prompt returns, everything that the agent wrote before has been delivered, in order."""
    async with peer("echo") as agent:
        session = await agent.open()
        await agent.client.prompt(session, say("hi"), "p")
        assert agent.ear.texts == ["one", "two"]


async def test_the_waiter_continues_before_later_lines() -> None:
    """Q1: Lines after the end of a turn are not delivered before the prompt returns."""
    async with peer("echo") as agent:
        session = await agent.open()
        await agent.client.prompt(session, say("late"), "p")
        assert agent.ear.texts == ["one", "two"]
        await agent.ear.until(lambda: agent.ear.texts == ["one", "two", "late"])


async def test_everything_carries_its_line_number() -> None:
    """O2: The handler knows up to which line it has stored, and which line ended a turn."""
    async with peer("echo") as agent:
        session = await agent.open()
        await agent.client.prompt(session, say("ask"), "p")
        # Each message comes back as an echo; the prompt then as 3 questions, 2 chunks and its answer.
        assert agent.ear.numbers == [1, 2, 3, 4, 5, 6, 7, 8, 10, 11]
        assert agent.ear.answered[-1] == ("p", 11)
        assert [number for _, number in agent.ear.answered] == [2, 4, 11]


async def test_requests_of_the_agent_are_answered_by_id() -> None:
    """C1: The agent's requests arrive in order with its updates, and answers carry their id."""
    async with peer("echo") as agent:
        session = await agent.open()
        await agent.client.prompt(session, say("ask"), "p")
        places = [
            item.id if isinstance(item, AgentRequest) else item.text
            for item in agent.ear.heard
            if isinstance(item, AgentRequest) or (isinstance(item, SessionUpdate) and item.text)
        ]
        assert places == [0, "a", None, "one", "two"]
        first, second, third = agent.ear.requests
        assert first.method == "fs/read_text_file"
        assert msgspec.json.decode(first.params) == {"sessionId": session, "path": "/x"}
        await agent.connection.reply(first.id, {"content": "x"}, key="r1")
        await agent.connection.reply_error(second.id, -32601, "not offered", key="r2")
        await agent.connection.reply_error(third.id, -32601, "not offered", key="r3")

        def answers() -> list[tuple[object, object, object]]:
            messages = [msgspec.json.decode(u.raw)["message"] for u in agent.ear.updates if u.kind == "echo"]
            return [(m["id"], m.get("result"), m.get("error")) for m in messages if "method" not in m]

        await agent.ear.until(lambda: len(answers()) == 3)
        refusal = {"code": -32601, "message": "not offered"}
        assert answers() == [(0, {"content": "x"}, None), ("a", None, refusal), (None, None, refusal)]


async def waiting_prompt(agent: Peer, key: str) -> "asyncio.Task[object]":
    session = await agent.open()
    task: asyncio.Task[object] = asyncio.create_task(agent.client.prompt(session, say("wait"), key))
    await agent.ear.until(lambda: bool(agent.ear.echoes("session/prompt")))
    return task


async def test_a_cancelled_request_is_withdrawn() -> None:
    """T3: When a waiter is cancelled, the agent is told which request is no longer needed."""
    async with peer("echo") as agent:
        task = await waiting_prompt(agent, "p")
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
        await agent.ear.until(lambda: bool(agent.ear.echoes("$/cancel_request")))
        [notification] = agent.ear.echoes("$/cancel_request")
        assert notification == {"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": "p"}}
        await agent.client.set_mode("s", "m")


async def test_a_timed_out_request_is_withdrawn() -> None:
    """C1: A request that timed out is withdrawn too."""
    async with peer("echo") as agent:
        params = {"sessionId": await agent.open(), "prompt": [{"type": "text", "text": "wait"}]}
        with pytest.raises(AgentTimeout):
            await agent.connection.request("session/prompt", params, key="p", timeout=0.05)
        await agent.ear.until(lambda: bool(agent.ear.echoes("$/cancel_request")))


async def test_a_detached_wait_leaves_the_turn_running() -> None:
    """O2: A server that stops does not withdraw the turn, which continues without it."""
    async with peer("echo") as agent:
        task = await waiting_prompt(agent, "p")
        agent.connection.detach()
        task.cancel()
        await asyncio.wait([task])
        await agent.client.set_mode("s", "m")
        assert agent.ear.echoes("$/cancel_request") == []


async def test_a_stopped_reader_fails_its_waiters() -> None:
    """C1: No request waits forever on a connection that is no longer read."""
    async with peer("echo") as agent:
        task = await waiting_prompt(agent, "p")
        agent.run.cancel()
        with pytest.raises(AgentGone, match="no longer connected"):
            await task


async def test_replay(tmp_path_factory: pytest.TempPathFactory) -> None:
    """C1: The recorded lines arrive whole and in order, in far fewer batches than lines."""
    path = tmp_path_factory.mktemp("replay") / "recording.jsonl"
    update = b'{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"tick %d "}}'
    line = b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"replay","update":%s}}'
    path.write_bytes(b"\n".join(line % (update % number) for number in range(20_000)))
    async with peer("replay", str(path)) as agent:
        session = await agent.open()
        await agent.client.prompt(session, say("go"), "p")
        assert "".join(agent.ear.texts) == "".join(f"tick {number} " for number in range(20_000))
        assert agent.ear.batches < 1000
