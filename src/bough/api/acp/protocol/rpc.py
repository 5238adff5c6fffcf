"""Exchanges JSON-RPC messages with one editor. `editor` decides what its methods do; the door carries the frames."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import msgspec
import structlog

from bough.agents.json_rpc import (
    INVALID_REQUEST,
    Json,
    PendingRequests,
    RequestId,
    RpcError,
    RpcMessage,
    UnreadableMessage,
    encode_error,
    encode_notification,
    encode_request,
    encode_result,
    read_message,
)
from bough.api.errors import meaning
from bough.errors import BoughError

log = structlog.get_logger("bough.acp")


class Peer:
    """The editor. `send` takes one frame and returns when the next may follow."""

    def __init__(self, send: Callable[[bytes], Awaitable[None]]) -> None:
        self._send = send
        self._sending = asyncio.Lock()
        self._requests = PendingRequests()
        # Set once the editor is gone; from then on nothing is sent.
        self.gone = False

    async def read(self, frame: str | bytes) -> RpcMessage | None:
        """Returns the message in a frame, or None after answering an unreadable one with an error."""
        try:
            message = read_message(frame)
        except UnreadableMessage as error:
            await self.refuse(error.request_id, error)
            return None
        if message.method is not msgspec.UNSET or message.is_answer:
            return message
        request_id = None if message.id is msgspec.UNSET else message.id
        await self.refuse(request_id, RpcError(INVALID_REQUEST, "Invalid request: neither a method nor an answer"))
        return None

    async def notify(self, method: str, params: Json) -> None:
        """Sends a notification."""
        await self._frame(encode_notification(method, params))

    async def answer(self, request_id: RequestId, result: Json) -> None:
        """Answers a request of the editor."""
        await self._frame(encode_result(request_id, result))

    async def refuse(self, request_id: RequestId, error: RpcError) -> None:
        """Answers a request of the editor with an error."""
        await self._frame(encode_error(request_id, error.code, str(error), error.data))

    async def request(self, method: str, params: Json) -> msgspec.Raw:
        """Sends a request and returns its result. Sends `$/cancel_request` if the caller is cancelled meanwhile."""
        request_id, future = self._requests.add()
        try:
            await self._frame(encode_request(request_id, method, params))
            return await future
        except asyncio.CancelledError:
            await self.notify("$/cancel_request", {"requestId": request_id})
            raise
        finally:
            self._requests.remove(request_id)

    def settle(self, answer: RpcMessage) -> None:
        """Hands the editor's answer to the request that waits for it."""
        self._requests.settle(answer)

    async def _frame(self, frame: bytes) -> None:
        async with self._sending:
            if self.gone:
                return
            try:
                await self._send(frame)
            except Exception as error:
                # The door notices by itself that the connection is closed.
                self.gone = True
                log.debug("acp_client_gone", error=repr(error))


def rpc_error(error: BoughError) -> RpcError:
    """Translates one of Bough's errors to JSON-RPC."""
    return RpcError(meaning(error).rpc, error.message, {"code": error.code})
