"""Tests what each agent gets from its session (MCP tools, context files, the repository's instructions), and what
people see of its requests (diffs and commands)."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from collections.abc import AsyncGenerator, Generator
from pathlib import Path

import pytest

from tests.real_agents.helpers.agent_processes import agent_tree, kill
from tests.real_agents.helpers.agent_under_test import Json, Real
from tests.real_agents.helpers.measurements_table import Record
from tests.real_agents.helpers.watch_turn import Seen, watch
from tests.support.real_agents import mcp_probe
from tests.support.real_agents.homes import KEY
from tests.support.real_agents.mcp_probe import http_probe
from tests.support.scripted_model.running import ScriptedModel, scripted_model

# Codex says that it does not support SSE; Copilot says nothing and drops stdio servers.
UNREACHABLE = {"codex": "web (sse)", "copilot": "near (stdio)"}
INSTRUCTIONS = {
    "claude-code": "CLAUDE.md",
    "codex": "AGENTS.md",
    "gemini": "GEMINI.md",
    "opencode": "AGENTS.md",
    "copilot": "AGENTS.md",
    "qwen": "AGENTS.md",
}
# Where agents keep their conversations.
CONVERSATIONS = (
    ".claude/projects/*",
    "codex/sessions",
    "codex/state*",
    ".gemini/tmp",
    ".local/share/opencode/opencode.db*",
    ".copilot/session-state",
    ".qwen/projects",
    ".qwen/tmp",
)
TRIES = 30
NOTED = 'env > "$NOTED"; exec "$@"'


@pytest.fixture
async def model(place: Path) -> AsyncGenerator[ScriptedModel]:
    """A model that keeps every request complete."""
    async with scripted_model(dump=place / "requests") as model:
        yield model


@pytest.fixture(scope="session")
def sse_tools(bare_environment: None) -> Generator[str]:
    """The address of an MCP server on SSE."""
    with http_probe("sse", "sse") as url:
        yield url


class Sent:
    """The requests that the model received in turns; other requests offer it no tools."""

    def __init__(self, place: Path) -> None:
        self._folder = place / "requests"

    def last(self) -> str:
        for path in sorted(self._folder.glob("*.json"), reverse=True):
            whole = json.loads(path.read_text())
            # Codex has another conversation beside each turn, with a smaller model.
            if whole["entry"]["tools"] and not whole["entry"]["model"].endswith("-luna"):
                return json.dumps(_without_answers(whole["body"]), ensure_ascii=False)
        raise AssertionError("the model was not asked")


def _without_answers(body: Json) -> Json:
    """Returns a request without the model's own answers."""
    field = next(name for name in ("messages", "input", "contents") if name in body)
    return body | {field: [item for item in body[field] if item.get("role") not in ("assistant", "model")]}


@pytest.fixture
def sent(place: Path) -> Sent:
    return Sent(place)


async def added(real: Real, **fields: object) -> str:
    """Adds an MCP server and returns its id."""
    return (await real.client.post("/api/mcp-servers", fields))["id"]


async def stdio_server(real: Real, name: str, noted: Path, label: str) -> str:
    """Adds an MCP server that records its environment before it starts."""
    env = {mcp_probe.LABEL: label, "NOTED": str(noted)}
    args = ["-c", NOTED, "probe", *mcp_probe.COMMAND]
    return await added(real, name=name, transport="stdio", command="/bin/sh", args=args, env=env)


async def change(real: Real, session: str, **fields: object) -> None:
    await real.client.call("PATCH", f"/api/sessions/{session}", json=fields)


async def notices(real: Real, session: str) -> list[str]:
    return [
        message["content"]["text"] for message in await real.messages(session) if message["content"]["type"] == "notice"
    ]


async def call(real: Real, session: str, server: str, tool: str = "shout", decision: str = "allow") -> Seen:
    """Makes the agent call a tool. Codex connects to MCP servers in the background and knows their tools only then."""
    for _ in range(TRIES):
        seen = await watch(real, session, real.actions.mcp(server, tool), decision)
        if seen.asked or seen.refused or "unsupported call" not in seen.said:
            return seen
    raise AssertionError(f"{server} was not reached")


