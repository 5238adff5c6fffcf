"""Tests that secrets reach their recipient and never appear in answers, events, transcripts or logs."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.api.error_responses import NOBODY, Json, refused
from tests.api.server_processes import started
from tests.support.client import Client
from tests.support.repos import make_repo
from tests.support.server import ServerProcess

# Each value is unlike anything that a server generates.
ENV = "env-value-7d1f0c55"
LATER_ENV = "later-env-value-2be8c6f1"
MCP_ENV = "mcp-env-value-91ab33e0"
MCP_HEADER = "mcp-header-value-4b77d2aa"
REFUSED = "refused-value-c03d9e12"
WRONG_TOKEN = "wrong-token-5a6610bf"
SECRETS = (ENV, LATER_ENV, MCP_ENV, MCP_HEADER, REFUSED, WRONG_TOKEN)


@pytest.fixture
async def process(tmp_path: Path) -> AsyncGenerator[ServerProcess]:
    """Yields a real server that logs as much as it can."""
    server = ServerProcess(tmp_path / "data", tmp_path / "work", env={"BOUGH_LOG_LEVEL": "debug"})
    async with started(server):
        yield server


class Said:
    """Collects everything that a server has sent."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.parts: list[str] = []

    async def call(self, method: str, path: str, *, body: Json | None = None, expect: int, **headers: str) -> Json:
        """Sends a request and records the whole answer, including its headers."""
        answer = await self._client.http.request(method, path, json=body, headers=headers)
        self.parts += [answer.text, *(f"{name}: {value}" for name, value in answer.headers.items())]
        if expect >= 400:
            return refused(answer, expect)
        assert answer.status_code == expect, answer.text
        return answer.json()

    async def read(self, *paths: str) -> None:
        for path in paths:
            answer = await self._client.http.get(path)
            assert answer.status_code == 200, path
            self.parts.append(answer.text)

    async def follow(self) -> None:
        """Records every event from the first one on."""
        async with self._client.events(cursor=0) as events:
            await events.until(lambda event: event["type"] == "stream.ready")
            self.parts.append(json.dumps(events.seen))


async def secret_session(answers: Said, repo: Path) -> Json:
    """Creates a session with secrets in every possible field, twice, so that the stored answers are read too."""
    known = await answers.call("POST", "/api/repos", body={"path": str(repo)}, expect=201)
    local: Json = {"name": "local", "transport": "stdio", "command": "/bin/false", "env": {"KEY": MCP_ENV}}
    header = {"Authorization": f"Bearer {MCP_HEADER}", "X-Key": MCP_HEADER}
    remote: Json = {"name": "remote", "transport": "http", "url": "http://127.0.0.1:1/mcp", "headers": header}
    servers = [
        (await answers.call("POST", "/api/mcp-servers", body=body | {"idempotencyKey": body["name"]}, expect=201))["id"]
        for body in (local, remote, local, remote)
    ]
    body: Json = {
        "repoId": known["id"],
        "agent": "demo",
        "env": {"API_KEY": ENV, "PLAIN": ENV},
        "mcpServerIds": servers[:2],
        "permissionMode": "bypassPermissions",
        "idempotencyKey": "with secrets",
    }
    session = await answers.call("POST", "/api/sessions", body=body, expect=201)
    assert session["env"] == {"API_KEY": "***", "PLAIN": "***"}
    assert await answers.call("POST", "/api/sessions", body=body, expect=201) == session
    return session


async def wrong_requests(answers: Said, session: Json) -> None:
    """Sends invalid requests whose errors might repeat what they were given."""
    mine = f"/api/sessions/{session['id']}"
    for env in ({"A=B": REFUSED}, {"A": REFUSED + "\0"}, {"": REFUSED}, {"A": {"B": REFUSED}}, {"A": [REFUSED]}):
        await answers.call("PATCH", mine, body={"env": env}, expect=400)
        await answers.call("POST", "/api/sessions", body={"repoId": session["repoId"], "env": env}, expect=400)
    await answers.call("POST", "/api/sessions", body={"repoId": NOBODY, "env": {"A": REFUSED}}, expect=404)
    await answers.call("POST", "/api/sessions", body={"repoId": session["repoId"], "env": REFUSED}, expect=400)
    reused: Json = {"repoId": session["repoId"], "env": {"A": REFUSED}, "idempotencyKey": "with secrets"}
    await answers.call("POST", "/api/sessions", body=reused, expect=409)
    server: Json = {"name": "local", "transport": "stdio", "command": "/bin/false"}
    await answers.call("POST", "/api/mcp-servers", body=server | {"env": {"KEY": REFUSED}}, expect=409)
    for wrong in (
        {"env": {"A=B": REFUSED}},
        {"env": {"A": REFUSED + "\0"}},
        {"env": REFUSED},
        {"headers": {"X": REFUSED + "\r\nY: z"}},
        {"headers": {"X Y": REFUSED}},
        {"headers": {"X": 7, "Y": REFUSED}},
    ):
        await answers.call("POST", "/api/mcp-servers", body=server | {"name": "new"} | wrong, expect=400)
    await answers.call("GET", "/api/sessions", expect=401, authorization=f"Bearer {WRONG_TOKEN}")
    await answers.call("GET", "/api/sessions", expect=401, authorization="", cookie=f"bough_1={WRONG_TOKEN}")


