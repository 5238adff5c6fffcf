"""Starts keepers and attaches to living ones. Both return a `KeeperLink`."""

import asyncio
import contextlib
import errno
import json
import os
import select
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from bough.agents.errors import KeeperGone, command_name
from bough.agents.keeper import frames, process_tree
from bough.agents.keeper.files import MARK, SOCKET, START, START_LIMIT
from bough.agents.keeper.frames import VERSION, Frame, FrameReader
from bough.agents.keeper_client import disk_check, keeper_folder, keeper_key
from bough.agents.keeper_client.keeper_folder import KeeperInfo
from bough.agents.keeper_client.keeper_link import KeeperLink, Welcome
from bough.agents.process.process_link import agent_missing, find_program
from bough.errors import AgentFailed, Busy

PROGRAM = "bough.agents.keeper"
"""The module that runs as a keeper."""
HELLO_WAIT = 10.0
"""Seconds for a keeper to answer. It is never busy for longer than the disk takes to write one block."""
LOG = "keeper.log"
"""The file with a keeper's own errors; empty as long as all is well."""
POLL = 0.02
"""Seconds between checks for a keeper that is about to start."""


async def start_keeper(
    root: Path,
    keeper_id: str,
    command: Sequence[str],
    *,
    cwd: str,
    env: Mapping[str, str],
    box: Sequence[str] = (),
    network: Mapping[str, Any] | None = None,
) -> KeeperLink:
    """Starts an agent with its own keeper, behind the words of its box if it has one, and the proxy of the box if it
    has a network of its own. Raises `AgentFailed` (`agent_missing`) if it cannot be started, and `Busy` if that is for
    lack of disk space or descriptors."""
    try:
        return await _start(root, keeper_id, command, cwd, env, box, network)
    except (OSError, AgentFailed) as error:
        if disk_check.blames_disk(error):
            raise disk_check.unwritable(error) from error
        raise


async def _start(
    root: Path,
    keeper_id: str,
    command: Sequence[str],
    cwd: str,
    env: Mapping[str, str],
    box: Sequence[str],
    network: Mapping[str, Any] | None,
) -> KeeperLink:
    program = find_program(command, cwd, env)
    folder = root / keeper_id
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    start: dict[str, Any] = {
        "id": keeper_id,
        "program": program,
        "command": list(command),
        "cwd": cwd,
        "env": dict(env),
        "key_hash": keeper_key.hashed(keeper_key.keeper_key(root, keeper_id)),
    }
    if box:
        start["box"] = list(box)
    if network is not None:
        start["network"] = dict(network)
    folder.mkdir(mode=0o700)
    try:
        try:
            report = await asyncio.to_thread(spawn, folder, start)
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE):
                raise Busy(
                    "too_few_descriptors", "The agent cannot start now: the server has too many open files."
                ) from error
            raise
        if "error" in report:
            raise agent_missing(command, f"could not be started in {cwd}: {report['error']}.")
        return await attach_keeper(folder, 0)
    except BaseException:
        keeper_folder.discard(folder)  # If the keeper started after all, it then ends its agent and itself.
        raise


async def attach_keeper(folder: Path, last: int) -> KeeperLink:
    """Attaches to a living keeper and receives the lines after this number. Raises `KeeperGone` if it is dead."""
    about = await wait_until_started(folder)
    name = command_name(about.command)
    if about.version != VERSION:
        raise other_version(about)
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        async with asyncio.timeout(HELLO_WAIT):
            await connect(sock, folder)
            frame, following = await _greet(sock, keeper_key.keeper_key(folder.parent, folder.name), last)
    except (OSError, TimeoutError) as error:
        sock.close()
        raise KeeperGone("keeper_gone", f"The keeper of {name} does not answer: {error!r}.") from error
    except BaseException:
        sock.close()
        raise
    if frame.head.kind != frames.WELCOME:
        sock.close()
        note = frame.text()
        raise AgentFailed(f"keeper_{note['code']}", f"{name}: {note['text']}", command=about.command)
    link = KeeperLink(folder, about, msgspec.json.decode(frame.payload, type=Welcome), last)
    # First what came with the greeting: once connected, the event loop may deliver more at any moment.
    link.stream.data_received(following)
    await asyncio.get_running_loop().create_unix_connection(lambda: link.stream, sock=sock)
    return link


