"""Secret values that an agent repeats are not in transcripts, events, search, exports and approvals."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

from tests.api.server_processes import started
from tests.core.helpers import add_agent, messages, open_in, open_session
from tests.support.client import Client
from tests.support.eventually import eventually
from tests.support.server import Running, ServerProcess, serving

SECRET = "heron-4711-grey-wing"
AGENT = "tests.support.misbehaving_agents.tells_secrets"


def add_telling_agent(folder: Path) -> Path:
    """Adds the agent that tells its secrets; returns the file that it waits for."""
    gate = folder / "gate"
    add_agent(folder, "telling", ["{python}", "-m", AGENT, str(gate)])
    return gate


async def everything(client: Client, session: str) -> str:
    """Returns all that the server says about a session."""
    mine = f"/api/sessions/{session}"
    paths = [mine, f"{mine}/messages", f"{mine}/tasks", f"{mine}/export", f"{mine}/export?format=markdown"]
    paths += ["/api/approvals", "/api/approvals?status=allowed", "/api/policy/choices", "/api/sessions", "/api/home"]
    parts = [(await client.http.get(path)).text for path in paths]
    async with client.events(cursor=0) as events:
        await events.until(lambda event: event["type"] == "stream.ready")
        parts.append(str(events.seen))
    return "\n".join(parts)


def pieces(text: str) -> bool:
    """Returns whether the text holds the secret, or more of it than its first letters."""
    return SECRET[:8] in text or SECRET[8:] in text


async def test_an_agent_tells_its_secret_everywhere(tmp_path: Path) -> None:
    """R1: Whole or in pieces, in texts, arguments, output, diffs, file names, titles and plans, the value is masked."""
    add_telling_agent(tmp_path)
    async with serving(tmp_path) as server:
        client = server.client
        session = await open_session(server, agent="telling", env={"TOLD": SECRET})
        async with client.events(session) as events:
            await client.ask(session, "tell")
            await events.until(lambda event: event["type"] == "session.patched" and event["data"]["activity"] == "idle")
            seen = str(events.seen)
        assert not pieces(seen)
        assert not pieces(await everything(client, session))
        # A beginning of the value that continues differently is text like any other.
        assert (await client.texts(session))[0] == f"begin *** {SECRET[:3]} end"
        [tool, other] = await messages(client, session, "tool")
        assert other["result"]["output"] == "***"
        assert (tool["title"], tool["args"]["command"]) == ("Use ***", "curl ***")
        assert tool["result"]["output"] == "*** done" and tool["locations"] == [{"path": "/x/***.txt"}]
        assert tool["result"]["content"][0]["newText"] == "key=***"
        page = await client.get("/api/search", params={"q": f'"{SECRET}"'})
        assert page["total"] == 0


async def test_errors_do_not_tell(tmp_path: Path) -> None:
    """R1: Neither the words of an error nor the end of an agent's stderr hold the value."""
    add_telling_agent(tmp_path)
    async with serving(tmp_path, max_deaths=1) as server:
        client = server.client
        session = await open_session(server, agent="telling", env={"TOLD": SECRET})
        failed = await client.ask(session, "fail")
        assert failed["status"] == "failed" and "bad key ***" in failed["error"]["message"]
        crashed = await client.ask(session, "crash")
        assert crashed["status"] == "failed"
        errors = await messages(client, session, "error")
        assert any("bad key ***" in str(error) for error in errors)
        assert not pieces(await everything(client, session))


async def test_a_question_does_not_tell(tmp_path: Path) -> None:
    """R1: A person is asked without the value, an "always" answer is recognized, and no row names the value."""
    add_telling_agent(tmp_path)
    async with serving(tmp_path) as server:
        client = server.client
        session = await open_session(server, agent="telling", permissionMode="default", env={"TOLD": SECRET})
        task = await client.prompt(session, "ask")
        approval = await client.approval(session)
        assert approval["title"] == "curl ***" and approval["toolCall"]["masked"] is True
        await client.post(f"/api/approvals/{approval['id']}", {"decision": "allow_always"})
        await client.wait_task(task)
        assert (await client.ask(session, "ask"))["status"] == "completed"
        assert not pieces(await everything(client, session))


