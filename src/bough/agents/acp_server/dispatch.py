"""Owns the way of a message: to the handler of its method, to the request it answers, or to the turn it cancels.
It leaves the methods to the agent, turns to the sessions and bytes to the connection.
"""

from __future__ import annotations

import asyncio
import os
import sys
import traceback
from collections.abc import Callable
from typing import Generic, TypeVar

import msgspec

from bough.agents.acp_server import params as wire
from bough.agents.acp_server.rpc import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    NOT_FOUND,
    Connection,
    Message,
    RequestId,
    RpcError,
)
from bough.agents.acp_server.turn_queue import Turns

S = TypeVar("S", bound=Turns)
Handler = Callable[[RequestId, msgspec.Raw], None]

# At the end every turn is cancelled; this is for commands that take their time to die.
STOP_LIMIT = 2.0


class Desk(Generic[S]):
    """One client's agent: as many sessions as it likes, each with its own turns. Agents add the methods."""

    def __init__(self, connection: Connection, name: str) -> None:
        self.connection = connection
        self.sessions: dict[str, S] = {}
        self.initialized = False
        # What the agent can do, by method.
        self.methods: dict[str, Handler] = {}
        self._name = name
        self._tasks: set[asyncio.Task[None]] = set()

    def receive(self, message: Message) -> None:
        """Handles one message; never raises, and never waits."""
        if message.method is msgspec.UNSET:
            self.connection.settle(message)
        elif message.id is msgspec.UNSET:
            self._notification(message.method, message.params)
        else:
            try:
                self._request(message.id, message.method, message.params)
            except RpcError as error:
                self.connection.refuse(message.id, error)
            except Exception as error:
                traceback.print_exception(error, file=sys.stderr)
                self.connection.refuse(message.id, RpcError(INTERNAL_ERROR, f"Internal error: {error}"))

    async def stop(self) -> None:
        """Cancels everything and waits until it is answered, but not for ever."""
        closing = [asyncio.create_task(session.close()) for session in self.sessions.values()]
        if closing or self._tasks:
            await asyncio.wait({*closing, *self._tasks}, timeout=STOP_LIMIT)

    def open(self, session_id: str) -> S:
        """Returns a session that is open."""
        session = self.sessions.get(session_id)
        if session is None:
            raise RpcError(NOT_FOUND, f"Session not open: {session_id}")
        return session

    def end(
        self, request_id: RequestId, session_id: str, session: S | None, then: Callable[[], None] | None = None
    ) -> None:
        """Closes a session, so that its prompts are answered first, does what comes then, and answers."""

        async def end() -> None:
            if session is not None:
                await session.close()
            if then is not None:
                then()
            self.connection.answer(request_id, {})

        self.sessions.pop(session_id, None)
        task = asyncio.create_task(end())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _request(self, request_id: RequestId, method: str, params: msgspec.Raw) -> None:
        handler = self.methods.get(method)
        if handler is None:
            raise RpcError(METHOD_NOT_FOUND, f"Method not found: {method}")
        if not self.initialized and method != "initialize":
            raise RpcError(INVALID_REQUEST, f"{method} came before initialize")
        handler(request_id, params)

    def _notification(self, method: str, params: msgspec.Raw) -> None:
        try:
            if method == "session/cancel":
                session = self.sessions.get(wire.read(params, wire.OneSession).session_id)
                if session is not None:
                    session.cancel()
            elif method == "$/cancel_request":
                cancelled = wire.read(params, wire.CancelRequest).request_id
                for session in self.sessions.values():
                    session.cancel_request(cancelled)
        except RpcError as error:
            # A notification cannot be answered; whoever debugs a client finds it here.
            print(f"{self._name}: {method}: {error}", file=sys.stderr, flush=True)


def check_folder(cwd: str) -> None:
    if not os.path.isabs(cwd) or not os.path.isdir(cwd):
        raise RpcError(INVALID_PARAMS, f"Invalid params: cwd {cwd!r} is not the absolute path of a folder")
