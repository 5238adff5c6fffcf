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
    """A session with the terminal agent, in a mode that never asks."""

    client: Client
    id: str
    folder: Path
    data: Path

    async def run(self, command: str) -> Json:
        """Runs a command and returns its tool call."""
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
    """Waits until the running command has printed this."""

    def printed(message: Json) -> bool:
        shown: list[Json] = message["content"].get("result", {}).get("content", [])
        return any(item["content"]["text"] == text for item in shown)

    async with shell.client.events(shell.id) as events:
        if not any(map(printed, await shell.client.get(f"/api/sessions/{shell.id}/messages"))):
            await events.until(lambda event: event["type"].startswith("message.") and printed(event["data"]))


async def test_a_command_is_recorded(shell: Shell) -> None:
    """C1, R4: The transcript has the command, its folder, its output and its exit code, and the task is completed."""
    tool = await shell.run("echo hi; exit 3")
    assert (tool["tool"], tool["title"], tool["kind"]) == ("run", "echo hi; exit 3", "execute")
    assert tool["args"] == {"command": "echo hi; exit 3", "cwd": str(shell.folder)}
    assert tool["result"]["status"] == "failed"
    assert tool["result"]["output"] == {"exitCode": 3, "signal": None, "output": "hi\n"}
    assert await shell.client.texts(shell.id) == ["exit 3"]


async def test_shell_state_persists_between_prompts(shell: Shell) -> None:
    """C1: The current folder and exported variables persist from prompt to prompt."""
    (shell.folder / "sub").mkdir()
    await shell.run("cd sub")
    assert await shell.output("pwd") == f"{shell.folder}/sub\n"
    await shell.run("export X=1")
    assert await shell.output("echo $X") == "1\n"
    assert "BOUGH" not in await shell.output("env")


@pytest.mark.parametrize("decision", ["allow", "deny"])
async def test_a_command_needs_approval(server: Running, decision: str) -> None:
    """P3, P4: In the default mode a command waits for an approval and runs only if it is allowed."""
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
    """T3: A stopped turn leaves no process behind, not even a detached one, and keeps the output so far."""
    command = "setsid sh -c 'echo $$ > child; echo up; exec sleep 60' & sleep 60"
    task = await shell.client.prompt(shell.id, command)
    await _until(shell, "up\n")
    child = int((shell.folder / "child").read_text())
    await shell.client.post(f"/api/sessions/{shell.id}/stop")
    assert (await shell.client.wait_task(task))["status"] == "cancelled"
    assert not psutil.pid_exists(child) or psutil.Process(child).status() == psutil.STATUS_ZOMBIE
    tool = await shell.tool(task)
    assert (tool["result"]["status"], tool["result"]["output"]["output"].startswith("up\n")) == ("failed", True)


async def test_a_killed_agent_keeps_the_shell_state(shell: Shell) -> None:
    """O2: After the agent is killed, the next command still has the folder and the exported variables."""
    (shell.folder / "sub").mkdir()
    await shell.run("cd sub; export X=1")
    agents = shell.agents()
    assert agents
    for agent in agents:
        agent.send_signal(signal.SIGKILL)
    assert await shell.output("pwd; echo $X") == f"{shell.folder}/sub\n1\n"


async def test_an_interrupted_command_is_not_run_twice(shell: Shell) -> None:
    """O2: A command whose agent was killed is not run again; the next attempt says so."""
    task = await shell.client.prompt(shell.id, "echo x >> count; echo up; sleep 60")
    await _until(shell, "up\n")
    for agent in shell.agents():
        agent.send_signal(signal.SIGKILL)
    ended = await shell.client.wait_task(task)
    assert (ended["status"], ended["attempt"]) == ("completed", 2)
    assert "not run again" in (await shell.client.texts(shell.id))[-1]
    assert await shell.output("cat count") == "x\n"


async def test_long_output_and_invalid_bytes(shell: Shell) -> None:
    """C1: Long output is cut in the middle, a character split over two writes is kept, and invalid bytes are
    replaced."""
    output = await shell.output("yes | head -c 5000000; printf 'end \\303'; sleep 0.05; printf '\\251 \\377 \\0'")
    assert output.startswith("y\ny\n")
    assert "bytes are left out here" in output
    assert output.endswith("end é \ufffd \u2400")
    assert len(output) < 1_100_000


async def test_the_terminal_agent_is_listed(server: Running) -> None:
    """A2: The terminal agent is listed and can be started."""
    agents = (await server.client.get("/api/agents"))["agents"]
    (terminal,) = [agent for agent in agents if agent["name"] == "terminal"]
    assert terminal["installed"]