async def test_a_long_title_does_not_tell(tmp_path: Path) -> None:
    """R1: A title that is cut in the middle of the value ends before it."""
    add_telling_agent(tmp_path)
    async with serving(tmp_path) as server:
        client = server.client
        session = await open_session(server, agent="telling", permissionMode="default", env={"TOLD": SECRET})
        await client.prompt(session, "ask long")
        approval = await client.approval(session)
        assert approval["title"].rstrip("*") == f"curl {'x' * 480}"
        assert not pieces(await everything(client, session))


async def test_nobody_but_a_person_allows_what_is_masked(tmp_path: Path) -> None:
    """P3: A question whose words are masked cannot be judged again, so that its deadline denies it."""
    add_telling_agent(tmp_path)
    async with serving(tmp_path, headless="allow", approval_timeout=0.01) as server:
        client = server.client
        session = await open_session(server, agent="telling", permissionMode="default", env={"TOLD": SECRET})
        await client.ask(session, "ask")
        [approval] = (await client.get("/api/approvals"))["approvals"]
        assert approval["decision"] == "deny"
        assert "only a person can allow a use of a secret value" in str(approval)


async def test_a_killed_server_does_not_tell(tmp_path: Path) -> None:
    """R1, O2: A value whose first half was sent before the server was killed is masked whole; nothing else is lost."""
    gate = add_telling_agent(tmp_path)
    server = ServerProcess(tmp_path / "data", tmp_path / "work")
    async with started(server):
        async with server.client() as client:
            session = await open_in(server, client, agent="telling", env={"TOLD": SECRET})
            task = await client.prompt(session, "half")

            async def said() -> bool:
                return await client.texts(session) == ["It is "]

            await eventually(said, "the first half has arrived")
            # The agent keeps the value that it was started with.
            await client.call("PATCH", f"/api/sessions/{session}", json={"env": {"TOLD": "another-value"}})
        await server.stop(signal.SIGKILL)
        gate.touch()
        await server.start()
        async with server.client() as client:
            assert (await client.wait_task(task))["status"] == "completed"
            assert await client.texts(session) == ["It is ***."]
            assert not pieces(await everything(client, session))


@pytest.mark.parametrize("place", ["env", "header", "query", "user"])
async def test_values_of_mcp_servers(server: Running, place: str) -> None:
    """R1: Environment values, headers and tokens in them, and secrets in the addresses of a session's MCP servers are
    masked, too; so is a prompt with one, in messages, events and exports."""
    client = server.client
    far: dict[str, Any] = {"transport": "http", "url": "http://127.0.0.1:9/x"}
    plain = {"Content-Type": "application/json"}
    ways: dict[str, dict[str, Any]] = {
        "env": {"transport": "stdio", "command": "/bin/cat", "env": {"KEY": SECRET}},
        "header": far | {"headers": plain | {"authorization": f"Bearer {SECRET}"}},
        "query": far | {"url": f"http://127.0.0.1:9/x?key={SECRET}&v=2"},
        "user": far | {"url": f"http://{SECRET}@127.0.0.1:9/x"},
    }
    mcp = await client.post("/api/mcp-servers", {"name": "far", **ways[place]})
    session = await open_session(server, mcpServerIds=[mcp["id"]])
    await client.ask(session, f"[[say The key is {SECRET}, application/json.]]")
    assert "The key is ***, application/json." in "\n".join(await client.texts(session))
    shown = await client.get(f"/api/sessions/{session}/messages")
    assert not pieces(str(shown))
    assert not pieces((await client.http.get(f"/api/sessions/{session}/export")).text)
    async with client.events(cursor=0) as events:
        await events.until(lambda event: event["type"] == "stream.ready")
        assert not pieces(str(events.seen))


async def test_paths_stay_readable(server: Running) -> None:
    """R1: A value that is a path of this machine is not masked, but one that only begins like a path is."""
    key = "/Zm9vYmFyYmF6cXV4"
    env = {"HERE": str(server.root), "NEW": f"{server.root}/new", "LIST": f"/usr/bin:{server.root}", "KEY": key}
    session = await open_session(server, env=env)
    await server.client.ask(session, f"[[say {server.root} {server.root}/new /usr/bin {key}]]")
    assert (await server.client.texts(session))[-1] == f"{server.root} {server.root}/new /usr/bin ***"
