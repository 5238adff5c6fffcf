"""Owns the order of a session's turns: they run one after the other, as their prompts came, and can be cancelled.
It leaves what a turn does to the turn, and which sessions are open to the desk.
"""

from __future__ import annotations

import asyncio
import sys
import traceback
from collections import deque
from typing import Literal, Protocol

import msgspec

from bough.agents.acp_server.rpc import CANCELLED, INTERNAL_ERROR, Connection, Json, RequestId, RpcError

CancelledBy = Literal["session", "request"]


class Turn(Protocol):
    """What one prompt causes."""

    async def run(self) -> Json:
        """Returns the answer to the prompt, or raises the RpcError that is the answer."""
        ...

    def cancel(self, by: CancelledBy) -> None:
        """Stops the turn; its `run` returns soon."""
        ...


class _Job(msgspec.Struct):
    """A prompt and the turn that answers it."""

    request_id: RequestId
    turn: Turn


class Turns:
    """The turns of a session that this process holds open."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._queue: deque[_Job] = deque()
        self._running: _Job | None = None
        self._drain: asyncio.Task[None] | None = None

    def add(self, request_id: RequestId, turn: Turn) -> None:
        """Takes a prompt; it is answered when its turn, behind those before it, has ended."""
        self._queue.append(_Job(request_id, turn))
        if self._drain is None:
            self._drain = asyncio.create_task(self._run())

    def cancel(self) -> None:
        """Ends the running turn and all that wait behind it, each with the stop reason `cancelled`."""
        while self._queue:
            self.connection.answer(self._queue.popleft().request_id, {"stopReason": "cancelled"})
        if self._running is not None:
            self._running.turn.cancel("session")

    def cancel_request(self, request_id: RequestId) -> None:
        """Ends the one turn whose prompt has this id, if it is here, with the error for that."""
        if self._running is not None and self._running.request_id == request_id:
            self._running.turn.cancel("request")
        for job in [job for job in self._queue if job.request_id == request_id]:
            self._queue.remove(job)
            self.connection.refuse(request_id, RpcError(CANCELLED, "The prompt was cancelled"))

    async def close(self) -> None:
        """Cancels everything, and returns when all of it has been answered."""
        self.cancel()
        if self._drain is not None:
            await asyncio.wait({self._drain})

    async def _run(self) -> None:
        while self._queue:
            job = self._running = self._queue.popleft()
            try:
                self.connection.answer(job.request_id, await job.turn.run())
            except RpcError as error:
                self.connection.refuse(job.request_id, error)
            except Exception as error:
                # Most likely the record cannot be written: the disk is full, or somebody deleted the session.
                traceback.print_exception(error, file=sys.stderr)
                self.connection.refuse(job.request_id, RpcError(INTERNAL_ERROR, f"Internal error: {error}"))
            self._running = None
        self._drain = None
