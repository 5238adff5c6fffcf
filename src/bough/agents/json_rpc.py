"""Reads and writes JSON-RPC 2.0 messages and matches answers to requests, for both sides of the Agent Client Protocol.

Our own agents, the ACP door and the client of other people's agents share it. Each brings its own way to send.
"""

import asyncio
import itertools
from typing import Any, Literal

import msgspec

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
    """An error to send as the answer to a request."""

    def __init__(self, code: int, message: str, data: Json | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


class UnreadableMessage(RpcError):
    """A frame that is not a message, with the id to send the error to."""

    def __init__(self, code: int, message: str, request_id: RequestId) -> None:
        super().__init__(code, message)
        self.request_id = request_id


class RpcMessage(msgspec.Struct):
    """The envelope of a message. Its contents stay encoded until the method, and so their type, is known."""

    jsonrpc: Literal["2.0"]
    id: RequestId | msgspec.UnsetType = msgspec.UNSET
    method: str | msgspec.UnsetType = msgspec.UNSET
    params: msgspec.Raw = msgspec.Raw(b"{}")
    result: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    error: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET

    @property
    def is_answer(self) -> bool:
        """Whether the message answers a request of ours."""
        has_outcome = self.result is not msgspec.UNSET or self.error is not msgspec.UNSET
        return self.method is msgspec.UNSET and has_outcome and self.id is not msgspec.UNSET


class _OnlyId(msgspec.Struct):
    id: RequestId = None


class _Request(msgspec.Struct):
    jsonrpc: str
    id: Any
    method: str
    params: Any


class _Notification(msgspec.Struct):
    jsonrpc: str
    method: str
    params: Any


class _Result(msgspec.Struct):
    jsonrpc: str
    id: Any
    result: Any


class _Failure(msgspec.Struct):
    jsonrpc: str
    id: Any
    error: Json


_decode = msgspec.json.Decoder(RpcMessage).decode
_encode = msgspec.json.Encoder().encode


def read_message(frame: str | bytes) -> RpcMessage:
    """Decodes one frame. Raises `UnreadableMessage` if it is not a JSON-RPC message."""
    try:
        if isinstance(frame, bytes) and not frame.isascii():
            frame.decode()  # msgspec does not check the bytes that it skips, but later readers decode them as text.
        return _decode(frame)
    except msgspec.ValidationError as error:
        raise UnreadableMessage(INVALID_REQUEST, f"Invalid request: {error}", _id_of(frame)) from error
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise UnreadableMessage(PARSE_ERROR, f"Parse error: {error}", None) from error


def encode_request(request_id: Any, method: str, params: Any) -> bytes:
    """Returns a request as one frame."""
    return _encode(_Request("2.0", request_id, method, params))


def encode_notification(method: str, params: Any) -> bytes:
    """Returns a notification as one frame."""
    return _encode(_Notification("2.0", method, params))


def encode_result(request_id: Any, result: Any) -> bytes:
    """Returns a successful answer as one frame."""
    return _encode(_Result("2.0", request_id, result))


def encode_error(request_id: Any, code: int, message: str, data: Json | None = None) -> bytes:
    """Returns an error answer as one frame."""
    error: Json = {"code": code, "message": message}
    return _encode(_Failure("2.0", request_id, error | ({"data": data} if data else {})))


class PendingRequests:
    """The requests that were sent to the other side and are not answered yet."""

    def __init__(self) -> None:
        self._ids = itertools.count(1)
        self._futures: dict[RequestId, asyncio.Future[msgspec.Raw]] = {}

    def add(self) -> tuple[int, asyncio.Future[msgspec.Raw]]:
        """Returns the id of a new request, and the future that will hold its result or an `RpcError`."""
        request_id = next(self._ids)
        future = self._futures[request_id] = asyncio.get_running_loop().create_future()
        return request_id, future

    def remove(self, request_id: RequestId) -> None:
        """Forgets a request that is answered or no longer waited for."""
        self._futures.pop(request_id, None)

    def settle(self, answer: RpcMessage) -> None:
        """Resolves the request that a message answers. Ignores answers that nothing waits for."""
        future = None if answer.id is msgspec.UNSET else self._futures.get(answer.id)
        if future is None or future.done():
            return
        if isinstance(answer.result, msgspec.Raw):
            future.set_result(answer.result)
        else:
            problem = f"The client answered with an error: {_text(answer.error)}"
            future.set_exception(RpcError(INTERNAL_ERROR, problem))


def _text(error: msgspec.Raw | msgspec.UnsetType) -> str:
    return bytes(error).decode(errors="replace") if isinstance(error, msgspec.Raw) else "(none)"


def _id_of(frame: str | bytes) -> RequestId:
    """Returns the id of a frame that is otherwise unreadable, so that the error reaches the right request."""
    try:
        return msgspec.json.decode(frame, type=_OnlyId).id
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
