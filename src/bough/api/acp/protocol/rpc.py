"""JSON-RPC 2.0 with one client: reads frames, matches answers to requests, answers what cannot be read. What the
methods mean is `editor`; how frames travel is the door's part."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable

import msgspec
import structlog

from bough.agents.acp_server.rpc import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    PARSE_ERROR,
    Json,
    Message,
    RequestId,
    RpcError,
    decode,
    encode,
    id_of,
)
from bough.api.errors import meaning
from bough.errors import BoughError

log = structlog.get_logger("bough.acp")


class Peer:
    """The other side. `send` takes one frame and returns when it may have the next."""

    def __init__(self, send: Callable[[bytes], Awaitable[None]]) -> None:
        self._send = send
        self._turn = asyncio.Lock()
        self._ids = itertools.count(1)
        self._waiting: dict[RequestId, asyncio.Future[msgspec.Raw]] = {}
        # From when on nothing is sent any more: the client is gone.
        self.gone = False

    async def read(self, frame: str | bytes) -> Message | None:
        """What the client sent, if it can be read; else it is told why not."""
        try:
            message = decode(frame)
        except msgspec.ValidationError as error:
            await self.refuse(id_of(frame), RpcError(INVALID_REQUEST, f"Invalid request: {error}"))
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            await self.refuse(None, RpcError(PARSE_ERROR, f"Parse error: {error}"))
        else:
            if message.method is not msgspec.UNSET or _is_answer(message):
                return message
            said = "Invalid request: neither a method nor an answer"
            await self.refuse(id_of(frame), RpcError(INVALID_REQUEST, said))
        return None

    async def notify(self, method: str, params: Json) -> None:
        await self._frame({"jsonrpc": "2.0", "method": method, "params": params})

    async def answer(self, request_id: RequestId, result: Json) -> None:
        await self._frame({"jsonrpc": "2.0", "id": request_id, "result": result})

    async def refuse(self, request_id: RequestId, error: RpcError) -> None:
        await self._frame({"jsonrpc": "2.0", "id": request_id, "error": error.told()})

    async def request(self, method: str, params: Json) -> msgspec.Raw:
        """Asks the client. Whoever stops waiting has the client told so."""
        request_id = next(self._ids)
        future = self._waiting[request_id] = asyncio.get_running_loop().create_future()
        try:
            await self._frame({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})
            return await future
        except asyncio.CancelledError:
            await self.notify("$/cancel_request", {"requestId": request_id})
            raise
        finally:
            del self._waiting[request_id]

    def settle(self, message: Message) -> None:
        """Takes an answer; one that nobody waits for is dropped."""
        future = None if message.id is msgspec.UNSET else self._waiting.get(message.id)
        if future is None or future.done():
            return
        if isinstance(message.result, msgspec.Raw):
            future.set_result(message.result)
        else:
            future.set_exception(RpcError(INTERNAL_ERROR, "The client answered with an error."))

    async def _frame(self, message: Json) -> None:
        async with self._turn:
            if self.gone:
                return
            try:
                await self._send(encode(message))
            except Exception as error:
                # The door notices by itself that nobody is there.
                self.gone = True
                log.debug("acp_client_gone", error=repr(error))


def rpc_error(error: BoughError) -> RpcError:
    """One of our errors, as JSON-RPC has it."""
    return RpcError(meaning(error).rpc, error.message, {"code": error.code})


def _is_answer(message: Message) -> bool:
    has_end = message.result is not msgspec.UNSET or message.error is not msgspec.UNSET
    return has_end and message.id is not msgspec.UNSET
