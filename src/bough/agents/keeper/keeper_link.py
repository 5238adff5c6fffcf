"""A link to an agent that a keeper owns, so that it lives on when this server ends: lines from its journal, then live.
It leaves finding and starting keepers to `start`, and what a dead one left behind to `remains`."""

import asyncio
import contextlib
import os
from collections import deque
from collections.abc import Generator
from pathlib import Path
from signal import SIGKILL, SIGTERM
from typing import Any, Self

import msgspec
import structlog

from bough.agents.errors import command_name
from bough.agents.keeper import frames, orphans, process_tree
from bough.agents.keeper.agent_process import STDERR_TAIL
from bough.agents.keeper.end_agent import KILL_WAIT
from bough.agents.keeper.frames import Frame
from bough.agents.keeper.keeper_stream import KeeperStream
from bough.agents.keeper.orphans import END_MARGIN, About, Ended, until
from bough.agents.link import END_GRACE, Batch, Exit, LinkClosed
from bough.agents.shield import shielded
from bough.errors import AgentFailed

LEAVE_WAIT = 3.0
"""Seconds for a keeper to leave once its agent is gone; it has nothing left to do."""
DEATH_WAIT = 1.0
"""Seconds until a process is dead whose sockets the kernel has already closed."""

log: structlog.stdlib.BoundLogger = structlog.get_logger("bough.agents")


class Welcome(msgspec.Struct, frozen=True):
    """What a keeper says to whoever attaches."""

    version: int
    pid: int
    first: int
    next: int
    running: bool
    keys: list[str]
    notes: list[tuple[str, str]]


class KeeperLink:
    """The lines of one agent, through its keeper."""

    def __init__(self, folder: Path, about: About, welcome: Welcome, last: int) -> None:
        self.folder = folder
        self.command = tuple(about.command)
        self.pid = about.agent.pid
        self.welcome = welcome
        self.stream = KeeperStream(last, self._hear, self._fail_senders)
        self.trouble = ""
        """What keeps the keeper from going on, in a sentence; empty while nothing does."""
        self._keeper = about.keeper
        self._stderr = bytearray()
        self._ended: Ended | None = None
        self._left = False
        self._rest: Generator[Batch] | None = None
        self._lines: deque[tuple[str, bytes, asyncio.Future[str]]] = deque()
        self._in_flight = False
        self._ending: asyncio.Task[Exit] | None = None
        for code, text in welcome.notes:
            self._note(code, text)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.end()

    async def receive(self) -> Batch:
        batch = await self.stream.batch()
        if batch is None and self._ended is None and not self._left:
            batch = await self._read_journal()
        if batch is not None:
            return batch
        if self._ended is not None and self._ended.reason == "line_too_long":
            name = command_name(self.command)
            raise AgentFailed(
                "line_too_long",
                f"{name} wrote a line longer than we take.",
                command=list(self.command),
                stderr=self.stderr_tail(),
            )
        raise LinkClosed(self._exit())

    async def send(self, line: bytes, key: str) -> bool:
        if not self.stream.open or self.stream.ended:
            raise LinkClosed(self._exit())
        answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._lines.append((key, frames.send_frame(key, line), answer))
        self._send_next()
        state = await answer
        if state == "closed":
            raise LinkClosed(self._exit())
        return state == "fresh"

    def confirm(self, number: int) -> None:
        self.stream.write(frames.frame(frames.CONFIRM, first=number))

    def forget(self, prefix: str) -> None:
        self.stream.write(frames.frame(frames.FORGET, prefix.encode()))

    def stderr_tail(self) -> str:
        return self._ended.stderr if self._ended is not None else self._stderr.decode(errors="replace")

    async def leave(self) -> None:
        self._left = True
        await self.stream.close()

    async def end(self, grace: float = END_GRACE) -> Exit:
        if self._ending is None:
            self._ending = asyncio.create_task(self._end(grace), name=f"agent {self.pid} end")
        return await shielded(self._ending)

    # What the keeper says

    def _hear(self, frame: Frame) -> None:
        kind = frame.head.kind
        if kind == frames.ACK:
            key, _, answer = self._lines.popleft()
            said: dict[str, Any] = frame.text()
            if said["key"] != key:
                raise ValueError(f"the keeper acknowledged {said['key']!r} instead of {key!r}")
            self._in_flight = False
            if not answer.done():
                answer.set_result(said["state"])
            self._send_next()
        elif kind == frames.STDERR:
            self._stderr += frame.payload
            del self._stderr[:-STDERR_TAIL]
        elif kind == frames.NOTE:
            note: dict[str, Any] = frame.text()
            self._note(note["code"], note["text"])
        elif kind == frames.EXIT:
            self._ended = msgspec.json.decode(frame.payload, type=Ended)
            self.stream.end()
        else:
            text = f"This server (version {frames.VERSION}) knows no frame of kind {kind}, and goes on without it."
            self._note("unknown_frame", text)

    def _note(self, code: str, text: str) -> None:
        if code.startswith("disk_"):
            self.trouble = text if code == "disk_full" else ""
        log.warning("keeper_note", agent=command_name(self.command), keeper=self.folder.name, code=code, text=text)

    def _send_next(self) -> None:
        """Sends the next line once the one before is acknowledged: so the keeper can always be told to end."""
        if self._lines and not self._in_flight:
            self._in_flight = True
            self.stream.write(self._lines[0][1])

    def _fail_senders(self) -> None:
        for _, _, answer in self._lines:
            if not answer.done():
                answer.set_exception(LinkClosed(self._exit()))
                answer.exception()  # counts as seen: a sender that was cancelled does not look
        self._lines.clear()

    # When the keeper is gone

    async def _read_journal(self) -> Batch | None:
        """Returns lines that the keeper wrote down and no longer told us."""
        if self._rest is None:
            await until(lambda: not self._alive() or self._look() is not None, DEATH_WAIT)
            if self._alive() and self._look() is None:
                return None  # it hung up on us, and goes on without us
            self._rest = orphans.read_batches(self.folder, self.stream.last)
        batch = await asyncio.to_thread(next, self._rest, None)
        if batch is None:
            self._ended = self._look()
        return batch

    def _alive(self) -> bool:
        return process_tree.alive(self._keeper)

    def _look(self) -> Ended | None:
        return orphans.read_ended(self.folder)

    def _exit(self) -> Exit:
        return self._ended.exit if self._ended is not None else Exit(code=None, signal=None, stderr=self.stderr_tail())

    # The end

    async def _end(self, grace: float) -> Exit:
        ended: Ended | None = None
        if self.stream.open:
            self.stream.write(frames.message(frames.END, grace=grace))
        else:
            self._kill(SIGTERM)

        def over() -> bool:
            nonlocal ended
            ended = self._ended or self._look()
            return ended is not None or not self._alive()

        await until(over, 2 * grace + KILL_WAIT + END_MARGIN)
        await self.stream.close()
        if ended is not None:
            # We may have seen the end in the folder and hung up before the keeper could read what we said.
            self._kill(SIGTERM)
            await until(lambda: not self._alive(), LEAVE_WAIT)
        self._kill(SIGKILL)
        if ended is None or ended.left:
            await orphans.sweep(self.folder)
        return ended.exit if ended is not None else self._exit()

    def _kill(self, number: int) -> None:
        if self._alive():
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._keeper.pid, number)
