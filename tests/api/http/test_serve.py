"""Tests a real `bough serve` process: files, ports, tokens and signals."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import stat
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from bough.agents.keeper import process_tree
from bough.agents.keeper_client import keeper_folder
from tests.api.error_responses import NOBODY, Json
from tests.api.server_processes import live_processes, started
from tests.support.client import Client
from tests.support.processes import communicated
from tests.support.repos import make_repo
from tests.support.server import ServerProcess


@pytest.fixture
async def process(tmp_path: Path) -> AsyncGenerator[ServerProcess]:
    async with started(ServerProcess(tmp_path / "data", tmp_path / "work")) as server:
        yield server


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


async def test_files_of_a_running_server(process: ServerProcess) -> None:
    """L1: `server.json` holds URL, pid and token; it, the token file and the database are readable by their owner
    alone."""
    about = process.data / "server.json"
    assert mode(about) == 0o600
    assert process.process is not None
    assert json.loads(about.read_text()) == {"url": process.url, "pid": process.process.pid, "token": process.token}
    assert mode(process.data / "token") == 0o600
    assert mode(process.data / "bough.db") == 0o600
    assert len(process.token) >= 32


async def test_a_picked_port_is_used_again_unless_another_program_has_it(process: ServerProcess) -> None:
    """L1: A restarted server has the address that its agents know; if the port is taken, it picks another."""
    before = process.url
    await process.stop()
    await process.start()
    assert process.url == before
    await process.stop()
    with socket.create_server(("127.0.0.1", urlsplit(before).port or 0)):
        await process.start()
        assert process.url != before
    async with process.client() as client:
        assert (await client.get("/api/health"))["status"] == "ok"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_stops_idle_agents(process: ServerProcess, number: signal.Signals) -> None:
    """L1: SIGTERM and Ctrl-C exit with 0 and leave neither a process nor a `server.json`, even with open streams."""
    async with process.client() as client:
        repo = await client.repo(make_repo(process.root / "repo"))
        session = await client.session(repo["id"])
        await client.ask(session["id"], "hello")
        family = live_processes(process.data)
        assert len(family) >= 2, "a keeper and its agent"
        async with client.events() as _stream:
            assert await process.stop(number) == 0
    assert not any(process_tree.alive(item) for item in family)
    assert live_processes(process.data) == []
    assert not (process.data / "server.json").exists()


async def at_work(client: Client, process: ServerProcess) -> tuple[Json, Json]:
    """Creates a session in the middle of a turn, and an idle one."""
    repo = await client.repo(make_repo(process.root / "repo"))
    idle = await client.session(repo["id"])
    await client.ask(idle["id"], "hello")
    busy = await client.session(repo["id"], initialPrompt="[[slow 100 30]]")
    async with client.events(busy["id"]) as events:
        if not any("tick" in text for text in await client.texts(busy["id"])):
            await events.until(lambda event: "tick" in json.dumps(event.get("data", event.get("text", ""))))
    return idle, busy


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_leaves_turns_to_their_keepers(process: ServerProcess, number: signal.Signals) -> None:
    """L1, O2: The keeper of a running turn survives, and the turn continues with the next server; idle agents are
    ended."""
    async with process.client() as client:
        _, busy = await at_work(client, process)
        before = live_processes(process.data)
        assert await process.stop(number) == 0
    survivors = live_processes(process.data)
    keepers = keeper_folder.list_keepers(process.data / "keepers")
    assert len(keepers) == 1
    about = keeper_folder.read_info(keepers[0])
    assert about is not None
    assert {about.keeper, about.agent} <= set(survivors) < set(before)
    await process.start()
    async with process.client() as client:
        task = await client.get(f"/api/tasks/{busy['taskId']}")
        assert (task["status"], task["attempt"]) == ("running", 1)
        text = "".join(await client.texts(busy["id"]))
        async with client.events(busy["id"]) as events:
            delta = await events.until(lambda event: event["type"] == "message.delta")
        assert delta["offset"] >= len(text) > 0
        assert set(live_processes(process.data)) == set(survivors), "the same agent continues"
        stopped = await client.post(f"/api/sessions/{busy['id']}/stop")
        assert stopped["task"]["status"] == "cancelled"
        text = "".join(await client.texts(busy["id"]))
    ticks = text.split()[1::2]
    assert ticks == [str(number) for number in range(1, len(ticks) + 1)], "nothing is lost, nothing is twice"
    assert await process.stop(number) == 0
    assert live_processes(process.data) == []


async def test_running_agents_can_be_ended_with_the_server(tmp_path: Path) -> None:
    """L1, L2: With `stop_agents` nothing outlives the server; the interrupted turn continues as another attempt."""
    env = {"BOUGH_STOP_AGENTS": "true"}
    async with started(ServerProcess(tmp_path / "data", tmp_path / "work", env=env)) as process:
        async with process.client() as client:
            _, busy = await at_work(client, process)
            assert await process.stop() == 0
        assert live_processes(process.data) == []
        await process.start()
        async with process.client() as client:
            task = await client.wait_task(busy["taskId"], "running")
            assert task["attempt"] == 2
            await client.call("DELETE", f"/api/sessions/{busy['id']}")


async def test_token_and_port_survive_restarts(process: ServerProcess) -> None:
    """L1: A port chosen by the system is used again, and the token stays the same, even after a kill."""
    before = (process.url, process.token)
    for number in (signal.SIGTERM, signal.SIGKILL):
        await process.stop(number)
        await process.start()
        assert (process.url, process.token) == before
        async with process.client() as client:
            assert (await client.get("/api/sessions"))["total"] == 0


async def test_a_second_server_on_the_folder_is_refused(process: ServerProcess) -> None:
    """L1: A second server says so and exits at once with a nonzero code; the first one is not disturbed."""
    second = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bough", "serve", "--port", "0", "--data", str(process.data)),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    _, output = await communicated(second)
    assert second.returncode not in (0, None)
    assert str(process.data) in output.decode()
    assert "Traceback" not in output.decode()
    async with process.client() as client:
        assert (await client.get("/api/health"))["status"] == "ok"
    assert json.loads((process.data / "server.json").read_text())["token"] == process.token


async def test_the_id_of_an_error_is_in_the_log(process: ServerProcess) -> None:
    """A4: The log has a line with the id of each error that says what was refused and where."""
    expected: list[tuple[str, str, str]] = [
        ("GET", "/api/sessions?status=x", "bad_status"),
        ("GET", f"/api/tasks/{NOBODY}", "task_not_found"),
        ("POST", "/api/boards", "bad_request"),
        ("GET", "/nowhere", "not_found"),
        ("GET", "/%1B%5B2J%0A", "not_found"),
        ("PUT", "/api/boards", "method_not_allowed"),
    ]
    ids: dict[str, tuple[str, str]] = {}
    async with process.client() as client:
        for method, path, code in expected:
            answer = await client.http.request(method, path, json={})
            ids[answer.json()["error"]["id"]] = (code, path.partition("?")[0])
        for headers, code in (({"authorization": ""}, "unauthenticated"), ({"host": "evil.example"}, "foreign_host")):
            answer = await client.http.get("/api/boards", headers=headers)
            ids[answer.json()["error"]["id"]] = (code, "/api/boards")
    assert await process.stop() == 0
    lines = [json.loads(line) for line in (process.data / "server.log").read_text().splitlines()]
    logged = {line["id"]: (line["code"], line["path"]) for line in lines if line["event"] == "request_refused"}
    assert logged == ids


async def test_the_id_of_a_request(process: ServerProcess) -> None:
    """A4: Every answer has `X-Request-Id`: the caller's if it is sane, else a new one. It is the id of an error, and in
    every log line that the request causes; turns are logged with their start, end and failure."""
    async with process.client() as client:
        for path in ("/api/health", "/api/sessions", "/nowhere", "/mcp/", "/metrics"):
            answers = [await client.http.get(path) for _ in range(2)]
            assert len({answer.headers["x-request-id"] for answer in answers}) == 2
        traced = await client.http.get(f"/api/tasks/{NOBODY}", headers={"x-request-id": "trace-1.a:b"})
        assert traced.headers["x-request-id"] == traced.json()["error"]["id"] == "trace-1.a:b"
        for strange in ("x" * 129, "a b", "<script>", "\x1b[2J", ""):
            answer = await client.http.get("/api/health", headers={"x-request-id": strange})
            assert answer.headers["x-request-id"] not in ("", strange)
        folder = process.root / "plain"
        folder.mkdir()
        repo = await client.post("/api/repos", {"path": str(folder)})
        opened = await client.http.post(
            "/api/sessions", json={"repoId": repo["id"], "agent": "demo"}, headers={"x-request-id": "opening"}
        )
        session = opened.json()["id"]
        tasks = [await client.ask(session, text) for text in ("hello", "[[fail no luck]]")]
    host, port = process.url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(b"NONSENSE\r\n\r\n")
    head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()
    assert f"x-request-id: {json.loads(body)['error']['id']}".encode() in head
    assert await process.stop() == 0
    lines = [json.loads(line) for line in (process.data / "server.log").read_text().splitlines()]
    assert [line["request"] for line in lines if line["event"] == "session_opened"] == ["opening"]
    assert [line["request"] for line in lines if line.get("id") == "trace-1.a:b"] == ["trace-1.a:b"]
    turns = [line for line in lines if line["event"].startswith("turn_")]
    assert [(line["event"], line["task"]) for line in turns] == [
        ("turn_started", tasks[0]["id"]),
        ("turn_ended", tasks[0]["id"]),
        ("turn_started", tasks[1]["id"]),
        ("turn_failed", tasks[1]["id"]),
    ]
    assert {line["session"] for line in turns} == {session}
    assert (turns[1]["status"], turns[1]["reason"]) == ("completed", "end_turn")
    assert turns[1]["seconds"] >= 0
    assert turns[3]["status"] == "failed" and "no luck" in turns[3]["error"]
    # A turn belongs to no request.
    assert not any("request" in line for line in turns)


async def test_a_request_that_a_stop_cuts_off(process: ServerProcess) -> None:
    """A4: A request that is still open when the server stops gets the usual error form, with 503."""
    host, port = process.url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    head = f"POST /api/repos HTTP/1.1\r\nHost: {host}:{port}\r\nAuthorization: Bearer {process.token}\r\n"
    writer.write(f"{head}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{{".encode())
    await writer.drain()
    async with process.client() as client:
        await client.get("/api/health")
    stopping = asyncio.create_task(process.stop())
    answer = await reader.read()
    writer.close()
    assert await stopping == 0
    head, _, body = answer.decode().partition("\r\n\r\n")
    assert head.startswith("HTTP/1.1 503 ") and "application/json" in head
    error = json.loads(body)["error"]
    assert error["code"] == "shutting_down" and error["message"] and error["id"]


async def test_a_stop_ends_event_streams(process: ServerProcess) -> None:
    """A3, L1: A stop ends the streams of those who watch, so that it neither waits for them nor logs an error; they
    reconnect from the last cursor they have."""
    async with (
        process.client() as client,
        client.http.stream("GET", "/api/events", timeout=None) as watching,
    ):
        lines = watching.aiter_lines()
        assert "event: stream.ready" in {await anext(lines), await anext(lines)}
        stopping = asyncio.create_task(process.stop())
        assert "event: stream.gap" not in [line async for line in lines]
        assert await stopping == 0
    log = [json.loads(line) for line in (process.data / "server.log").read_text().splitlines()]
    assert [line["event"] for line in log if line["level"] == "error"] == []
