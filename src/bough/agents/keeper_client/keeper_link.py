"""Links to an agent through its keeper, so that the agent outlives this server."""

import asyncio
import contextlib
import os
from collections import deque
from collections.abc import Callable, Generator
from pathlib import Path
from signal import SIGKILL, SIGTERM
from typing import Any, Self

import msgspec
import structlog

from bough.agents.errors import command_name
from bough.agents.keeper import frames, process_tree
from bough.agents.keeper.agent_process import STDERR_TAIL
from bough.agents.keeper.end_agent import KILL_WAIT
from bough.agents.keeper.frames import Frame
from bough.agents.keeper_client import keeper_folder, orphans
from bough.agents.keeper_client.keeper_folder import AgentEnd, KeeperInfo
from bough.agents.keeper_client.keeper_stream import KeeperStream
from bough.agents.keeper_client.orphans import END_MARGIN, wait_until
from bough.agents.link import END_GRACE, AgentExit, LineBatch, LinkClosed
from bough.agents.wait_shielded import shielded
from bough.errors import AgentFailed

LEAVE_WAIT = 3.0
"""Seconds for a keeper to exit once its agent is gone, when it has nothing left to do."""
DEATH_WAIT = 1.0
"""Seconds for a process to die after the kernel has closed its sockets."""

log: structlog.stdlib.BoundLogger = structlog.get_logger("bough.agents")


class Welcome(msgspec.Struct, frozen=True):
    """A keeper's answer to a server that attaches."""

    version: int
    pid: int
    first: int
    next: int
    running: bool
    keys: list[str]
    notes: list[tuple[str, str]]


