"""Owns JSON-RPC 2.0: reads and writes messages, answers what cannot be read, and matches answers to requests.
It leaves bytes to the pipes, and what the messages mean to the server.
"""

import asyncio
import itertools
from collections.abc import AsyncIterator
from typing import Any, Literal

import msgspec

from bough.agents.acp_server.pipes import Output, read_lines

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
NOT_FOUND = -32002
CANCELLED = -32800

Json = dict[str, Any]
RequestId = int | str | None


class RpcError(Exception):
    """An answer to a request that is an error."""

    def __init__(self, code: int, message: str, data: Json | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data

    def told(self) -> Json:
        """The error as it is sent."""
        found: Json = {"code": self.code, "message": str(self)}
        return found | ({"data": self.data} if self.data else {})


class Message(msgspec.Struct):
    """The envelope; what it carries stays undecoded until somebody knows its type."""

    jsonrpc: Literal["2.0"]
    id: RequestId | msgspec.UnsetType = msgspec.UNSET
    method: str | msgspec.UnsetType = msgspec.UNSET
    params: msgspec.Raw = msgspec.Raw(b"{}")
    result: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    error: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class _OnlyId(msgspec.Struct):
    id: RequestId = None


decode = msgspec.json.Decoder(Message).decode
encode = msgspec.json.Encoder().encode


class Connection:
    """Both directions of a conversation with one client."""

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self._read_fd = read_fd
        self.output = Output(write_fd)
        self._ids = itertools.count()
        self._waiting: dict[RequestId, asyncio.Future[msgspec.Raw]] = {}

    async def messages(self) -> AsyncIterator[Message]:
        """Yields what the client sends until it closes; answers what cannot be read itself."""
        lines = read_lines(self._read_fd)
        while (line := await lines.get()) is not None:
            try:
                message = decode(line)
            except msgspec.ValidationError as error:
                self.refuse(id_of(line), RpcError(INVALID_REQUEST, f"Invalid request: {error}"))
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                self.refuse(None, RpcError(PARSE_ERROR, f"Parse error: {error}"))
            else:
                yield message

    def notify(self, method: str, params: Json) -> None:
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def answer(self, request_id: RequestId, result: Json) -> None:
        self._send({"jsonrpc": "2.0", "id": request_id, "result": result})

    def refuse(self, request_id: RequestId, error: RpcError) -> None:
        self._send({"jsonrpc": "2.0", "id": request_id, "error": error.told()})

    async def request(self, method: str, params: Json) -> msgspec.Raw:
        """Asks the client; if the asker is cancelled meanwhile, the client is told so."""
        request_id = next(self._ids)
        future = self._waiting[request_id] = asyncio.get_running_loop().create_future()
        self._send({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})
        try:
            return await future
        except asyncio.CancelledError:
            self.notify("$/cancel_request", {"requestId": request_id})
            raise
        finally:
            del self._waiting[request_id]

    def settle(self, message: Message) -> None:
        """Takes the client's answer to a request; an answer that nobody waits for is dropped."""
        future = None if message.id is msgspec.UNSET else self._waiting.get(message.id)
        if future is None or future.done():
            return
        if isinstance(message.result, msgspec.Raw):
            future.set_result(message.result)
        else:
            future.set_exception(RpcError(INTERNAL_ERROR, f"the client answered with an error: {_text(message.error)}"))

    def _send(self, message: Json) -> None:
        self.output.write(encode(message) + b"\n")


def _text(error: msgspec.Raw | msgspec.UnsetType) -> str:
    return bytes(error).decode(errors="replace") if isinstance(error, msgspec.Raw) else "(none)"


def id_of(line: str | bytes) -> RequestId:
    """The id of what cannot be read otherwise."""
    try:
        return msgspec.json.decode(line, type=_OnlyId).id
    except (msgspec.DecodeError, UnicodeError):
        return None
