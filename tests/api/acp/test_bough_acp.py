"""Tests `bough acp`, the program that an editor starts: it finds or starts the server and ends with its editor."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import psutil
import pytest

from tests.support.acp.acp_driver import Driver
from tests.support.eventually import eventually
from tests.support.processes import communicated
from tests.support.repos import make_repo
from tests.support.server import Running

BIG = 1 << 24


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Path]:
    """Yields a data folder without a server, and ends a server that is started there."""
    data = tmp_path / "data"
    monkeypatch.setenv("BOUGH_DATA", str(data))
    monkeypatch.setenv("BOUGH_PORT", "0")
    monkeypatch.setenv("BOUGH_STOP_AGENTS", "true")
    monkeypatch.setenv("AGENT_WORKSPACE_ROOT", str(tmp_path))
    yield data
    with contextlib.suppress(FileNotFoundError):
        server = psutil.Process(json.loads((data / "server.json").read_text())["pid"])
        server.send_signal(signal.SIGTERM)
        server.wait(20)


async def test_starts_and_shares_a_server(home: Path, tmp_path: Path) -> None:
    """C2: Two programs that start at once share one server, which stays when they are gone."""
    repo = make_repo(tmp_path / "repo")
    async with Driver.launch("bough", "acp", initialize=False) as first:
        async with Driver.launch("bough", "acp", initialize=False) as second:
            for each in (first, second):
                answer = await asyncio.wait_for(each.request("initialize", {"protocolVersion": 1}), 60)
                assert answer["agentInfo"]["name"] == "bough"
            meta = {"bough": {"agent": "demo", "mode": "default"}}
            new = await first.request("session/new", {"cwd": str(repo), "mcpServers": [], "_meta": meta})
            session = new["sessionId"]
            second.decide = lambda _: None
            await second.request("session/load", {"sessionId": session, "cwd": str(repo), "mcpServers": []})
            await first.prompt(session, "[[run echo hi]] [[say both see it]]")
            await second.until(lambda: "both see it" in second.said(session))
            await second.until(lambda: len(second.withdrawn) == 1)
            second.raw(b"\n  \nnot json\n")
            await second.until(lambda: len(second.bad_lines) == 1)
        # A long line each way.
        await first.prompt(session, f"[[say {'é' * 300_000}]]")
        await eventually(lambda: first.said(session).endswith("é" * 300_000))
    server = json.loads((home / "server.json").read_text())
    assert psutil.pid_exists(server["pid"])


async def test_the_end_of_input_ends_the_program(server: Running) -> None:
    """C2: It still sends the last answer; it also ends when the server does."""
    request = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1}}
    command = [sys.executable, "-m", "bough", "acp", "--data", str(server.data)]
    process = await asyncio.create_subprocess_exec(
        *command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    out, err = await communicated(process, json.dumps(request).encode() + b"\n")
    assert json.loads(out)["result"]["protocolVersion"] == 1
    assert (process.returncode, err) == (0, b"")
    # From a file instead of a pipe.
    lines = server.root / "lines"
    lines.write_text(json.dumps(request))
    with lines.open("rb") as stdin:
        process = await asyncio.create_subprocess_exec(*command, stdin=stdin, stdout=subprocess.PIPE)
        out, _ = await communicated(process)
    assert json.loads(out)["id"] == 1


async def test_wrong_address_or_token(server: Running) -> None:
    """C2: Reports a missing server or a wrong token, and does not use another server."""
    for url, token, message in (
        (server.url, "wrong", "4401"),
        ("http://127.0.0.1:9", server.token, "No server answers"),
    ):
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "bough", "acp", "--url", url, "--token", token),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=os.environ | {"BOUGH_DATA": str(server.data / "none")},
        )
        out, err = await communicated(process)
        assert process.returncode == 1
        assert out == b""
        assert message in err.decode() or "403" in err.decode(), err
    assert not (server.data / "none").exists()
