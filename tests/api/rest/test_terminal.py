"""Tests a session with the terminal agent, whose prompts are shell commands."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from tests.api.error_responses import Json
from tests.support.client import Client
from tests.support.server import Running


@dataclass
class Shell:
    """A session with the terminal agent that asks about nothing."""

    client: Client
    id: str
    folder: Path
    data: Path

    async def run(self, command: str) -> Json:
        """Runs a command; gives back its tool call."""
        task = await self.client.ask(self.id, command)
        assert (task["status"], task["stopReason"]) == ("completed", "end_turn")
        return await self.tool(task["id"])

    async def output(self, command: str) -> str:
        return (await self.run(command))["result"]["output"]["output"]

    async def tool(self, task_id: str) -> Json:
        messages = await self.client.get(f"/api/sessions/{self.id}/messages")
        (tool,) = [
            message["content"]
            for message in messages
            if message["taskId"] == task_id and message["content"]["type"] == "tool"
        ]
        return tool

    def agents(self) -> list[psutil.Process]:
        home = f"{self.data}/terminal"
        return [item for item in psutil.process_iter() if _environment(item).get("BOUGH_TERMINAL_HOME") == home]


def _environment(process: psutil.Process) -> dict[str, str]:
    try:
        return process.environ()
    except psutil.Error:
        return {}


@pytest.fixture
async def shell(server: Running) -> AsyncGenerator[Shell]:
    repo = await server.client.repo(server.repo())
    session = await server.client.session(repo["id"], agent="terminal", permissionMode="bypassPermissions")
    yield Shell(server.client, session["id"], server.root / "repo", server.data)


async def _until(shell: Shell, text: str) -> None:
    """Waits until a command that runs has printed this."""

    def printed(message: Json) -> bool:
        shown: list[Json] = message["content"].get("result", {}).get("content", [])
        return any(item["content"]["text"] == text for item in shown)

    async with shell.client.events(shell.id) as events:
        if not any(map(printed, await shell.client.get(f"/api/sessions/{shell.id}/messages"))):
            await events.until(lambda event: event["type"].startswith("message.") and printed(event["data"]))


async def test_a_command_and_its_end(shell: Shell) -> None:
    """C1, R4: the transcript has the command, where it ran, what it printed and its code; the task has completed."""
    tool = await shell.run("echo hi; exit 3")
    assert (tool["tool"], tool["title"], tool["kind"]) == ("run", "echo hi; exit 3", "execute")
    assert tool["args"] == {"command": "echo hi; exit 3", "cwd": str(shell.folder)}
    assert tool["result"]["status"] == "failed"
    assert tool["result"]["output"] == {"exitCode": 3, "signal": None, "output": "hi\n"}
    assert await shell.client.texts(shell.id) == ["exit 3"]


async def test_a_session_is_one_shell(shell: Shell) -> None:
    """C1: folder and exports hold from prompt to prompt."""
    (shell.folder / "sub").mkdir()
    await shell.run("cd sub")
    assert await shell.output("pwd") == f"{shell.folder}/sub\n"
    await shell.run("export X=1")
    assert await shell.output("echo $X") == "1\n"
    assert "BOUGH" not in await shell.output("env")


@pytest.mark.parametrize("decision", ["allow", "deny"])
async def test_a_person_is_asked(server: Running, decision: str) -> None:
    """P3, P4: in the mode that a session has by itself a command waits for an answer, and runs only if it is yes."""
    client = server.client
    repo = await client.repo(server.repo())
    session = await client.session(repo["id"], agent="terminal")
    task = await client.prompt(session["id"], "touch made")
    approval = await client.approval(session["id"])
    assert (approval["toolKind"], approval["title"]) == ("execute", "touch made")
    assert "made" not in os.listdir(server.root / "repo")
    await client.post(f"/api/approvals/{approval['id']}", {"decision": decision})
    assert (await client.wait_task(task))["status"] == "completed"
    assert ("made" in os.listdir(server.root / "repo")) == (decision == "allow")


async def test_stop_ends_the_command_and_its_children(shell: Shell) -> None:
    """T3: a stopped turn leaves no process behind, not even one in a session of its own; what was printed is kept."""
    command = "setsid sh -c 'echo $$ > child; echo up; exec sleep 60' & sleep 60"
    task = await shell.client.prompt(shell.id, command)
    await _until(shell, "up\n")
    child = int((shell.folder / "child").read_text())
    await shell.client.post(f"/api/sessions/{shell.id}/stop")
    assert (await shell.client.wait_task(task))["status"] == "cancelled"
    assert not psutil.pid_exists(child) or psutil.Process(child).status() == psutil.STATUS_ZOMBIE
    tool = await shell.tool(task)
    assert (tool["result"]["status"], tool["result"]["output"]["output"].startswith("up\n")) == ("failed", True)


async def test_a_killed_agent_is_no_end_of_the_shell(shell: Shell) -> None:
    """O2: after kill -9 of the agent the next command knows folder and exports."""
    (shell.folder / "sub").mkdir()
    await shell.run("cd sub; export X=1")
    agents = shell.agents()
    assert agents
    for agent in agents:
        agent.send_signal(signal.SIGKILL)
    assert await shell.output("pwd; echo $X") == f"{shell.folder}/sub\n1\n"


async def test_a_command_that_was_cut_off_is_not_run_twice(shell: Shell) -> None:
    """O2: a command whose agent is killed is over; the next attempt says so and does nothing."""
    task = await shell.client.prompt(shell.id, "echo x >> count; echo up; sleep 60")
    await _until(shell, "up\n")
    for agent in shell.agents():
        agent.send_signal(signal.SIGKILL)
    ended = await shell.client.wait_task(task)
    assert (ended["status"], ended["attempt"]) == ("completed", 2)
    assert "not run again" in (await shell.client.texts(shell.id))[-1]
    assert await shell.output("cat count") == "x\n"


async def test_much_output_and_odd_bytes(shell: Shell) -> None:
    """C1: a flood arrives cut in the middle, a character in two halves whole, and bytes that are no text replaced."""
    output = await shell.output("yes | head -c 5000000; printf 'end \\303'; sleep 0.05; printf '\\251 \\377 \\0'")
    assert output.startswith("y\ny\n")
    assert "bytes are left out here" in output
    assert output.endswith("end é \ufffd \u2400")
    assert len(output) < 1_100_000


async def test_the_agent_is_listed(server: Running) -> None:
    """A2: it is among the agents, and can be started."""
    agents = (await server.client.get("/api/agents"))["agents"]
    (terminal,) = [agent for agent in agents if agent["name"] == "terminal"]
    assert terminal["installed"]
