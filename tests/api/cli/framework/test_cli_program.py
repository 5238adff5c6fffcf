"""Tests the program as a whole: finding the server, exit codes, start-up, completion and pipes."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from bough import __version__
from tests.api.cli.cli_program import Cli, bough, run_here
from tests.api.cli.cli_terminal import terminal
from tests.support.processes import communicated
from tests.support.server import Running

HEAVY = re.compile(
    r"\| +(litestar|uvicorn|asyncpg|httpx|websockets|mcp|prometheus_client|structlog|sqlite3"
    r"|bough\.(app|core|storage))\b"
)


def test_version_and_help() -> None:
    """O5: `--version` and `--help` print to stdout and exit with 0, and the help names every command."""
    assert run_here(["--version"]).out == f"bough {__version__}\n"
    result = run_here(["--help"])
    assert result.code == 0
    for name in ("serve", "session", "repo", "task", "approval", "watch", "agents", "export", "doctor", "db"):
        assert f" {name} " in result.out
    assert " completion " in result.out and " demo-agent " in result.out


def test_a_usage_error_is_exit_code_2() -> None:
    """L4: A usage error exits with 2 and is explained on stderr."""
    for arguments in (["nonsense"], ["session", "show"], ["session", "list", "--limit", "0"], ["task", "--nope"]):
        wrong = run_here(arguments)
        assert (wrong.code, wrong.out) == (2, "") and wrong.err
    nothing_to_follow = run_here(["session", "new", "-f"])
    assert nothing_to_follow.code == 2
    wrong = run_here(["session", "new", "--mode", "foo"])
    assert wrong.err.startswith("Invalid value for '--mode' / '-m': 'foo' is not one of 'default',")
    assert wrong.err.endswith("See: bough session new --help\n")
    helped = run_here(["completion", "--help"]).out
    assert "completion [OPTIONS] SHELL" in helped and "<" not in helped and "{" not in helped


def test_no_server_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """L4: Without a server, or with one that died, the command says where it looked and how to start one."""
    data = tmp_path / "data"
    result = run_here(["--data", str(data), "session", "list"])
    assert (result.code, result.out) == (1, "")
    assert result.err == f"No server is running on {data}. Start one: bough serve --data {data}\n"
    data.mkdir()
    (data / "server.json").write_text(json.dumps({"url": "http://127.0.0.1:1", "token": "x", "pid": 1}))
    assert run_here(["session", "list", "--data", str(data)]).err == result.err
    as_json = run_here(["watch", "--data", str(data), "--json"])
    assert as_json.code == 1 and json.loads(as_json.out)["error"]["code"] == "no_server"
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("BOUGH_DATA", raising=False)
    usual = f"No server is running on {tmp_path / 'home' / 'bough'}. Start one: bough serve\n"
    assert run_here(["agents"]).err == usual
    assert run_here(["agents", "--url", "http://127.0.0.1:1", "--token", "x"]).err == (
        "No server answers at http://127.0.0.1:1. Check that it is running.\n"
    )
    assert run_here(["agents", "--url", "http://127.0.0.1:1"]).code == 2
    schemeless = run_here(["agents", "--url", "127.0.0.1:4100", "--token", "x"])
    assert schemeless.code == 1 and "start with http://" in schemeless.err


async def test_ways_to_name_the_server(
    server: Running, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """L4: The server can be named by folder or URL, with flags before or after the command, or with variables; flags
    win."""
    monkeypatch.setenv("BOUGH_DATA", str(tmp_path / "elsewhere"))
    assert (await cli("agents")).code == 1
    for before, after in (
        (("--data", str(server.data)), ()),
        ((), ("--data", str(server.data))),
        (("--url", server.url, "--token", server.token), ()),
        ((), ("--url", server.url + "/", "--token", server.token)),
    ):
        assert (await cli(*before, "agents", *after)).code == 0
    monkeypatch.setenv("BOUGH_URL", server.url)
    monkeypatch.setenv("BOUGH_TOKEN", server.token)
    assert (await cli("agents")).code == 0
    assert (await cli("agents", "--data", str(tmp_path / "elsewhere"))).code == 1
    wrong = await cli("agents", "--token", "wrong")
    assert wrong.code == 1 and wrong.err.startswith("The server rejected this token.")
    assert wrong.err.endswith("(unauthenticated)\n") and len(wrong.err.splitlines()) == 1
    assert json.loads((await cli("--json", "agents")).out)["agents"]


async def test_unknown_and_ambiguous_ids(server: Running, cli: Cli, session: dict[str, Any]) -> None:
    """R5, L4: An unknown, too short or ambiguous id is one sentence; for an ambiguous one it lists the candidates."""
    born = [session["id"], *[(await server.client.session(session["repoId"]))["id"] for _ in range(2)]]
    # The first 8 characters change once a minute, so of three sessions created together at least two share them.
    shared = born[1][:8]
    candidates = ", ".join(item[-8:] for item in born if item.startswith(shared))
    for typed, words in (
        ("12345678", "There is no session '12345678'."),
        ("1234567", "at least 8 characters"),
        (shared, f"matches {candidates.count(',') + 1} records: {candidates}"),
    ):
        refused = await cli("session", "show", typed)
        assert (refused.code, refused.out, len(refused.err.splitlines())) == (1, "", 1)
        assert words in refused.err


async def test_color_is_for_terminals(server: Running, session: dict[str, Any]) -> None:
    """O5: Uses color only on a terminal without NO_COLOR; output into a pipe is not cut off either."""
    title = "a title that is too long for a terminal of eighty columns, " * 3
    await server.client.call("PATCH", f"/api/sessions/{session['id']}", json={"title": title.strip()})
    data = str(server.data)

    async def shown(**env: str) -> str:
        async with terminal("session", "list", BOUGH_DATA=data, **env) as screen:
            await screen.until("…")
            assert await screen.end() == 0
            return screen.screen

    coloured, plain, piped = await asyncio.gather(
        shown(), shown(NO_COLOR="1"), bough("session", "list", BOUGH_DATA=data, COLUMNS="")
    )
    assert "\x1b[1m" in coloured
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]", plain)
    assert "\x1b" not in piped.out and title.strip() in piped.out


async def test_completion_is_installed(tmp_path: Path) -> None:
    """O5: `bough --install-completion` sets up the shell that runs it."""
    script = f"{sys.executable} -m bough --install-completion && . ~/.bashrc && complete -p bough"
    process = await asyncio.create_subprocess_exec(
        *("bash", "-c", script), env={**os.environ, "HOME": str(tmp_path)}, stdout=asyncio.subprocess.PIPE
    )
    out, _ = await communicated(process)
    assert process.returncode == 0 and b"complete -o default -F _bough_completion bough" in out
    assert "_BOUGH_COMPLETE=complete_bash" in (tmp_path / ".bash_completions" / "bough.sh").read_text()


async def test_client_commands_start_without_the_server(server: Running) -> None:
    """O5: A command that queries the server loads no web framework, database drivers or HTTP libraries."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-X", "importtime", "-m", "bough", "session", "list"),
        env={**os.environ, "BOUGH_DATA": str(server.data)},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await communicated(process)
    assert process.returncode == 0 and b"No session" in out
    assert not HEAVY.search(err.decode()), "a client command loads too much"


