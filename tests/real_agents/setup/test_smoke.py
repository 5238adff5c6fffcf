"""P2: Each real agent starts, speaks the protocol and follows the script, without Bough in between."""

from __future__ import annotations

from pathlib import Path

from bough.agents.acp.types import HttpServer, NameValue, StdioServer
from tests.real_agents.helpers.agent_under_test import Real
from tests.real_agents.helpers.agent_without_bough import talking
from tests.support.real_agents import mcp_probe
from tests.support.real_agents.actions import actions_of
from tests.support.real_agents.homes import Home
from tests.support.real_agents.packages import PACKAGES
from tests.support.scripted_model.running import ScriptedModel


async def test_an_agent_says_what_its_model_says(agent: str, home: Home, model: ScriptedModel, repo: Path) -> None:
    """P2: Initializes, creates a session and runs a turn; the model is the scripted one, and the pinned version is
    running."""
    actions = actions_of(agent, repo)
    async with talking(agent, home, repo) as talk:
        result = await talk.result(actions.say("hello from the script"))
        assert talk.about.version == PACKAGES[agent].version
        assert result.stop_reason == "end_turn"
        assert talk.listener.text.strip() == "hello from the script"
        assert (await model.wait_for(lambda entry: entry.tools > 0)).does == ["say"]
        assert "2 user turns" in await talk.ask(actions.recall())


async def test_each_action_is_carried_out(agent: str, home: Home, repo: Path, place: Path) -> None:
    """P2: Every agent can be made to do the common actions: files, commands, and commands outside its folder."""
    actions = actions_of(agent, repo)
    async with talking(agent, home, repo) as talk:
        await talk.ask(actions.write("new.txt", "alpha\nbeta\n"))
        assert (repo / "new.txt").read_text() == "alpha\nbeta\n"
        await talk.ask(actions.edit("seed.txt", "two", "TWO"))
        assert (repo / "seed.txt").read_text() == "one\nTWO\nthree\n"
        assert "three" in await talk.ask(actions.read("seed.txt"))
        assert "harmless" in await talk.ask(actions.echo("harmless"))
        assert "shell-out" in await talk.ask(actions.shell_write("made.txt"))
        assert (repo / "made.txt").read_text() == "from-shell\n"
        outside = place / "outside.txt"
        await talk.ask(actions.shell_outside(outside, escalate=True))
        assert outside.read_text() == "from-shell\n"


async def test_tools_of_mcp_servers_are_called(agent: str, home: Home, repo: Path, http_tools: str) -> None:
    """R2: Tools on HTTP reach every agent; those on stdio all except Copilot, which silently drops them."""
    label = NameValue(name=mcp_probe.LABEL, value="stdio")
    servers = [
        StdioServer(name="near", command=mcp_probe.COMMAND[0], args=list(mcp_probe.COMMAND[1:]), env=[label]),
        HttpServer(name="far", url=http_tools, headers=[]),
    ]
    actions = actions_of(agent, repo)
    async with talking(agent, home, repo, servers) as talk:
        await talk.ask_until(actions.mcp("far", text="over http"), "SHOUTED[http]: OVER HTTP")
        if agent != "copilot":
            await talk.ask_until(actions.mcp("near"), "SHOUTED[stdio]: QUIET WORDS")


async def test_an_agent_behind_a_server(real: Real) -> None:
    """P2: The same agent in the same home, started by a server, ends its turn, and its text is in the transcript."""
    session = await real.session()
    task = await real.ask(session, real.actions.say("hello from the script"))
    assert (task["status"], task["stopReason"]) == ("completed", "end_turn")
    assert (await real.said(session)).strip() == "hello from the script"
    assert (await real.model.wait_for(lambda entry: entry.tools > 0)).does == ["say"]
    task = await real.ask(session, real.actions.read("seed.txt"))
    assert task["status"] == "completed"
    assert "three" in await real.said(session)
    assert len(await real.tools(session)) == 1
