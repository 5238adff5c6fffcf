"""Runs the turns of an open session one after the other, in the order of their prompts, and cancels them."""

from __future__ import annotations

import asyncio
import sys
import traceback
from abc import ABC, abstractmethod
from collections import deque
from typing import Any, Generic

import msgspec

from bough.agents.acp_server.connection import ClientConnection
from bough.agents.acp_server.params import ReceivedMcpServer
from bough.agents.acp_server.session_store import SessionFile, State
from bough.agents.acp_server.turn import Turn
from bough.agents.json_rpc import CANCELLED, INTERNAL_ERROR, Json, RequestId, RpcError


class _QueuedTurn(msgspec.Struct):
    request_id: RequestId
    turn: Turn[Any]


class OpenSession(ABC, Generic[State]):
    """A session that this process holds open, with the queue of its turns."""

    def __init__(self, connection: ClientConnection, file: SessionFile[State]) -> None:
        self.connection = connection
        self.file = file
        # Only in memory, since headers and environments of MCP servers hold secrets.
        self.servers: list[ReceivedMcpServer] = []
        self._queue: deque[_QueuedTurn] = deque()
        self._running: _QueuedTurn | None = None
        self._worker: asyncio.Task[None] | None = None

    @abstractmethod
    def new_turn(self, content: list[Json]) -> Turn[State]:
        """Returns the turn for a prompt."""

    def prompt(self, request_id: RequestId, content: list[Json]) -> None:
        """Queues a prompt. It is answered when its turn has ended."""
        self._queue.append(_QueuedTurn(request_id, self.new_turn(content)))
        if self._worker is None:
            self._worker = asyncio.create_task(self._run_queue())

    @property
    def running(self) -> Turn[State] | None:
        """The turn that is running."""
        return self._running.turn if self._running is not None else None

    @property
    def is_starting(self) -> bool:
        """Whether a turn is the next thing that this process runs."""
        return self._running is None and bool(self._queue)

    def cancel(self) -> None:
        """Ends the running turn and all queued ones, each with the stop reason `cancelled`."""
        while self._queue:
            self.connection.answer(self._queue.popleft().request_id, {"stopReason": "cancelled"})
        if self._running is not None:
            self._running.turn.cancel("session")

    def cancel_request(self, request_id: RequestId) -> None:
        """Ends the turn of one prompt, if it is here, with a `CANCELLED` error."""
        if self._running is not None and self._running.request_id == request_id:
            self._running.turn.cancel("request")
        for queued in [queued for queued in self._queue if queued.request_id == request_id]:
            self._queue.remove(queued)
            self.connection.refuse(request_id, RpcError(CANCELLED, "The prompt was cancelled"))

    async def close(self) -> None:
        """Cancels everything, and returns when every prompt is answered."""
        self.cancel()
        if self._worker is not None:
            await asyncio.wait({self._worker})

    async def _run_queue(self) -> None:
        while self._queue:
            running = self._running = self._queue.popleft()
            try:
                self.connection.answer(running.request_id, await running.turn.run())
            except RpcError as error:
                self.connection.refuse(running.request_id, error)
            except Exception as error:
                # Most likely the record cannot be written: the disk is full, or the session was deleted.
                traceback.print_exception(error, file=sys.stderr)
                self.connection.refuse(running.request_id, RpcError(INTERNAL_ERROR, f"Internal error: {error}"))
            self._running = None
        self._worker = None