async def test_a_closed_pipe_is_not_an_error(server: Running, session: dict[str, Any]) -> None:
    """O5: A broken pipe ends tables and streams quietly."""
    reader, writer = os.pipe()
    os.close(reader)

    async def noise(*arguments: str) -> bytes:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "bough", *arguments),
            env={**os.environ, "BOUGH_DATA": str(server.data)},
            stdout=writer,
            stderr=asyncio.subprocess.PIPE,
        )
        return (await communicated(process))[1]

    streaming = ("session", "prompt", session["id"], "hi", "-f")
    assert (
        await asyncio.gather(noise("session", "list"), noise("repo", "list", "--json"), noise(*streaming)) == [b""] * 3
    )
    os.close(writer)


async def test_a_full_disk_is_one_sentence(server: Running) -> None:
    """O5: Output that cannot be written is reported in one sentence, with exit code 1."""
    full = os.open("/dev/full", os.O_WRONLY)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bough", "agents", "--data", str(server.data)),
        stdout=full,
        stderr=asyncio.subprocess.PIPE,
    )
    os.close(full)
    _, err = await communicated(process)
    assert (process.returncode, err) == (1, b"Cannot write the output: No space left on device.\n")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell: str) -> None:
    """O5: `bough completion SHELL` prints that shell's script."""
    result = run_here(["completion", shell])
    assert result.code == 0 and "_BOUGH_COMPLETE" in result.out and "bough" in result.out
    assert run_here(["completion", "nosh"]).code == 2


async def test_bash_completes_commands_and_ids(
    server: Running, cli: Cli, session: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """O5: Completes subcommands, and ids from the running server; without a server it stays silent."""

    async def completed(words: str, position: int) -> list[str]:
        monkeypatch.setenv("_BOUGH_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", f"bough {words}")
        monkeypatch.setenv("COMP_CWORD", str(position))
        ended = await cli()
        assert (ended.code, ended.err) == (0, "")
        return ended.out.split()

    assert await completed("session arch", 2) == ["archive"]
    assert await completed("session show ", 3) == [session["id"][-8:], "@last", "first"]
    assert await completed("session new --agent de", 4) == ["demo"]
    assert await completed("task list --session ", 4) == [session["id"][-8:], "@last", "first"]
    monkeypatch.setenv("BOUGH_DATA", str(server.root))
    assert await completed("session show ", 3) == []


async def test_demo_agent_is_a_command() -> None:
    """L5: `bough demo-agent` runs the demo agent, and exits with 0 when its input ends."""
    ended, wrong = await asyncio.gather(bough("demo-agent"), bough("demo-agent", "--without", "nonsense"))
    assert (ended.code, ended.out, wrong.code) == (0, "", 2)
