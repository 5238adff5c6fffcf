"""The client with misbehaving agents: each problem is a clear failure or does no harm."""

import asyncio

import psutil
import pytest
from structlog.testing import capture_logs

from bough.agents.acp import connection
from bough.agents.acp.types import TextBlock
from bough.agents.errors import AgentGone, AgentRefused, AgentTimeout
from bough.errors import AgentFailed
from tests.agents.acp.acp_peers import peer
from tests.support.eventually import PATIENCE


async def test_silent() -> None:
    """C1: The error about an agent that never answers names the agent, the method and the time limit."""
    async with peer("silent") as agent:
        with pytest.raises(AgentTimeout, match=r"silent did not answer initialize within 0\.05 s") as caught:
            await agent.client.initialize(timeout=0.05)
        assert caught.value.details["method"] == "initialize"


async def test_dies_mid_line() -> None:
    """O2: Lines before the death are kept, and half a line does not count as an answer."""
    async with peer("dies_mid_line") as agent:
        session = await agent.open()
        with pytest.raises(AgentGone, match="dies_mid_line ended with code 7"):
            await agent.client.prompt(session, [], "prompt:1:1")
        assert agent.ear.texts == ["last words"]
        assert (await agent.run).code == 7


@pytest.mark.parametrize(("name", "count"), [("arrays", 5), ("junk", 5)])
async def test_junk_is_ignored(name: str, count: int) -> None:
    """C1: Lines that are not messages are counted, logged once with an excerpt, and do no harm."""
    with capture_logs() as logs:
        async with peer(name) as agent:
            session = await agent.open()
            assert (await agent.client.prompt(session, [], "p")).stop_reason == "end_turn"
            assert agent.connection.junk == 3 * count
    [entry] = logs
    assert entry["log_level"] == "warning"
    assert entry["line"] in ("[1,2]", "Loading plugins...")


async def test_nothing_but_junk() -> None:
    """C1: A program that is not an agent is detected, and every waiter learns why."""
    async with peer("junk", str(2 * connection.JUNK_LIMIT)) as agent:
        with pytest.raises(AgentFailed, match="does not speak the Agent Client Protocol") as caught:
            await agent.client.initialize()
        assert caught.value.code == "agent_talks_junk"
        with pytest.raises(AgentFailed, match="does not speak"):
            await agent.run


async def test_wrong_ids() -> None:
    """C1: Answers to unknown requests are logged and change nothing."""
    with capture_logs() as logs:
        async with peer("wrong_id") as agent:
            assert (await agent.client.initialize()).protocol_version == 1
    assert [entry["id"] for entry in logs] == ["nobody", 0, None]


async def test_line_beyond_the_cap() -> None:
    """C1: A line that is too long is a clear failure; lines before it arrive."""
    async with peer("long_line", "5000", line_cap=4096) as agent:
        session = await agent.open()
        with pytest.raises(AgentFailed, match="wrote a line that is too long") as caught:
            await agent.client.prompt(session, [], "p")
        assert caught.value.code == "line_too_long"
        with pytest.raises(AgentFailed, match="that is too long"):
            await agent.run


async def test_line_without_end_costs_bounded_memory() -> None:
    """C1: At the real cap of 64 MiB, an endless line takes little more memory than that."""
    before = psutil.Process().memory_info().rss
    async with peer("long_line", "0") as agent:
        session = await agent.open()
        with pytest.raises(AgentFailed, match="that is too long"):
            await agent.client.prompt(session, [], "p")
        after = psutil.Process().memory_info().rss
    assert after - before < 100 * 1024 * 1024


async def test_closes_stdout_but_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    """O2: An agent that closed its output counts as gone, although its process may live."""
    monkeypatch.setattr("bough.agents.process.process_link.LAST_WORDS", 0.05)
    async with peer("closes_stdout") as agent:
        session = await agent.open()
        with pytest.raises(AgentGone, match="closes_stdout"):
            await agent.client.prompt(session, [], "p")


async def test_exits_at_once() -> None:
    """C1: The error has the last line of stderr in its message and all of it in its details."""
    async with peer("exits_at_once") as agent:
        with pytest.raises(AgentGone, match="ended with code 3: no credentials: run `agent login` first") as caught:
            await agent.client.initialize()
        assert caught.value.details["exit_code"] == 3
        assert "no credentials" in caught.value.details["stderr"]
        assert (await agent.run).code == 3


async def test_a_request_to_a_dead_agent_fails_at_once() -> None:
    """O2: A request to a dead agent fails at once, not after a timeout."""
    async with peer("exits_at_once") as agent:
        await agent.run
        # A prompt itself has no time limit.
        async with asyncio.timeout(PATIENCE):
            for attempt in range(3):
                with pytest.raises(AgentGone, match="code 3"):
                    await agent.client.prompt("s", [], f"p{attempt}")
            with pytest.raises(AgentGone, match="code 3"):
                await agent.client.cancel("s", "c")


async def test_refuses() -> None:
    """C1: The agent's error keeps its code and data."""
    async with peer("refuses") as agent:
        with pytest.raises(AgentRefused, match="refused initialize: state runtime failed") as caught:
            await agent.client.initialize()
        assert caught.value.rpc_code == -32603
        assert caught.value.data == {"restartable": True}


async def test_other_version() -> None:
    """C1: An agent that speaks another version of the protocol is not used."""
    async with peer("other_version") as agent:
        with pytest.raises(AgentFailed, match=r"speaks version 2 .* Bough speaks version 1") as caught:
            await agent.client.initialize()
        assert caught.value.code == "agent_protocol"


async def test_a_session_without_an_id() -> None:
    """C1: An answer without a required field is reported as the agent's failure."""
    async with peer("other_version") as agent:
        with pytest.raises(AgentFailed, match="answered session/new without a session id") as caught:
            await agent.client.new_session("/")
        assert caught.value.code == "agent_answer"


async def test_slow_reader_that_floods() -> None:
    """C1: A prompt of 5 MB reaches an agent that first writes 5 MB itself, without a deadlock."""
    async with peer("slow_reader") as agent:
        session = await agent.open()
        ended = await agent.client.prompt(session, [TextBlock(text="x" * 5_000_000)], "p")
        assert ended.stop_reason == "end_turn"
        assert "".join(agent.ear.texts) == "".join(f"tick {number}" for number in range(50_000))


async def test_sending_waits_for_a_slow_reader() -> None:
    """C1: While the agent does not read, the sender waits; a time-out still ends the wait."""
    async with peer("slow_reader", "70000") as agent:
        session = await agent.open()
        agent.ear.gate.clear()  # we do not read, so the agent is stuck in writing and does not read either
        with pytest.raises(AgentTimeout):
            await agent.connection.request(
                "session/prompt", {"sessionId": session, "prompt": []}, key="a", timeout=0.05
            )
        big = [TextBlock(text="x" * 5_000_000)]
        prompt = asyncio.create_task(agent.client.prompt(session, big, "p"))
        done, _ = await asyncio.wait([prompt], timeout=0.05)
        assert not done
        agent.ear.gate.set()
        assert (await prompt).stop_reason == "end_turn"