class KeeperLink:
    """The lines of one agent, exchanged with its keeper."""

    def __init__(self, folder: Path, about: KeeperInfo, welcome: Welcome, last: int) -> None:
        self.folder = folder
        self.command = tuple(about.command)
        self.pid = about.agent.pid
        self.welcome = welcome
        self.stream = KeeperStream(last, self._on_frame, self._fail_senders)
        self.trouble = ""
        """A sentence about what blocks the keeper; empty while nothing does."""
        self._keeper = about.keeper
        self._stderr = bytearray()
        self._ended: AgentEnd | None = None
        self._left = False
        self._journal: Generator[LineBatch] | None = None
        self._unsent: deque[tuple[str, bytes, asyncio.Future[str]]] = deque()
        self._in_flight = False
        self._ending: asyncio.Task[AgentExit] | None = None
        self._on_network: Callable[[dict[str, Any]], None] | None = None
        self._network: list[dict[str, Any]] = []  # Messages of the proxy that came before anybody listened.
        for code, text in welcome.notes:
            self._note(code, text)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.end()

    async def receive(self) -> LineBatch:
        batch = await self.stream.batch()
        if batch is None and self._ended is None and not self._left:
            batch = await self._read_journal()
        if batch is not None:
            return batch
        if self._ended is not None and self._ended.reason == "line_too_long":
            name = command_name(self.command)
            raise AgentFailed(
                "line_too_long",
                f"{name} wrote a line that is too long.",
                command=list(self.command),
                stderr=self.stderr_tail(),
            )
        raise LinkClosed(self._exit())

    async def send(self, line: bytes, key: str) -> bool:
        if not self.stream.open or self.stream.ended:
            raise LinkClosed(self._exit())
        answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._unsent.append((key, frames.send_frame(key, line), answer))
        self._send_next()
        state = await answer
        if state == "closed":
            raise LinkClosed(self._exit())
        return state == "fresh"

    def confirm(self, number: int) -> None:
        self.stream.write(frames.frame(frames.CONFIRM, first=number))

    def forget(self, prefix: str) -> None:
        self.stream.write(frames.frame(frames.FORGET, prefix.encode()))

    def on_network(self, listener: Callable[[dict[str, Any]], None]) -> None:
        """Passes messages of the proxy of the agent's box to a listener, also those that have already arrived."""
        self._on_network = listener
        for message in self._network:
            listener(message)
        self._network.clear()

    def send_hosts(self, message: dict[str, Any]) -> None:
        """Sends an answer or a list of hosts to the proxy of the agent's box."""
        self.stream.write(frames.message(frames.HOSTS, **message))

    def stderr_tail(self) -> str:
        return self._ended.stderr if self._ended is not None else self._stderr.decode(errors="replace")

    async def leave(self) -> None:
        self._left = True
        await self.stream.close()

    async def end(self, grace: float = END_GRACE) -> AgentExit:
        if self._ending is None:
            self._ending = asyncio.create_task(self._end(grace), name=f"agent {self.pid} end")
        return await shielded(self._ending)

    # Frames of the keeper

    def _on_frame(self, frame: Frame) -> None:
        kind = frame.head.kind
        if kind == frames.ACK:
            key, _, answer = self._unsent.popleft()
            ack: dict[str, Any] = frame.text()
            if ack["key"] != key:
                raise ValueError(f"the keeper acknowledged {ack['key']!r} instead of {key!r}")
            self._in_flight = False
            if not answer.done():
                answer.set_result(ack["state"])
            self._send_next()
        elif kind == frames.STDERR:
            self._stderr += frame.payload
            del self._stderr[:-STDERR_TAIL]
        elif kind == frames.NOTE:
            note: dict[str, Any] = frame.text()
            self._note(note["code"], note["text"])
        elif kind == frames.NETWORK:
            message: dict[str, Any] = frame.text()
            if self._on_network is not None:
                self._on_network(message)
            else:
                self._network.append(message)
        elif kind == frames.EXIT:
            self._ended = msgspec.json.decode(frame.payload, type=AgentEnd)
            self.stream.end()
        else:
            text = f"This server (version {frames.VERSION}) does not know frames of kind {kind} and ignores them."
            self._note("unknown_frame", text)

    def _note(self, code: str, text: str) -> None:
        if code.startswith("disk_"):
            self.trouble = text if code == "disk_full" else ""
        log.warning("keeper_note", agent=command_name(self.command), keeper=self.folder.name, code=code, text=text)

    def _send_next(self) -> None:
        """Sends the next line once the one before is acknowledged, so that an END frame never waits behind lines."""
        if self._unsent and not self._in_flight:
            self._in_flight = True
            self.stream.write(self._unsent[0][1])

    def _fail_senders(self) -> None:
        for _, _, answer in self._unsent:
            if not answer.done():
                answer.set_exception(LinkClosed(self._exit()))
                answer.exception()  # Marks it as retrieved, since a cancelled sender does not look.
        self._unsent.clear()

    # After the keeper is gone

    async def _read_journal(self) -> LineBatch | None:
        """Returns lines that the keeper journalled and could not send."""
        if self._journal is None:
            await wait_until(lambda: not self._alive() or self._read_end() is not None, DEATH_WAIT)
            if self._alive() and self._read_end() is None:
                return None  # It closed the connection and lives on.
            self._journal = keeper_folder.read_batches(self.folder, self.stream.last)
        batch = await asyncio.to_thread(next, self._journal, None)
        if batch is None:
            self._ended = self._read_end()
        return batch

    def _alive(self) -> bool:
        return process_tree.alive(self._keeper)

    def _read_end(self) -> AgentEnd | None:
        return keeper_folder.read_end(self.folder)

    def _exit(self) -> AgentExit:
        return (
            self._ended.exit
            if self._ended is not None
            else AgentExit(code=None, signal=None, stderr=self.stderr_tail())
        )

    # The end

    async def _end(self, grace: float) -> AgentExit:
        ended: AgentEnd | None = None
        if self.stream.open:
            self.stream.write(frames.message(frames.END, grace=grace))
        else:
            self._kill(SIGTERM)

        def is_over() -> bool:
            nonlocal ended
            ended = self._ended or self._read_end()
            return ended is not None or not self._alive()

        await wait_until(is_over, 2 * grace + KILL_WAIT + END_MARGIN)
        await self.stream.close()
        if ended is not None:
            # The end may have been seen in the folder before the keeper could read the END frame.
            self._kill(SIGTERM)
            await wait_until(lambda: not self._alive(), LEAVE_WAIT)
        self._kill(SIGKILL)
        if ended is None or ended.left:
            await orphans.sweep(self.folder)
        return ended.exit if ended is not None else self._exit()

    def _kill(self, number: int) -> None:
        if self._alive():
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._keeper.pid, number)
