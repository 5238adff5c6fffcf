"""Starts the keepers of terminals, attaches viewers to them, and ends them."""

import asyncio
import contextlib
import os
import pwd
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bough.agents.errors import KeeperGone
from bough.agents.keeper import frames
from bough.agents.keeper_client import disk_check, keeper_folder, keeper_key, orphans
from bough.agents.keeper_client.start_keeper import connect, spawn, wait_until_started
from bough.agents.process.inherited_env import HIDDEN_PREFIXES
from bough.agents.process.process_link import find_program
from bough.agents.pty_client.terminal_link import Output, Resized, TerminalLink
from bough.agents.pty_keeper.protocol import MOST, OUTPUT_FILE, VERSION
from bough.errors import AgentFailed, Conflict

PROGRAM = "bough.agents.pty_keeper"
ANSWER_WITHIN = 10.0
"""Seconds for a keeper to answer. It does nothing that takes long."""
LAST_SHELL = "/bin/sh"


def person_shell(environ: Mapping[str, str]) -> str:
    """Returns the shell of the person who runs the server."""
    return environ.get("SHELL") or pwd.getpwuid(os.getuid()).pw_shell or LAST_SHELL


def shell_env(environ: Mapping[str, str]) -> dict[str, str]:
    """Returns the environment of a terminal: the server's, without what is Bough's own."""
    own = {name: value for name, value in environ.items() if not name.startswith(HIDDEN_PREFIXES)}
    return own | {"TERM": "xterm-256color", "COLORTERM": "truecolor"}


async def start_terminal(
    root: Path,
    terminal_id: str,
    *,
    cwd: str,
    columns: int,
    rows: int,
    idle_limit: float | None = None,
    command: list[str] | None = None,
    env: Mapping[str, str] | None = None,
    keeps_output: bool = False,
) -> None:
    """Starts a shell, or another command, with its own keeper. With `keeps_output` the end of what it printed is still
    there after its end. Raises `AgentFailed` if it cannot be started."""
    env = dict(shell_env(os.environ) if env is None else env)
    command = command or [person_shell(os.environ)]
    folder = root / terminal_id
    program = find_program(command, cwd, env)
    try:
        await asyncio.to_thread(_make_folder, folder)
        start: dict[str, Any] = {
            "id": terminal_id,
            "program": program,
            "command": command,
            "cwd": cwd,
            "env": env,
            "columns": columns,
            "rows": rows,
            "idle_limit": idle_limit,
            "keeps_output": keeps_output,
            "key_hash": keeper_key.hashed(keeper_key.keeper_key(root, terminal_id)),
        }
        report = await asyncio.to_thread(spawn, folder, start, PROGRAM)
        if "error" in report:
            raise AgentFailed("terminal_failed", f"{command[0]} could not be started in {cwd}: {report['error']}.")
    except BaseException as error:
        # If the keeper started after all, it then ends its shell and itself. A later look removes what a failing disk
        # keeps.
        with contextlib.suppress(OSError):
            keeper_folder.discard(folder)
        if isinstance(error, OSError | AgentFailed) and disk_check.blames_disk(error):
            raise disk_check.unwritable(error) from error
        raise


def _make_folder(folder: Path) -> None:
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.mkdir(mode=0o700)


async def attach_terminal(folder: Path, tail: int | None = None) -> TerminalLink:
    """Attaches a viewer, which receives at most `tail` bytes of what was printed before. Raises `KeeperGone` if the
    keeper is dead, and `Conflict` if it takes no viewer."""
    await wait_until_started(folder)
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    # Once there is a transport, it closes the socket: the event loop would still watch one that is closed beneath it.
    held: socket.socket | asyncio.WriteTransport = sock
    try:
        async with asyncio.timeout(ANSWER_WITHIN):
            await connect(sock, folder)
            reader, writer = await asyncio.open_unix_connection(sock=sock, limit=2 * MOST)
            held = writer.transport
            link = TerminalLink(reader, writer)
            key = keeper_key.keeper_key(folder.parent, folder.name)
            writer.write(frames.message(frames.HELLO, version=VERSION, key=key, tail=tail))
            frame = await link.next_frame()
    except (OSError, TimeoutError) as error:
        held.close()
        raise KeeperGone("keeper_gone", f"The terminal does not answer: {error!r}.") from error
    except BaseException:
        held.close()
        raise
    if frame is None:
        await link.close()
        raise KeeperGone("keeper_gone", "The terminal has ended.")
    if frame.head.kind != frames.WELCOME:
        await link.close()
        raise Conflict("terminal_refused", frame.text()["text"])
    link.welcome = frame.text()
    return link


async def read_output(folder: Path, tail: int) -> bytes:
    """Returns the last bytes that a command printed, whether it runs or has ended; empty if they are lost."""
    try:
        link = await attach_terminal(folder, tail)
    except KeeperGone:
        return await asyncio.to_thread(_read_file, folder / OUTPUT_FILE, tail)
    try:
        data = bytearray()
        left = link.welcome["end"] - link.welcome["start"]
        async with asyncio.timeout(ANSWER_WITHIN):
            while len(data) < left and isinstance(news := await link.receive(), Output | Resized):
                data += news.data if isinstance(news, Output) else b""
        return bytes(data)
    finally:
        await link.close()


def _read_file(path: Path, tail: int) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(-min(tail, file.seek(0, os.SEEK_END)), os.SEEK_END)
            return file.read(tail)
    except OSError:
        return b""


async def end_terminal(folder: Path) -> int | None:
    """Ends a shell and everything that it started, living or not, and removes its folder. Returns its exit code, if it
    is known."""
    await orphans.end_keeper(folder)
    exit = keeper_folder.read_terminal_exit(folder)
    keeper_folder.discard(folder)
    return exit.code if exit is not None else None
