"""Tests `bough serve`: its link, its signals, and its errors."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest

from bough import load_settings
from bough.api.cli.main import build
from tests.api.cli.cli_program import bough, run_here, start
from tests.support.eventually import eventually
from tests.support.server import Running, serving


async def test_the_link_is_printed_once(tmp_path: Path) -> None:
    """L1: Prints only the link with the token to stdout; Ctrl-C stops the server with exit code 0."""
    program = await start("serve", "--port", "0", "--data", str(tmp_path / "data"), "--workspace-root", str(tmp_path))
    await program.until("\n")
    about = json.loads((tmp_path / "data" / "server.json").read_text())
    program.process.send_signal(signal.SIGINT)
    ended = await program.end()
    assert (ended.code, ended.out) == (0, f"{about['url']}/?token={about['token']}\n")
    assert ended.err == ""


async def test_listening_on_all_addresses_needs_encryption(tmp_path: Path) -> None:
    """L1: An address that other machines can reach is refused in one sentence, before a data folder is created."""
    program = await start("serve", "--port", "0", "--host", "0.0.0.0", "--data", str(tmp_path / "data"))
    ended = await program.end()
    assert (ended.code, ended.out) == (1, "")
    assert "0.0.0.0" in ended.err and "tls_cert" in ended.err and "behind_proxy" in ended.err
    assert len(ended.err.splitlines()) == 1
    assert not (tmp_path / "data").exists()


async def test_listening_on_all_addresses_behind_a_named_proxy(tmp_path: Path) -> None:
    """L1: With a named proxy, the server listens on all addresses, and its own link leads to this machine."""
    flags = ("--host", "0.0.0.0", "--behind-proxy", "10.1.2.3")
    program = await start("serve", "--port", "0", *flags, "--data", str(tmp_path / "data"))
    await program.until("\n")
    program.process.send_signal(signal.SIGINT)
    ended = await program.end()
    assert ended.code == 0 and ended.out.startswith("http://127.0.0.1:") and len(ended.out.splitlines()) == 1
    # The proxy must know the port that it forwards to.
    assert "waiting_for_proxy" in ended.err and len(ended.err.splitlines()) == 1


async def test_a_signal_during_start_stops_the_server(tmp_path: Path) -> None:
    """L1: SIGTERM before the server is ready stops it without a traceback."""
    program = await start("serve", "--port", "0", "--data", str(tmp_path / "data"), "--log-level", "info")
    await eventually((tmp_path / "data" / "bough.db").exists, "the server creates its database")
    program.process.send_signal(signal.SIGTERM)
    ended = await program.end()
    assert ended.code == 0 and "Traceback" not in ended.err


async def test_a_failed_start_is_one_sentence(server: Running, tmp_path: Path) -> None:
    """L1: A port or folder in use, a folder that cannot be created, or no database: one sentence on stderr, exit code
    1."""
    port = server.url.rpartition(":")[2]
    new = ("--data", str(tmp_path / "new"))
    wrong = {
        f"Cannot use port {port} on 127.0.0.1: ": (*new, "--port", port, "--log-level", "error"),
        "Another Bough server is running on": ("--data", str(server.data), "--port", "0"),
        "Cannot use /proc/bough": ("--data", "/proc/bough", "--port", "0"),
        "PostgreSQL cannot be reached": (
            "--data",
            str(tmp_path / "other"),
            "--database",
            "postgresql://nobody@127.0.0.1:1/x",
        ),
    }
    ends = await asyncio.gather(*(bough("serve", *arguments) for arguments in wrong.values()))
    for words, ended in zip(wrong, ends, strict=True):
        assert (ended.code, ended.out) == (1, "") and words in ended.err
        assert len(ended.err.splitlines()) == 1, ended.err
    # A port in use is detected before anything is created.
    assert not (tmp_path / "new").exists()


async def test_a_folder_in_use_names_the_other_server(server: Running) -> None:
    """L1: The refusal of a second server has the first one's process and address."""
    ended = await bough("serve", "--data", str(server.data), "--port", "0")
    assert f"(process {os.getpid()}, at {server.url}). Stop it (kill {os.getpid()})" in ended.err


@pytest.mark.parametrize("part", ["header", "pages"])
async def test_a_damaged_database_says_what_to_do(tmp_path: Path, part: str) -> None:
    """L1: A damaged database is one sentence with its path and what to do, whenever the damage is noticed."""
    data = tmp_path / "data"
    async with serving(tmp_path):
        pass
    file = data / "bough.db"
    content = bytearray(file.read_bytes())
    if part == "header":
        content[:100] = b"x" * 100
    else:
        # The first page, with the schema, stays; every other page is garbage.
        content[4096:] = b"\xaa" * (len(content) - 4096)
    file.write_bytes(content)
    copy = data / "bough.db.before-1-20260101T000000.bak"
    copy.write_bytes(b"")
    ended = await bough("serve", "--data", str(data), "--port", "0", "--workspace-root", str(tmp_path))
    assert (ended.code, ended.out, len(ended.err.splitlines())) == (1, "", 1), ended.err
    assert f"{file} is not a SQLite database, or is damaged: " in ended.err
    assert f"copy {copy} to its place" in ended.err