async def test_tools_of_mcp_servers(real: Real, record: Record, http_tools: str, sse_tools: str, place: Path) -> None:
    """C1, P3: The user's MCP servers reach the agent, approvals about their tools name server and tool, and a rule by
    `SERVER/TOOL` decides about exactly that."""
    noted = place / "noted"
    ids = [
        # Longer values are secret, and masked where an agent repeats them.
        await stdio_server(real, "near", noted, "own"),
        await added(real, name="far", transport="http", url=http_tools),
        await added(real, name="web", transport="sse", url=sse_tools),
    ]
    session = await real.session(permissionMode="default", mcpServerIds=ids)
    left_out = UNREACHABLE.get(real.agent, "")
    for name, label, transport in (("near", "own", "stdio"), ("far", "http", "http"), ("web", "sse", "SSE")):
        if left_out.startswith(name):
            record(f"MCP on {transport}", "not attached, reported")
            continue
        seen = await call(real, session, name)
        assert f"SHOUTED[{label}]: QUIET WORDS" in seen.said
        [asked] = seen.asked
        assert (asked["toolKind"], asked["title"]) == ("mcp", f"{name}/shout")
        record(f"MCP on {transport}", "works, asks as SERVER/TOOL")
    assert [left_out in notice for notice in await notices(real, session)] == [True] * bool(left_out)
    environment = noted.read_text() if noted.exists() else ""
    assert KEY not in environment
    if environment:
        record("agent's key in stdio servers", "withheld")

    await real.client.post("/api/policy/rules", {"effect": "allow", "tool": "far/shout"})
    await real.client.post("/api/policy/rules", {"effect": "deny", "tool": "far/who*", "note": "Nobody asks who."})
    seen = await call(real, session, "far")
    assert (seen.asked, "SHOUTED[http]" in seen.said) == ([], True)
    seen = await call(real, session, "far", "whoami")
    assert (seen.asked, [item["title"] for item in seen.refused]) == ([], ["far/whoami"])
    assert "label=" not in seen.said
    record("rules by SERVER/TOOL", "apply")


async def test_mcp_servers_come_and_go(real: Real, record: Record, http_tools: str, sent: Sent) -> None:
    """R2, P2: A server that is added to a session, or removed from it, counts from the next prompt on, and the
    conversation continues."""
    far = await added(real, name="far", transport="http", url=http_tools)
    session = await real.session(permissionMode="allow-all")
    await real.ask(session, "Remember the heron.")
    await change(real, session, mcpServerIds=[far])
    assert "SHOUTED[http]" in (await call(real, session, "far")).said
    await change(real, session, mcpServerIds=[])
    seen = await watch(real, session, real.actions.tools())
    assert "tools" in seen.said and "shout" not in seen.said
    assert "Remember the heron." in sent.last()
    record("MCP servers by PATCH", "at the next prompt")


async def test_context_files_reach_the_model(real: Real, record: Record, sent: Sent) -> None:
    """R2: Context files reach the model with the first prompt, further ones with the next, none twice, and all again
    when the conversation starts anew; the repository's instructions reach it too."""
    for name in ("notes.md", "more.md"):
        (real.repo / name).write_text(f"In {name}.\n")
    for name in ("CLAUDE.md", "AGENTS.md", "GEMINI.md"):
        (real.repo / name).write_text(f"Follow {name}.\n")
    session = await real.session(permissionMode="default", contextFiles=["notes.md"])
    await real.ask(session, real.actions.say("first"))
    first = sent.last()
    # Some agents list the existing files to the model: each as often as the other.
    listed = first.count("more.md")
    linked = first.count("notes.md")
    assert linked > listed
    assert "notes.md[[" not in first, "the prompt is glued to the link"
    assert f"Follow {INSTRUCTIONS[real.agent]}" in first
    await real.ask(session, real.actions.say("second"))
    assert sent.last().count("notes.md") == linked
    await change(real, session, contextFiles=["notes.md", "more.md"])
    await real.ask(session, real.actions.say("third"))
    third = sent.last()
    assert (third.count("notes.md"), third.count("more.md")) == (linked, linked)
    record("context files", "with the next prompt, once")

    kill(agent_tree(real))
    for place in (real.home.folder, real.server.data / "homes"):
        forget(place)
    await real.ask(session, real.actions.say("fourth"))
    fourth = sent.last()
    assert min(fourth.count("notes.md"), fourth.count("more.md")) >= linked
    assert f"Follow {INSTRUCTIONS[real.agent]}" in fourth
    assert "third" in fourth
    record("context files after a restart with no context", "again")
    record("repository's instructions", f"{INSTRUCTIONS[real.agent]} reaches the model")


