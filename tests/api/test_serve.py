"""L1 as a process: files, ports, tokens and signals of a real `bough serve`, and what its log and answers never
hold."""

from __future__ import annotations

import asyncio
import json
import signal
import stat
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import psutil
import pytest
from shapes import Json, refused

from bough.testing.client import Client
from bough.testing.repos import make_repo
from bough.testing.server import ServerProcess

# What must never be seen again; each is unlike anything that a server makes up by itself.
ENV_VALUE = "env-value-7d1f0c55"
MCP_ENV_VALUE = "mcp-env-value-91ab33e0"
MCP_HEADER_VALUE = "Bearer mcp-header-value-4b77d2aa"
SECRETS = (ENV_VALUE, MCP_ENV_VALUE, "mcp-header-value-4b77d2aa")


@pytest.fixture
async def process(tmp_path: Path) -> AsyncGenerator[ServerProcess]:
    """A real server that says all that it can say."""
    server = ServerProcess(tmp_path / "data", tmp_path / "work", env={"BOUGH_LOG_LEVEL": "debug"})
    await server.start()
    try:
        yield server
    finally:
        await server.stop(signal.SIGKILL)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


async def gone(processes: list[psutil.Process]) -> None:
    """Waits until none of these runs any more."""
    _, alive = await asyncio.to_thread(psutil.wait_procs, processes, 10)
    assert not alive


async def test_what_a_server_leaves_in_its_folder(process: ServerProcess) -> None:
    """L1: `server.json` is for its owner alone and says url, pid and token; so are the token and the database."""
    about = process.data / "server.json"
    assert mode(about) == 0o600
    assert process.process is not None
    assert json.loads(about.read_text()) == {"url": process.url, "pid": process.process.pid, "token": process.token}
    assert mode(process.data / "token") == 0o600
    assert mode(process.data / "bough.db") == 0o600
    assert len(process.token) >= 32


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_everything(process: ServerProcess, number: signal.Signals) -> None:
    """L1: SIGTERM and Ctrl-C exit with 0 and leave neither a process nor a `server.json`, open streams or not."""
    async with process.client() as client:
        repo = await client.repo(make_repo(process.root / "repo"))
        session = await client.session(repo["id"])
        await client.ask(session["id"], "hello")
        assert process.process is not None
        family = psutil.Process(process.process.pid).children(recursive=True)
        assert family
        async with client.events() as _stream:
            assert await process.stop(number) == 0
    await gone(family)
    assert not (process.data / "server.json").exists()


async def test_token_and_port_last_over_restarts(process: ServerProcess) -> None:
    """L1: a picked port is remembered and used again, and the token stays, also after a kill."""
    before = (process.url, process.token)
    for number in (signal.SIGTERM, signal.SIGKILL):
        await process.stop(number)
        await process.start()
        assert (process.url, process.token) == before
        async with process.client() as client:
            assert (await client.get("/api/sessions"))["total"] == 0


async def test_a_second_server_on_the_folder_is_refused(process: ServerProcess) -> None:
    """L1: it says so, ends at once with another code than 0, and the first one is not disturbed."""
    second = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bough", "serve", "--port", "0", "--data", str(process.data)),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(30):
        _, said = await second.communicate()
    assert second.returncode not in (0, None)
    assert str(process.data) in said.decode()
    assert "Traceback" not in said.decode()
    async with process.client() as client:
        assert (await client.get("/api/health"))["status"] == "ok"
    assert json.loads((process.data / "server.json").read_text())["token"] == process.token


async def secret_session(client: Client, repo: Path) -> Json:
    """A session that was given secrets in every way there is."""
    known = await client.repo(repo)
    by_command = await client.post(
        "/api/mcp-servers",
        {"name": "local", "transport": "stdio", "command": "/bin/false", "env": {"KEY": MCP_ENV_VALUE}},
    )
    by_address = await client.post(
        "/api/mcp-servers",
        {
            "name": "remote",
            "transport": "http",
            "url": "http://127.0.0.1:1/mcp",
            "headers": {"Authorization": MCP_HEADER_VALUE},
        },
    )
    return await client.session(
        known["id"],
        env={"API_KEY": ENV_VALUE},
        mcpServerIds=[by_command["id"], by_address["id"]],
        idempotencyKey="with secrets",
    )


async def everything(client: Client, session: Json) -> str:
    """All that a caller can read, in one text."""
    mine = f"/api/sessions/{session['id']}"
    paths = [mine, f"{mine}/messages", f"{mine}/tasks", f"{mine}/export", f"{mine}/export?format=markdown"]
    paths += ["/api/sessions", "/api/mcp-servers", "/api/tasks", "/api/settings", "/api/agents", "/metrics"]
    found = [(await client.http.get(path)).text for path in paths]
    async with client.events(cursor=0) as events:
        await events.until(lambda event: event["type"] == "stream.ready")
        found.append(json.dumps(events.seen))
    return "\n".join(found)


async def test_secrets_are_never_seen_again(process: ServerProcess) -> None:
    """R1, L1: values of env and of MCP servers are in no answer and no event, and with the token in no log line."""
    async with process.client() as client:
        session = await secret_session(client, make_repo(process.root / "repo"))
        assert session["env"] == {"API_KEY": "***"}
        answers = [json.dumps(session), json.dumps(await secret_session_again(client, session))]
        await client.ask(session["id"], "[[say hello]]")
        patched = await client.call("PATCH", f"/api/sessions/{session['id']}", json={"env": {"OTHER": ENV_VALUE}})
        assert patched["env"] == {"OTHER": "***"}
        # Wrong in ways that make an error speak of what it was given.
        for env in ({"A=B": ENV_VALUE}, {"A": ENV_VALUE + "\0"}, {"": ENV_VALUE}):
            wrong = await client.http.patch(f"/api/sessions/{session['id']}", json={"env": env})
            answers.append(json.dumps(refused(wrong, 400)))
        answers.append(await everything(client, session))
    assert await process.stop() == 0
    said = "\n".join(answers)
    log = (process.data / "server.log").read_text()
    assert "session_opened" in log
    for secret in SECRETS:
        assert secret not in said
        assert secret not in log
    assert process.token not in said
    assert process.token not in log


async def secret_session_again(client: Client, session: Json) -> Json:
    """The same request once more: the answer is the one that was kept for its key."""
    again = {
        "repoId": session["repoId"],
        "agent": "demo",
        "env": {"API_KEY": ENV_VALUE},
        "mcpServerIds": session["mcpServerIds"],
        "idempotencyKey": "with secrets",
    }
    kept = await client.post("/api/sessions", again)
    assert kept == session
    return kept


async def test_the_session_itself_has_its_secrets(process: ServerProcess) -> None:
    """R2: the value that nobody is shown is what the agent's commands see in their environment."""
    async with process.client() as client:
        repo = await client.repo(make_repo(process.root / "repo"))
        session = await client.session(repo["id"], env={"WORD": ENV_VALUE}, permissionMode="bypassPermissions")
        task = await client.ask(session["id"], '[[run printf %s "$WORD" > told]]')
        assert task["status"] == "completed"
        assert (process.root / "repo" / "told").read_text() == ENV_VALUE
