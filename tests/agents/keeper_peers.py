"""Starts keepers for tests, reads their lines and inspects their processes."""

import asyncio
import json
import os
import socket
import subprocess
import sys
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest

from bough.agents.keeper import frames
from bough.agents.keeper.files import START
from bough.agents.keeper.frames import Frame, FrameReader
from bough.agents.keeper_client import keeper_folder, orphans
from bough.agents.keeper_client.keeper_key import keeper_key
from bough.agents.keeper_client.keeper_link import KeeperLink
from bough.agents.keeper_client.start_keeper import attach_keeper, start_keeper
from bough.agents.link import AgentExit, Link, LinkClosed
from tests.support import misbehaving_agents

PATIENCE = 40
"""Seconds to wait for anything; all of it takes far less, even on the slowest machine."""
FAMILY = """
import os, signal, subprocess, sys
if "term" in sys.argv:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
STUBBORN = "import signal, time; signal.signal(15, signal.SIG_IGN); print('up', flush=True); time.sleep(600)"
env = {"PATH": os.environ["PATH"]} if "clean" in sys.argv else None
def start():
    child = subprocess.Popen([sys.executable, "-c", STUBBORN], stdout=subprocess.PIPE, start_new_session=True, env=env)
    child.stdout.readline()
    return child.pid
print(start(), flush=True)
reader, writer = os.pipe()
parent = os.fork()
if parent == 0:
    os.setsid()
    os.write(writer, b"%d" % start())
    os._exit(0)
orphan = os.read(reader, 100).decode()
os.waitpid(parent, 0)
print(orphan, flush=True)
for line in sys.stdin:
    if line == "die\\n":
        os._exit(9)
while "term" in sys.argv:
    signal.pause()
os._exit(0)
"""
"""An agent with two commands that ignore SIGTERM, the second of which is an orphan; it prints their process ids. With
`clean` they lack the mark in their environment; with `term` the agent ignores both EOF and SIGTERM."""


def read_dead(folder: Path, after: int) -> tuple[list[bytes], AgentExit | None]:
    """Returns the lines after this number in a dead keeper's journal, and the agent's end if it is known."""
    lines = [line for batch in keeper_folder.read_batches(folder, after) for line in batch.lines]
    ended = keeper_folder.read_end(folder)
    return lines, ended.exit if ended is not None else None


class Keepers:
    """A folder of keepers, all of which end with the test."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._links: list[KeeperLink] = []

    async def start(self, *command: str, cwd: str = "/", env: Mapping[str, str] = os.environ) -> KeeperLink:
        name = f"k{len(self._links)}-{uuid.uuid4().hex}"
        link = await start_keeper(self.root, name, command, cwd=cwd, env=env)
        self._links.append(link)
        return link

    async def attach(self, link: KeeperLink, last: int) -> KeeperLink:
        """Attaches to a keeper as the next server does."""
        again = await attach_keeper(link.folder, last)
        self._links.append(again)
        return again

    async def python(self, script: str, *args: str) -> KeeperLink:
        """Starts an agent that runs this script."""
        return await self.start(sys.executable, "-c", script, *args)

    def altered(self, change: str, *command: str) -> tuple[Path, dict[str, Any]]:
        """Starts a keeper that first runs these statements; returns its folder and its report about the start."""
        folder = self.root / f"k-{uuid.uuid4().hex}"
        folder.mkdir(mode=0o700, parents=True)
        start = {"id": folder.name, "program": command[0], "command": command, "cwd": "/", "env": dict(os.environ)}
        (folder / START).write_text(json.dumps(start))
        program = f"{change}\nimport sys\nfrom bough.agents.keeper.__main__ import main\nmain(sys.argv[1])"
        with open(folder / "keeper.log", "wb") as errors:
            run = subprocess.run(
                [sys.executable, "-I", "-c", program, str(folder)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
                check=True,
            ).stdout
        return folder, json.loads(run)

    async def attach_altered(self, change: str, *command: str) -> KeeperLink:
        """Starts such a keeper and returns a link to it."""
        folder, _ = self.altered(change, *command)
        link = await attach_keeper(folder, 0)
        self._links.append(link)
        return link

    async def agent(self, name: str, *args: str) -> KeeperLink:
        """Starts one of the misbehaving agents."""
        return await self.start(sys.executable, "-m", misbehaving_agents.module(name), *args)

    async def close(self) -> None:
        for link in self._links:
            await link.leave()
        for folder in keeper_folder.list_keepers(self.root):
            about = keeper_folder.read_info(folder)
            if about is not None and keeper_folder.is_alive(folder):
                os.kill(about.keeper.pid, 9)
            await orphans.sweep(folder)


def keeper_pid(held: KeeperLink | Path) -> int:
    about = keeper_folder.read_info(held if isinstance(held, Path) else held.folder)
    assert about is not None
    return about.keeper.pid


def gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


async def read(link: Link, count: int) -> list[bytes]:
    """Reads until there are at least this many lines, and checks that they are numbered without a gap."""
    lines: list[bytes] = []
    async with asyncio.timeout(PATIENCE):
        while len(lines) < count:
            lines += (await link.receive()).lines
    return lines


async def read_to_end(link: Link) -> tuple[list[bytes], AgentExit]:
    lines: list[bytes] = []
    with pytest.raises(LinkClosed) as closed:
        async with asyncio.timeout(PATIENCE):
            while True:
                lines += (await link.receive()).lines
    return lines, closed.value.exit


class RawClient:
    """A server that talks to a keeper frame by frame, and can send frames that no real server would."""

    def __init__(self, folder: Path) -> None:
        self._reader = FrameReader()
        self._frames: list[Frame] = []
        self._key = keeper_key(folder.parent, folder.name)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        here = os.open(folder, os.O_RDONLY)
        self._socket.connect(f"/proc/self/fd/{here}/socket")
        self._socket.settimeout(20)
        os.close(here)

    def __enter__(self) -> "RawClient":
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def say(self, data: bytes) -> None:
        self._socket.sendall(data)

    def hello(self, version: int = frames.VERSION, last: int = 0, **more: Any) -> None:
        self.say(frames.message(frames.HELLO, **({"version": version, "key": self._key, "last": last} | more)))

    def hear_note(self) -> tuple[str, str]:
        """Skips to the next note and returns its code and its text."""
        note = self.hear_kind(frames.NOTE).text()
        return note["code"], note["text"]

    def hear(self) -> Frame | None:
        """Returns the next frame, or None when the keeper has hung up."""
        while not self._frames:
            try:
                data = self._socket.recv(65536)
            except ConnectionResetError:
                data = b""
            if not data:
                return None
            self._frames += self._reader.feed(data)
        return self._frames.pop(0)

    def hear_kind(self, kind: int) -> Frame:
        """Skips to the next frame of this kind."""
        while (frame := self.hear()) is not None:
            if frame.head.kind == kind:
                return frame
        raise AssertionError(f"the keeper hung up before it said {kind}")
