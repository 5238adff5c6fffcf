"""The JSON-RPC envelope of the Agent Client Protocol: one line in, one message out, and back.
It leaves which message follows which to `connection`, and what parameters and results hold to `types`.

Nearly all lines are updates. They take one typed decode, of what we use of any of them, and no exception (0.7 µs; many
at once take less in `flood`); the line itself is kept, so that nothing an agent adds is lost.
"""

import re
from typing import Any, Literal

import msgspec
from msgspec import Raw, Struct

RequestId = int | float | str | None
"""What may stand as the id of a request: null counts as one, a missing id makes a notification."""
PERMISSION = "session/request_permission"
"""The request that an agent stops for: nobody may overlook one."""

# Whole pairs and escaped backslashes are matched only to be stepped over; the group is half a character.
_SURROGATES = re.compile(
    rb"\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)
_METHOD = re.compile(rb'"method"\s*:\s*"session/request_permission"')
_SPOKEN = frozenset({"agent_message_chunk", "agent_thought_chunk", "user_message_chunk"})


class Update(Struct, frozen=True, gc=False):
    """One `session/update`; `text` is set for a message or thought chunk that holds text."""

    session_id: str
    kind: str
    text: str | None
    message_id: str | None
    line: bytes

    @property
    def raw(self) -> bytes:
        """The update as the agent wrote it, byte for byte; found anew at each call, since few are looked at."""
        return bytes(_decode_raw(self.line).params.update)


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


class OddRequest(Junk):
    """A request for a permission that cannot be read. `id` is set if at least that could be."""

    def __init__(self, why: str, id: RequestId = None) -> None:
        super().__init__(why)
        self.id = id


class _Content(Struct, gc=False):
    type: str = ""
    text: str | None = None


class _Update(Struct, rename="camel", gc=False):
    session_update: str = ""
    content: _Content | list[Raw] | None = None  # a block for chunks, a list for tool calls
    message_id: str | None = None


class _UpdateParams(Struct, rename="camel", gc=False):
    session_id: str
    update: _Update


class _UpdateLine(Struct, forbid_unknown_fields=True, gc=False):
    """No id: with one it would be a request."""

    method: Literal["session/update"]
    params: _UpdateParams
    jsonrpc: str = ""


class _OddUpdate(Struct, rename="camel"):
    session_update: Any = ""


class _OddParams(Struct, rename="camel"):
    session_id: str
    update: _OddUpdate


class _RawParams(Struct):
    update: Raw


class _RawLine(Struct):
    params: _RawParams


class _Envelope(Struct):
    method: str | None = None
    id: Raw = Raw()
    params: Raw = Raw()
    result: Raw = Raw()
    error: Raw = Raw()


_decode_update = msgspec.json.Decoder(_UpdateLine).decode
_decode_odd_params = msgspec.json.Decoder(_OddParams).decode
_decode_raw = msgspec.json.Decoder(_RawLine).decode
_decode_envelope = msgspec.json.Decoder(_Envelope).decode
_decode_id = msgspec.json.Decoder(RequestId).decode
_decode_own_id = msgspec.json.Decoder(int | str | None).decode
_decode_error = msgspec.json.Decoder(RpcError).decode


def decode(line: bytes) -> Message:
    """Reads one line; raises Junk if it is no message."""
    try:
        params = _decode_update(line).params
        if not line.isascii():
            line.decode()  # msgspec does not look into what it skips, and others will read that as text
    except (ValueError, RecursionError):  # msgspec's errors and UnicodeDecodeError are ValueErrors
        return _decode_other(line)
    update = params.update
    content, text = update.content, None
    if type(content) is _Content and content.type == "text" and update.session_update in _SPOKEN:
        text = content.text
    return Update(params.session_id, update.session_update, text, update.message_id, line)


def _decode_other(line: bytes) -> Message:
    if b"\\u" in line:
        # Agents cut text between the halves of a character; half a character cannot be stored as UTF-8.
        mended = _SURROGATES.sub(lambda match: rb"\ufffd" if match[1] else match[0], line)
        if mended != line:
            return decode(mended)
    try:
        line.decode()
        return _message(line)
    except (ValueError, RecursionError) as error:
        raise _odd_request(line, str(error)) or Junk(str(error)) from None


def _odd_request(line: bytes, why: str) -> OddRequest | None:
    """What is wrong with a line that seems to ask for a permission; a log that only speaks of one does not."""
    if PERMISSION.encode() not in line or not line.lstrip().startswith(b"{"):
        return None
    try:
        envelope = _decode_envelope(line.decode(errors="replace").encode())
    except (ValueError, RecursionError):
        # Not JSON: whoever writes a log in that way does not call what it is about the method.
        return OddRequest(why) if _METHOD.search(line) else None
    if envelope.method != PERMISSION:
        return None
    try:
        return OddRequest(why, _decode_id(envelope.id) if bytes(envelope.id) else None)
    except ValueError:
        return OddRequest(why)


def _message(line: bytes) -> Message:
    envelope = _decode_envelope(line)
    if envelope.method is None:
        return _response(envelope)
    # Copied, so that a small part does not keep a large line in memory.
    params = Raw(bytes(envelope.params))
    if bytes(envelope.id):
        return AgentRequest(_decode_id(envelope.id), envelope.method, params)
    if envelope.method == "session/update":
        odd = _decode_odd_params(params)  # fields that are not of the types that we know
        kind = odd.update.session_update
        return Update(odd.session_id, kind if isinstance(kind, str) else "", None, None, line)
    return Notification(envelope.method, params)


def _response(envelope: _Envelope) -> Response:
    if not bytes(envelope.id):
        raise Junk("neither a method nor an id")
    request_id = _decode_own_id(envelope.id)
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