async def test_approvals_show_the_diff_or_command(real: Real, record: Record) -> None:
    """P4: An approval carries the diff of an edit, or the command, and `bough approval show` shows it."""
    session = await real.session(permissionMode="default")
    task = await real.client.prompt(session, real.actions.edit("seed.txt", "two", "TWO"))
    asked = await real.client.approval(session)
    [diff] = [item for item in asked["toolCall"]["content"] if item["type"] == "diff"]
    assert diff["path"] == str(real.repo / "seed.txt")
    assert ("TWO" in diff["newText"], "two" in diff["oldText"]) == (True, True)
    shown = await bough(real, "approval", "show", asked["id"])
    assert "-two" in shown and "+TWO" in shown
    await real.client.post(f"/api/approvals/{asked['id']}", {"decision": "allow"})
    assert (await real.client.wait_task(task))["status"] == "completed"
    assert (real.repo / "seed.txt").read_text() == "one\nTWO\nthree\n"
    record("approval of an edit", "has the diff")

    task = await real.client.prompt(session, real.actions.shell_write("made.txt", escalate=True))
    asked = await real.client.approval(session)
    assert asked["toolKind"] == "execute"
    command = f"echo from-shell > '{real.repo / 'made.txt'}' && echo shell-out"
    shown = await bough(real, "approval", "show", asked["id"])
    assert "".join(command.split()) in "".join(shown.split())
    rule = {"effect": "deny", "command": "echo from-shell*"}
    await real.client.post("/api/policy/rules", rule)
    await real.client.post(f"/api/approvals/{asked['id']}", {"decision": "allow"})
    assert (await real.client.wait_task(task))["status"] == "completed"
    assert (real.repo / "made.txt").exists()
    seen = await watch(real, session, real.actions.shell_write("never.txt", escalate=True))
    assert (seen.asked, len(seen.refused)) == ([], 1)
    assert not (real.repo / "never.txt").exists()
    record("approval of a command", "has the command")


@pytest.mark.only("claude-code", "gemini", "opencode")
async def test_a_todo_list_becomes_the_plan(real: Real, record: Record) -> None:
    """R4: Nobody is asked about the agent's own list, and an agent that reports the list shows it as its plan."""
    session = await real.session(permissionMode="default")
    seen = await watch(real, session, real.actions.plan())
    assert (seen.asked, seen.refused) == ([], [])
    plans = [message["content"] for message in await real.messages(session) if message["content"]["type"] == "plan"]
    # Gemini reports only how many steps it has.
    assert bool(plans) == (real.agent != "gemini")
    assert all(plan["steps"][0]["content"] == "First" for plan in plans)
    record("todo list", "is the plan" if plans else "not asked about")


def forget(place: Path) -> None:
    """Makes the agent lose every conversation that it kept."""
    for pattern in CONVERSATIONS:
        for path in place.glob(pattern):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


async def bough(real: Real, *words: str) -> str:
    """Returns the output of `bough`."""
    env = os.environ | {"BOUGH_DATA": str(real.server.data), "NO_COLOR": "1", "COLUMNS": "200"}
    command = (sys.executable, "-m", "bough", *words)
    process = await asyncio.create_subprocess_exec(*command, env=env, stdout=asyncio.subprocess.PIPE)
    output, _ = await process.communicate()
    assert process.returncode == 0, output
    return output.decode()
