"""Owns an open session: its turns run one after the other, in the order in which their prompts came.
It leaves what a turn does to the turn, and which sessions are open to the server.
"""

import asyncio
import sys
import traceback
from collections import deque

import msgspec

from bough.agents.demo.features import Features
from bough.agents.demo.rpc import CANCELLED, INTERNAL_ERROR, Connection, Json, RequestId, RpcError
from bough.agents.demo.store import SessionFile
from bough.agents.demo.turn import Turn
from bough.agents.demo.voice import Voice
from bough.agents.demo.wire import McpServer


class _Job(msgspec.Struct):
    """A prompt and the turn that answers it."""

    request_id: RequestId
    turn: Turn


class Session:
    """A session that this process holds open."""

    def __init__(self, connection: Connection, features: Features, file: SessionFile) -> None:
        self.file = file
        self.servers: list[McpServer] = []
        self._connection = connection
        self._features = features
        self._queue: deque[_Job] = deque()
        self._running: _Job | None = None
        self._drain: asyncio.Task[None] | None = None

    def prompt(self, request_id: RequestId, content: list[Json]) -> None:
        """Takes a prompt; it is answered when its turn, behind those before it, has ended."""
        voice = Voice(self._connection, self.file, self._features)
        self._queue.append(_Job(request_id, Turn(voice, self._features, self.servers, content)))
        if self._drain is None:
            self._drain = asyncio.create_task(self._run())

    def cancel(self) -> None:
        """Ends the running turn and all that wait behind it, each with the stop reason `cancelled`."""
        while self._queue:
            self._connection.answer(self._queue.popleft().request_id, {"stopReason": "cancelled"})
        if self._running is not None:
            self._running.turn.cancel("session")

    def cancel_request(self, request_id: RequestId) -> None:
        """Ends the one turn whose prompt has this id, if it is here, with the error for that."""
        if self._running is not None and self._running.request_id == request_id:
            self._running.turn.cancel("request")
        for job in [job for job in self._queue if job.request_id == request_id]:
            self._queue.remove(job)
            self._connection.refuse(request_id, RpcError(CANCELLED, "The prompt was cancelled"))

    async def close(self) -> None:
        """Cancels everything, and returns when all of it has been answered."""
        self.cancel()
        if self._drain is not None:
            await asyncio.wait({self._drain})

    async def _run(self) -> None:
        while self._queue:
            job = self._running = self._queue.popleft()
            try:
                self._connection.answer(job.request_id, await job.turn.run())
            except RpcError as error:
                self._connection.refuse(job.request_id, error)
            except Exception as error:
                # Most likely the record cannot be written: the disk is full, or somebody deleted the session.
                traceback.print_exception(error, file=sys.stderr)
                self._connection.refuse(job.request_id, RpcError(INTERNAL_ERROR, f"Internal error: {error}"))
            self._running = None
        self._drain = None