@pytest.mark.parametrize(
    ("version", "words"), [(None, "Cannot run git."), ("git version 2.25.1", "git version 2.25.1 is too old.")]
)
async def test_missing_or_old_git_is_said_at_start(tmp_path: Path, version: str | None, words: str) -> None:
    """L1: A server without a usable git starts, and says at once what to install; `bough doctor` says the same."""
    folder = tmp_path / "bin"
    folder.mkdir()
    if version is not None:
        (folder / "git").write_text(f"#!/bin/sh\necho {version}\n")
        (folder / "git").chmod(0o755)
    data = ("--data", str(tmp_path / "data"))
    program = await start("serve", "--port", "0", *data, "--workspace-root", str(tmp_path), PATH=str(folder))
    await program.until("\n")
    program.process.send_signal(signal.SIGINT)
    ended = await program.end()
    assert ended.code == 0
    assert f"Warning: {words} Install git 2.38 or newer" in ended.err
    checks = json.loads((await bough(*data, "doctor", "--json", PATH=str(folder))).out)["checks"]
    (check,) = [check for check in checks if check["name"] == "git"]
    assert check["text"] == words and "2.38" in check["fix"]


def test_only_linux_is_supported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """L1: On another system, one sentence says where the server runs; `bough doctor` says so too."""
    monkeypatch.setattr("bough.requirements.sys.platform", "darwin")
    refused = run_here(["serve", "--data", str(tmp_path / "data")])
    assert (refused.code, refused.out) == (1, "") and not (tmp_path / "data").exists()
    assert refused.err.startswith("The server runs on Linux, not on darwin.")
    assert "WSL 2" in refused.err and len(refused.err.splitlines()) == 1
    checks = json.loads(run_here(["--data", str(tmp_path / "data"), "doctor", "--json"]).out)["checks"]
    assert [check["state"] for check in checks if check["name"] == "system"] == ["problem"]


def test_a_bad_setting_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """L2: Refuses an invalid value and names the flag, variable or file that it comes from."""
    data = ("serve", "--data", str(tmp_path))
    assert run_here([*data, "--max-queue", "0"]).err.startswith("--max-queue: '0' is not valid for max_queue")
    loud = "--log-level: 'loud' is not valid for log_level; use one of debug, info, warning, error.\n"
    assert run_here([*data, "--log-level", "loud"]).err == loud
    number = "--port: 'abc' is not valid for port; use a whole number from 0 to 65535.\n"
    assert run_here([*data, "--port", "abc"]).err == number
    (tmp_path / "config.toml").write_text("port = 'high'")
    assert run_here([*data]).err.startswith(f"{tmp_path}/config.toml: 'high' is not valid for port")
    monkeypatch.setenv("BOUGH_PORT", "70000")
    refused = run_here([*data])
    assert (refused.code, refused.out) == (1, "") and refused.err.startswith(
        "BOUGH_PORT: '70000' is not valid for port"
    )
    assert run_here([*data, "--colour", "1"]).code == 2


def test_a_wrong_folder_is_one_sentence(tmp_path: Path) -> None:
    """L1: A data folder that is a file, or a missing workspace root, is reported before anything is created."""
    (tmp_path / "file").write_text("")
    refused = run_here(["serve", "--data", str(tmp_path / "file")])
    assert (refused.code, refused.err) == (
        1,
        f"{tmp_path}/file is not a folder. Choose another data folder with --data.\n",
    )
    refused = run_here(["serve", "--data", str(tmp_path / "data"), "--workspace-root", str(tmp_path / "no")])
    assert (refused.code, refused.err) == (
        1,
        f"The workspace root {tmp_path}/no is not a folder. Choose another with --workspace-root.\n",
    )
    assert not (tmp_path / "data").exists()


def _other(name: str) -> Any:
    """Returns a value of a setting that is not its default."""
    kind, default = get_args(load_settings.FIELDS[name].type)[0], load_settings.FIELDS[name].default
    if name == "worktree_ports":
        return "30000-30999"
    if get_origin(kind) is Literal:
        return next(word for word in get_args(kind) if word != default)
    return {bool: True, str: "elsewhere"}.get(kind, 7)


def test_every_setting_from_three_places(tmp_path: Path) -> None:
    """L2: Each setting can be given as a flag, as a variable, under its older name, and in config.toml."""
    data = {"BOUGH_DATA": str(tmp_path)}
    for name in set(load_settings.FIELDS) - {"data"}:
        value = _other(name)
        written = str(value).lower() if isinstance(value, bool) else str(value)
        by_variable = [load_settings.load({}, data | {load_settings.variable(name): written})]
        if older := load_settings.ALIASES.get(name):
            by_variable.append(load_settings.load({}, data | {older: written}))
        (tmp_path / "config.toml").write_text(f"{name} = {json.dumps(value)}\n")
        loaded = [load_settings.load({}, data), *by_variable]
        (tmp_path / "config.toml").unlink()
        loaded.append(load_settings.load({name: value if isinstance(value, bool) else written}, data))
        assert [getattr(item, name) for item in loaded] == [value] * len(loaded), name


def test_every_setting_is_a_flag() -> None:
    """L2: Every setting is a flag of `bough serve` with its own help sentence."""
    flags = {param.name: param for param in build(["serve"]).commands["serve"].params}
    for name in load_settings.FIELDS:
        assert f"--{name.replace('_', '-')}" in flags[name].opts
        assert flags[name].help.startswith(load_settings.describe(name))