async def test_secrets_are_never_shown(process: ServerProcess) -> None:
    """R1, L1: Secret values never appear in an answer, event, export or log line, not even in errors."""
    async with process.client() as client:
        answers = Said(client)
        session = await secret_session(answers, make_repo(process.root / "repo"))
        mine = f"/api/sessions/{session['id']}"
        # The agent reports that it cannot reach the servers, then crashes and is started with them again.
        for prompt in ("[[mcp anything {}]]", "[[fail on purpose]]", "[[crash]]", "[[say hello]]"):
            await client.ask(session["id"], prompt)
        patched = await answers.call("PATCH", mine, body={"env": {"OTHER": LATER_ENV}}, expect=200)
        assert patched["env"] == {"OTHER": "***"}
        await wrong_requests(answers, session)
        async with client.http.stream("GET", "/", params={"token": WRONG_TOKEN}) as page:
            answers.parts.append((await page.aread()).decode())
        await answers.read(
            mine, f"{mine}/messages", f"{mine}/tasks", f"{mine}/export", f"{mine}/export?format=markdown"
        )
        await answers.read("/api/sessions", "/api/mcp-servers", "/api/tasks", "/api/approvals", "/api/settings")
        await answers.read("/api/agents", "/metrics", "/openapi.json", "/docs", "/", *_servers(session))
        await answers.call("POST", f"{mine}/complete", body={}, expect=200)
        await answers.follow()
    assert await process.stop() == 0
    log = (process.data / "server.log").read_text()
    assert "session_opened" in log
    text = "\n".join(answers.parts)
    assert "***" in text
    for secret in (*SECRETS, process.token):
        assert secret not in text
        assert secret not in log


FAILING = """
import structlog
from bough.observe import logging

def fail(env):
    raise ValueError("nothing secret")

logging.configure("debug", FORM)
try:
    fail({"KEY": "".join(PARTS)})
except ValueError as error:
    structlog.get_logger().error("failed", error=repr(error), exc_info=error)
"""


@pytest.mark.parametrize("form", ["console", "json"])
async def test_tracebacks_do_not_show_values(form: str) -> None:
    """R1: A traceback in the log shows where an error happened, in every log format, but no values."""
    code = FAILING.replace("FORM", repr(form)).replace("PARTS", repr([ENV[:8], ENV[8:]]))
    program = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", code), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    output = (await program.communicate())[0].decode()
    assert program.returncode == 0, output
    assert "nothing secret" in output
    assert "in fail" in output
    assert ENV not in output


def _servers(session: Json) -> list[str]:
    return [f"/api/mcp-servers/{item_id}" for item_id in session["mcpServerIds"]]


async def test_stored_secrets_are_readable_only_by_the_owner(process: ServerProcess) -> None:
    """L1: Files that store secret values are readable only by their owner."""
    async with process.client() as client:
        session = await secret_session(Said(client), make_repo(process.root / "repo"))
        await client.ask(session["id"], "hello")
        holding = [path for path in process.data.rglob("*") if path.is_file() and ENV.encode() in path.read_bytes()]
        assert holding, "the database at least"
        for path in holding:
            assert path.stat().st_mode & 0o077 == 0, path
        assert not list(process.data.rglob("start.json"))


async def test_an_agent_receives_its_secrets(process: ServerProcess) -> None:
    """R2: The agent's commands see the real values in their environment."""
    async with process.client() as client:
        repo = await client.repo(make_repo(process.root / "repo"))
        session = await client.session(repo["id"], env={"WORD": ENV}, permissionMode="bypassPermissions")
        task = await client.ask(session["id"], '[[run printf %s "$WORD" > told]]')
        assert task["status"] == "completed"
        assert (process.root / "repo" / "told").read_text() == ENV