def other_version(about: KeeperInfo) -> AgentFailed:
    """Returns the error for a keeper that was started by another version of Bough."""
    return AgentFailed(
        "keeper_version",
        f"The keeper of {command_name(about.command)} speaks version {about.version} of its protocol, and this "
        f"server version {VERSION}. The agent keeps running.",
        command=about.command,
        keeper_version=about.version,
        server_version=VERSION,
    )


async def wait_until_started(folder: Path) -> KeeperInfo:
    """Waits for a keeper that a dying server may have just started. Raises `KeeperGone` if it is dead.

    The wait is measured by the monotonic clock, since the folder's date is in the future if the clock was set back."""
    changed, deadline = None, 0.0
    while True:
        about = keeper_folder.read_info(folder)
        if about is not None:
            if process_tree.alive(about.keeper):
                return about
            raise KeeperGone("keeper_gone", f"The keeper of {command_name(about.command)} is dead.")
        if (date := _date(folder)) != changed:
            age = min(max(time.time() - date, 0.0), START_LIMIT)
            changed, deadline = date, time.monotonic() + START_LIMIT - age
        if time.monotonic() >= deadline:
            raise KeeperGone("keeper_gone", f"The keeper {folder.name} never started.")
        await asyncio.sleep(POLL)


async def _greet(sock: socket.socket, key: str, last: int) -> tuple[Frame, bytes]:
    """Sends HELLO. Returns the first frame of the answer, and the bytes that followed it."""
    loop, reader, data = asyncio.get_running_loop(), FrameReader(), b""
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # A refusal is already there to be read.
        hello = frames.message(frames.HELLO, version=VERSION, key=key, last=last, take_over=True)
        await loop.sock_sendall(sock, hello)
    while True:
        if not (data := await loop.sock_recv(sock, 65536)):
            raise ConnectionResetError("it closed the connection")
        for frame in reader.feed(data):
            return frame, reader.rest()


async def connect(sock: socket.socket, folder: Path) -> None:
    """Connects to the socket in a keeper's folder."""
    sock.setblocking(False)
    here = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        while True:
            try:
                # A socket's path is limited to 108 bytes, and a data folder's may be longer. This path is always short.
                sock.connect(f"/proc/self/fd/{here}/{SOCKET}")
                return
            except BlockingIOError:  # The queue of connections is full, and room in it is not announced.
                await asyncio.sleep(POLL)
    finally:
        os.close(here)


def _date(folder: Path) -> float:
    """Returns when a file was last added to the folder or removed; 0 if there is no folder."""
    try:
        return folder.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def spawn(folder: Path, start: dict[str, Any], program_name: str = PROGRAM) -> dict[str, Any]:
    """Requests the start, starts the program and waits for its report.

    The request is dated here and not before this thread was free: time in the server's own queue does not count."""
    with open(_private(folder / START), "wb") as file:
        file.write(json.dumps(start).encode())
    own_mark = {MARK: os.environ[MARK]} if MARK in os.environ else {}
    with open(_private(folder / LOG), "wb") as errors:
        program = subprocess.Popen(
            [sys.executable, "-I", "-m", program_name, str(folder)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            cwd="/",
            env=own_mark,  # If this server runs under an agent itself, a sweep of that agent finds its keepers too.
            start_new_session=True,
        )
    assert program.stdout is not None
    with program, program.stdout:
        poll = select.poll()
        poll.register(program.stdout, select.POLLIN)
        line = program.stdout.readline() if poll.poll(START_LIMIT * 1000) else b""
    if line:
        return json.loads(line)
    reason = (folder / LOG).read_text(errors="replace").strip().rpartition("\n")[2]
    raise KeeperGone("keeper_failed", f"The keeper did not start: {reason or 'it reported nothing'}.")


def _private(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
