"""Many lines read in one go, as they come when an agent speaks faster than we listen: chunks of text and tool calls.
It leaves batches that hold anything else, and single lines, to `wire`.

Agents write chunk after chunk in the same words, all but the text. So one of them is decoded, and of those that look
like it only the texts are, which takes half the time; the others are decoded whole.
"""

import re
from itertools import groupby
from typing import Any, Literal, NamedTuple, cast

import msgspec
from msgspec import Struct

from bough.agents.acp.wire import Update

MANY = 16
"""Lines for which it pays to find out how they look."""
LOOKED_AT = 4
"""Lines of a batch that are looked at for that; nearly any will do."""

_TEXT = re.compile(rb'"text":"((?:[^"\\]++|\\.)*+)"')
_PROBE = b"?"


class _Text(Struct, tag_field="type", tag="text", gc=False):
    text: str


class _Chunk(Struct, tag_field="sessionUpdate", rename="camel", gc=False):
    content: _Text
    message_id: str | None = None


class _Said(_Chunk, tag="agent_message_chunk", gc=False): ...


class _Thought(_Chunk, tag="agent_thought_chunk", gc=False): ...


class _ToolCall(Struct, tag_field="sessionUpdate", tag="tool_call", gc=False): ...


class _ToolUpdate(Struct, tag_field="sessionUpdate", tag="tool_call_update", gc=False): ...


class _Params(Struct, rename="camel", gc=False):
    session_id: str
    update: _Said | _Thought | _ToolCall | _ToolUpdate


class _Line(Struct, forbid_unknown_fields=True, gc=False):
    method: Literal["session/update"]
    params: _Params
    jsonrpc: Literal["2.0"] = "2.0"


_KINDS: dict[type[Struct], str] = {
    _Said: "agent_message_chunk",
    _Thought: "agent_thought_chunk",
    _ToolCall: "tool_call",
    _ToolUpdate: "tool_call_update",
}

_decode_line = msgspec.json.Decoder(_Line).decode
_decode_lines = msgspec.json.Decoder(_Line).decode_lines
_decode_texts = msgspec.json.Decoder(list[str]).decode


class _Shape(NamedTuple):
    """What stands before and after the text of a chunk, and what a line of this shape says besides."""

    before: bytes
    after: bytes
    params: _Params


def decode_flood(lines: list[bytes]) -> list[Update] | None:
    """Reads lines that are all chunks of text or tool calls; None if one may be anything else.

    Neighbouring chunks of one message may become one update, with the line of the first.
    """
    try:
        shape = _shape(lines) if len(lines) >= MANY else None
        return _each(lines) if shape is None else _by_shape(lines, shape)
    except (ValueError, RecursionError):  # msgspec's errors and UnicodeDecodeError are ValueErrors
        return None


def _shape(lines: list[bytes]) -> _Shape | None:
    """How most chunks of this batch are likely to look."""
    for line in lines[:: len(lines) // LOOKED_AT]:
        text = _TEXT.search(line) if b"agent_message_chunk" in line else None
        if text is not None:
            before, after = line[: text.start(1)], line[text.end(1) :]
            if not (before + after).isascii():
                return None
            params = _decode_line(before + _PROBE + after).params
            # That any text that stands there is the text of the chunk.
            if isinstance(params.update, _Chunk) and params.update.content.text == _PROBE.decode():
                return _Shape(before, after, params)
    return None


def _by_shape(lines: list[bytes], shape: _Shape) -> list[Update]:
    before, after, start = shape.before, shape.after, len(shape.before)
    updates: list[Update] = []
    for alike, group in groupby(lines, lambda line: line.startswith(before) and line.endswith(after, start)):
        neighbours = list(group)
        updates += [_spoken(neighbours, shape)] if alike else _each(neighbours)
    return updates


def _spoken(lines: list[bytes], shape: _Shape) -> Update:
    """What neighbours of this shape say together."""
    start, end = len(shape.before), -len(shape.after)
    # A list with a newline between the texts: no line holds one, so none can end its text too early or too late
    # without an error or another number of texts.
    texts = _decode_texts(b'["' + b'",\n"'.join([line[start:end] for line in lines]) + b'"]')
    if len(texts) != len(lines):
        raise ValueError("a line holds more than its text")
    chunk = cast("_Chunk", shape.params.update)
    return Update(shape.params.session_id, _KINDS[type(chunk)], "".join(texts), chunk.message_id, lines[0])


def _each(lines: list[bytes]) -> list[Update]:
    """Reads lines whatever they look like."""
    data = b"\n".join(lines)
    found: list[Any] = _decode_lines(data)
    if not data.isascii():
        data.decode()  # msgspec does not look into what it skips, and others will read that as text
    if len(found) != len(lines):
        raise ValueError("a line is empty, or a message stands on several")
    updates: list[Update] = []
    parts: list[str] = []
    kind: type[Struct] | None = None
    message_id, session_id, start = None, "", 0

    def close() -> None:
        if parts and kind is not None:
            updates.append(Update(session_id, _KINDS[kind], "".join(parts), message_id, lines[start]))

    for index, whole in enumerate(found):
        params = whole.params
        update = params.update
        if type(update) is kind and parts and update.message_id == message_id and params.session_id == session_id:
            parts.append(update.content.text)
            continue
        close()
        kind, session_id, start = cast("type[Struct]", type(update)), params.session_id, index
        if isinstance(update, _Chunk):
            parts, message_id = [update.content.text], update.message_id
        else:
            parts = []
            updates.append(Update(session_id, _KINDS[kind], None, None, lines[index]))
    close()
    return updates
