"""Decodes the lines that an agent writes, tolerantly: each becomes a message or raises `Junk`.

Nearly all lines are updates. Each takes one typed decode of the fields that Bough uses, and no exception (0.7 µs). An
update keeps its line, so that nothing an agent adds is lost. `chunk_batches` decodes many lines at once.
"""

import re
from itertools import accumulate
from typing import Any, Literal

import msgspec
from msgspec import Raw, Struct

from bough.agents.json_rpc import PARSE_ERROR

RequestId = int | float | str | None
"""The id of a request. Null is an id; a missing id makes a notification."""
WAITED_FOR = ("session/request_permission", "elicitation/create")
"""The requests that an agent waits on, so none may be overlooked."""

# Whole surrogate pairs and escaped backslashes are matched only to be skipped. The group is a lone surrogate.
_SURROGATES = re.compile(
    rb"\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)
_TOO_DEEP = "nested too deeply, or of too many parts"
DEEPEST = 256
"""The deepest nesting of a line. Agents nest a few levels; readers of the transcript recurse into what they read."""
# Counting them takes 50 ms. The most seen were some thousands.
_MOST_BRACKETS = 1_000_000
_STRINGS = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_STEPS = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_METHOD = re.compile(rb'"method"\s*:\s*"(?:session/request_permission|elicitation/create)"')
_SPOKEN = frozenset({"agent_message_chunk", "agent_thought_chunk", "user_message_chunk"})


class SessionUpdate(Struct, frozen=True, gc=False):
    """One `session/update`. `text` is set for a message or thought chunk with text."""

    session_id: str
    kind: str
    text: str | None
    message_id: str | None
    line: bytes

    @property
    def raw(self) -> bytes:
        """The update as the agent wrote it, byte for byte. Decoded at each call, since few updates need it."""
        return bytes(_decode_raw(self.line).params.update)


class AgentRequest(Struct, frozen=True):
    """A request of the agent, to be answered with its id."""

    id: RequestId
    method: str
    params: Raw


class Notification(Struct, frozen=True):
    """Any notification except `session/update`."""

    method: str
    params: Raw


class ErrorFromAgent(Struct, frozen=True):
    """The error in an agent's answer."""

    code: int
    message: str
    data: Any = None


class AgentResponse(Struct, frozen=True):
    """The agent's answer to one of Bough's requests."""

    id: RequestId
    result: Raw
    error: ErrorFromAgent | None


Message = SessionUpdate | AgentResponse | AgentRequest | Notification


class Junk(ValueError):
    """A line that is not a message."""


class UnreadableRequest(Junk):
    """A request for a person that cannot be read. `id` is set if at least the id could be read."""

    def __init__(self, reason: str, id: RequestId = None) -> None:
        super().__init__(reason)
        self.id = id


class _Content(Struct, gc=False):
    type: str = ""
    text: str | None = None


class _Update(Struct, rename="camel", gc=False):
    session_update: str = ""
    content: _Content | list[Raw] | None = None  # A block for chunks, a list for tool calls.
    message_id: str | None = None


class _UpdateParams(Struct, rename="camel", gc=False):
    session_id: str
    update: _Update


class _UpdateLine(Struct, forbid_unknown_fields=True, gc=False):
    """A line without an id: with one it would be a request."""

    method: Literal["session/update"]
    params: _UpdateParams
    jsonrpc: str = ""


class _MalformedUpdate(Struct, rename="camel"):
    session_update: Any = ""


class _MalformedParams(Struct, rename="camel"):
    session_id: str
    update: _MalformedUpdate


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
_decode_malformed_params = msgspec.json.Decoder(_MalformedParams).decode
_decode_raw = msgspec.json.Decoder(_RawLine).decode
_decode_envelope = msgspec.json.Decoder(_Envelope).decode
_decode_id = msgspec.json.Decoder(RequestId).decode
_decode_own_id = msgspec.json.Decoder(int | str | None).decode
_decode_error = msgspec.json.Decoder(ErrorFromAgent).decode


def decode(line: bytes) -> Message:
    """Decodes one line. Raises `Junk` if it is not a message."""
    try:
        params = _decode_update(line).params
        if not line.isascii():
            line.decode()  # msgspec does not check the bytes that it skips, but later readers decode them as text.
    except (ValueError, RecursionError):  # The errors of msgspec and UnicodeDecodeError are ValueErrors.
        return _decode_other(line)
    update = params.update
    content, text = update.content, None
    if type(content) is _Content and content.type == "text" and update.session_update in _SPOKEN:
        text = content.text
    if text is None:
        _check_readable(line)
    return SessionUpdate(params.session_id, update.session_update, text, update.message_id, line)


def _decode_other(line: bytes) -> Message:
    if b"\\u" in line:
        # Agents cut text inside surrogate pairs, and a lone surrogate cannot be stored as UTF-8.
        repaired = _SURROGATES.sub(lambda match: rb"\ufffd" if match[1] else match[0], line)
        if repaired != line:
            return decode(repaired)
    try:
        line.decode()
        return _message(line)
    except (ValueError, RecursionError) as error:
        raise _unreadable_request(line, str(error)) or Junk(str(error)) from None


def _unreadable_request(line: bytes, reason: str) -> UnreadableRequest | None:
    """Returns the error for a line that seems to be a request for a person; a log that only mentions one is not."""
    if not any(method.encode() in line for method in WAITED_FOR) or not line.lstrip().startswith(b"{"):
        return None
    try:
        envelope = _decode_envelope(line.decode(errors="replace").encode())
    except (ValueError, RecursionError):
        # Not JSON. A log line would not name it as the method.
        return UnreadableRequest(reason) if _METHOD.search(line) else None
    if envelope.method not in WAITED_FOR:
        return None
    try:
        return UnreadableRequest(reason, _decode_id(envelope.id) if bytes(envelope.id) else None)
    except ValueError:
        return UnreadableRequest(reason)


def _message(line: bytes) -> Message:
    envelope = _decode_envelope(line)
    if envelope.method is None:
        return _response(envelope, line)
    _check_readable(line)
    # Copied, so that a small part does not keep a large line in memory.
    params = Raw(bytes(envelope.params))
    if bytes(envelope.id):
        return AgentRequest(_decode_id(envelope.id), envelope.method, params)
    if envelope.method == "session/update":
        malformed = _decode_malformed_params(params)  # Some fields have unexpected types.
        kind = malformed.update.session_update
        return SessionUpdate(malformed.session_id, kind if isinstance(kind, str) else "", None, None, line)
    return Notification(envelope.method, params)


def _response(envelope: _Envelope, line: bytes) -> AgentResponse:
    if not bytes(envelope.id):
        raise Junk("neither a method nor an id")
    request_id = _decode_own_id(envelope.id)
    try:
        _check_readable(line)
    except Junk as problem:
        # Still an answer: without it, the caller would wait forever.
        return AgentResponse(request_id, Raw(), ErrorFromAgent(PARSE_ERROR, f"The answer cannot be read: {problem}"))
    error = bytes(envelope.error)
    if error and error != b"null":
        return AgentResponse(request_id, Raw(), _error(error))
    # Agents written in JavaScript omit a result that is undefined.
    return AgentResponse(request_id, Raw(bytes(envelope.result) or b"null"), None)


def _check_readable(line: bytes) -> None:
    """Raises `Junk` for valid JSON that no reader could decode: nested too deeply, or with a number out of range.
    msgspec does not look at those in the fields that it skips."""
    if is_too_deep(line):
        raise Junk(_TOO_DEEP)
    try:
        msgspec.json.decode(line)
    except (ValueError, RecursionError) as error:
        raise Junk(str(error)) from None


def is_too_deep(line: bytes) -> bool:
    """Returns whether valid JSON is nested more deeply than its readers can follow, or has too many parts to tell.

    Costs next to nothing for most lines.
    """
    if len(line) <= 2 * DEEPEST or line.count(b"[") + line.count(b"{") <= DEEPEST:
        return False
    brackets = _STRINGS.sub(b"", line).translate(None, _NO_BRACKETS)
    return len(brackets) > _MOST_BRACKETS or max(accumulate(map(_STEPS.__getitem__, brackets)), default=0) > DEEPEST


def _error(raw: bytes) -> ErrorFromAgent:
    try:
        return _decode_error(raw)
    except ValueError:
        return ErrorFromAgent(code=-32603, message=raw.decode()[:500])
