"""The JSON-RPC envelope of the Agent Client Protocol: one line in, one message out, and back.
It leaves which message follows which to `connection`, and what parameters and results hold to `types`.

Nearly all lines are updates: they take two typed decodes and no exception (together 1 µs), one that finds the
update and keeps its bytes, one for what we use of it. So nothing that an agent adds to an update is lost.
"""

import re
from typing import Any, Literal

import msgspec
from msgspec import Raw, Struct

RequestId = int | str | None
"""What may stand as the id of a request: null counts as one, a missing id makes a notification."""

# Whole pairs and escaped backslashes are matched only to be stepped over; the group is half a character.
_SURROGATES = re.compile(
    rb"\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)
_SPOKEN = frozenset({"agent_message_chunk", "agent_thought_chunk", "user_message_chunk"})


class Update(Struct, frozen=True, gc=False):
    """One `session/update`: `raw` is the update as the agent wrote it, byte for byte.

    `text` is set for a message or thought chunk that holds text.
    """

    session_id: str
    kind: str
    text: str | None
    message_id: str | None
    raw: bytes


class AgentRequest(Struct, frozen=True):
    """A question of the agent, to be answered with its id."""

    id: RequestId
    method: str
    params: Raw


class Notification(Struct, frozen=True):
    """Anything but `session/update` that the agent says without wanting an answer."""

    method: str
    params: Raw


class RpcError(Struct, frozen=True):
    """Why the agent refused."""

    code: int
    message: str
    data: Any = None


class Response(Struct, frozen=True):
    """The agent's answer to a request of ours."""

    id: RequestId
    result: Raw
    error: RpcError | None


Message = Update | Response | AgentRequest | Notification


class Junk(ValueError):
    """A line that is no message."""


class _UpdateParams(Struct, rename="camel", gc=False):
    session_id: str
    update: Raw


class _UpdateLine(Struct, forbid_unknown_fields=True, gc=False):
    method: Literal["session/update"]
    params: _UpdateParams
    jsonrpc: str = ""


class _Content(Struct, gc=False):
    type: str = ""
    text: str | None = None


class _UpdateHead(Struct, rename="camel", gc=False):
    session_update: str = ""
    content: _Content | list[Raw] | None = None  # a block for chunks, a list for tool calls
    message_id: str | None = None


class _OddHead(Struct, rename="camel"):
    session_update: Any = ""


class _Envelope(Struct):
    method: str | None = None
    id: Raw = Raw()
    params: Raw = Raw()
    result: Raw = Raw()
    error: Raw = Raw()


_decode_update = msgspec.json.Decoder(_UpdateLine).decode
_decode_params = msgspec.json.Decoder(_UpdateParams).decode
_decode_head = msgspec.json.Decoder(_UpdateHead).decode
_decode_odd_head = msgspec.json.Decoder(_OddHead).decode
_decode_envelope = msgspec.json.Decoder(_Envelope).decode
_decode_id = msgspec.json.Decoder(RequestId).decode
_decode_error = msgspec.json.Decoder(RpcError).decode


def decode(line: bytes) -> Message:
    """Reads one line; raises Junk if it is no message."""
    try:
        params = _decode_update(line).params
        raw = bytes(params.update)
        head = _decode_head(raw)
        if not line.isascii():
            line.decode()  # msgspec does not look into what it skips, and others will read that as text
    except (ValueError, RecursionError):  # msgspec's errors and UnicodeDecodeError are ValueErrors
        return _decode_other(line)
    content, text = head.content, None
    if type(content) is _Content and content.type == "text" and head.session_update in _SPOKEN:
        text = content.text
    return Update(params.session_id, head.session_update, text, head.message_id, raw)


def _decode_other(line: bytes) -> Message:
    if b"\\u" in line:
        # Agents cut text between the halves of a character; half a character cannot be stored as UTF-8.
        mended = _SURROGATES.sub(lambda match: rb"\ufffd" if match[1] else match[0], line)
        if mended != line:
            return decode(mended)
    try:
        line.decode()
        return _message(_decode_envelope(line))
    except (ValueError, RecursionError) as error:
        raise Junk(str(error)) from None


def _message(envelope: _Envelope) -> Message:
    if envelope.method is None:
        return _response(envelope)
    # Copied, so that a small part does not keep a large line in memory.
    params = Raw(bytes(envelope.params))
    if bytes(envelope.id):
        return AgentRequest(_decode_id(envelope.id), envelope.method, params)
    if envelope.method == "session/update":
        return _odd_update(_decode_params(params))
    return Notification(envelope.method, params)


def _response(envelope: _Envelope) -> Response:
    if not bytes(envelope.id):
        raise Junk("neither a method nor an id")
    request_id = _decode_id(envelope.id)
    error = bytes(envelope.error)
    if error and error != b"null":
        return Response(request_id, Raw(), _error(error))
    # Agents written in JavaScript drop a result that is undefined.
    return Response(request_id, Raw(bytes(envelope.result) or b"null"), None)


def _error(raw: bytes) -> RpcError:
    try:
        return _decode_error(raw)
    except ValueError:
        return RpcError(code=-32603, message=raw.decode()[:500])


def _odd_update(params: _UpdateParams) -> Update:
    """An update whose fields are not of the types that we know."""
    raw = bytes(params.update)
    kind = _decode_odd_head(raw).session_update
    return Update(params.session_id, kind if isinstance(kind, str) else "", None, None, raw)


class _Request(Struct):
    jsonrpc: str
    id: str
    method: str
    params: Any


class _Notify(Struct):
    jsonrpc: str
    method: str
    params: Any


class _Result(Struct):
    jsonrpc: str
    id: RequestId
    result: Any


class _Failure(Struct):
    jsonrpc: str
    id: RequestId
    error: dict[str, Any]


_encode = msgspec.json.Encoder().encode


def encode_request(request_id: str, method: str, params: Any) -> bytes:
    return _encode(_Request("2.0", request_id, method, params))


def encode_notification(method: str, params: Any) -> bytes:
    return _encode(_Notify("2.0", method, params))


def encode_result(request_id: RequestId, result: Any) -> bytes:
    return _encode(_Result("2.0", request_id, result))


def encode_error(request_id: RequestId, code: int, message: str) -> bytes:
    return _encode(_Failure("2.0", request_id, {"code": code, "message": message}))
