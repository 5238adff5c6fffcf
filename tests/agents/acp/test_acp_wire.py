"""Decoding single lines of every kind, malformed ones included."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from bough.agents.acp.wire import (
    AgentRequest,
    AgentResponse,
    ErrorFromAgent,
    Junk,
    Notification,
    SessionUpdate,
    UnreadableRequest,
    decode,
)
from bough.agents.json_rpc import encode_error, encode_result

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def update_line(update: bytes) -> bytes:
    return b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":' + update + b"}}"


@pytest.mark.parametrize("kind", ["agent_message_chunk", "agent_thought_chunk", "user_message_chunk"])
def test_a_chunk_has_its_text(kind: str) -> None:
    """R4: Text of the agent and of the user is read out, with the message that it belongs to."""
    raw = b'{"sessionUpdate":"%s","content":{"type":"text","text":"h\xc3\xa9"},"messageId":"m"}' % kind.encode()
    line = update_line(raw)
    message = decode(line)
    assert isinstance(message, SessionUpdate)
    assert message == SessionUpdate("s", kind, "hé", "m", line)
    assert message.raw == raw


@pytest.mark.parametrize(
    ("kind", "raw"),
    [
        (
            "agent_message_chunk",
            b'{"sessionUpdate":"agent_message_chunk","content":{"type":"image","data":""}}',
        ),
        ("agent_message_chunk", b'{"sessionUpdate":"agent_message_chunk","content":"bare"}'),
        (
            "agent_message_chunk",
            b'{"content":{"type":"text","text":1},"sessionUpdate":"agent_message_chunk"}',
        ),
        ("tool_call", b'{"toolCallId":"t", "content":[{"type":"diff"}],\t"sessionUpdate":"tool_call"}'),
        ("tool_call_update", b'{"sessionUpdate":"tool_call_update","content":null}'),
        (
            "compaction_summary_chunk",
            b'{"sessionUpdate":"compaction_summary_chunk","content":{"type":"text"}}',
        ),
        ("_own/kind", b'{"sessionUpdate":"_own/kind","messageId":7}'),
        ("", b'{"sessionUpdate":5}'),
        ("", b"{}"),
    ],
)
def test_any_other_update_keeps_its_bytes(kind: str, raw: bytes) -> None:
    """R4: An update that we do not read, or do not know, is kept as it was written."""
    message = decode(update_line(raw))
    assert isinstance(message, SessionUpdate)
    assert (message.kind, message.text, message.raw) == (kind, None, raw)


@given(fields=st.dictionaries(st.text(max_size=8), JSON, max_size=4), kind=st.text(max_size=10))
def test_unknown_updates_are_kept_byte_for_byte(fields: dict[str, object], kind: str) -> None:
    """R4: Whatever an agent puts into an update comes out as the same bytes."""
    raw = msgspec.json.encode({**fields, "sessionUpdate": kind})
    message = decode(update_line(raw))
    assert isinstance(message, SessionUpdate)
    assert (message.session_id, message.kind, message.raw) == ("s", kind, raw)


def test_meta_in_an_update_changes_nothing() -> None:
    """C1: `_meta` cannot take the place of a field, and is not lost."""
    raw = b'{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a"},"_meta":{"text":"b"}}'
    line = update_line(raw)[:-2] + b',"_meta":{"sessionId":"spoofed","update":null}}}'
    message = decode(line)
    assert isinstance(message, SessionUpdate)
    assert message == SessionUpdate("s", "agent_message_chunk", "a", None, line)
    assert message.raw == raw


@pytest.mark.parametrize(("number", "id"), [(b"0", 0), (b'"0"', "0"), (b"null", None)])
def test_a_request_keeps_its_id(number: bytes, id: int | str | None) -> None:
    """C1: The agent's ids come back exactly; a number, a string and null are different ids."""
    line = b'{"jsonrpc":"2.0","id":' + number + b',"method":"session/request_permission","params":{"a": 1}}'
    request = decode(line)
    assert isinstance(request, AgentRequest)
    assert (request.id, request.method, bytes(request.params)) == (
        id,
        "session/request_permission",
        b'{"a": 1}',
    )
    assert encode_result(request.id, {}) == b'{"jsonrpc":"2.0","id":' + number + b',"result":{}}'
    assert b'"id":' + number in encode_error(request.id, -32601, "no")


def test_an_update_with_an_id_is_a_request() -> None:
    """C1: A message with an id needs an answer, whatever its method."""
    line = b'{"id":4,"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"x"}}}'
    assert isinstance(decode(line), AgentRequest)


def test_answers() -> None:
    """C1: Decodes results, errors with data, malformed errors, and a missing result."""
    assert decode(b'{"jsonrpc":"2.0","id":"k","result":{"a":1}}') == AgentResponse("k", Raw(b'{"a":1}'), None)
    assert decode(b'{"id":"k","result":null,"error":{"code":-32000,"message":"m","data":[1]}}') == AgentResponse(
        "k", Raw(), ErrorFromAgent(-32000, "m", [1])
    )
    assert decode(b'{"id":"k","error":"broken"}') == AgentResponse("k", Raw(), ErrorFromAgent(-32603, '"broken"'))
    assert decode(b'{"id":"k","result":{},"error":null}') == AgentResponse("k", Raw(b"{}"), None)
    assert decode(b'{"id":"k"}') == AgentResponse("k", Raw(b"null"), None)


def test_other_notifications() -> None:
    """C1: Decodes a notification with and without parameters."""
    assert decode(b'{"method":"_x/y","params":[1]} \r') == Notification("_x/y", Raw(b"[1]"))
    assert decode(b'{"method":"_x/y"}') == Notification("_x/y", Raw())


def test_half_a_character_is_replaced() -> None:
    """R4: A lone surrogate is replaced, since it cannot be stored; pairs stay."""
    template = b'{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%s"}}'
    for written, read in [
        (rb"a\ud83d", "a\ufffd"),
        (rb"\uDE00b", "\ufffdb"),
        (rb"\ud83d\ude00 \ud83d", "\U0001f600 \ufffd"),
        (rb"\\ud83d \ud83d", "\\ud83d \ufffd"),
        (rb"\ud83d\ude00", "\U0001f600"),
    ]:
        message = decode(update_line(template % written))
        assert isinstance(message, SessionUpdate)
        assert message.text == read
        assert msgspec.json.decode(message.raw)["content"]["text"] == read


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"plain words",
        b"[1,2]",
        b'"x"',
        b"null",
        b"{}",
        b'{"id":1.5,"result":{}}',
        b'{"method":5}',
        b'{"jsonrpc":"2.0","id":"k","res',
        b'{"method":"session/update","params":{"sessionId":"s"}}',
        b'{"method":"session/update","params":{"sessionId":"s","update":[1]}}',
        b'{"method":"x","params":"\xff"}',
        b'{"method":"x","params":' + b"[" * 200_000 + b"]" * 200_000 + b"}",
        update_line(b'{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"\xff"}}'),
        update_line(b'{"sessionUpdate":"tool_call","title":"\xff"}'),
    ],
)
def test_junk(line: bytes) -> None:
    """C1: A line that is not a message is recognized and never breaks the reader."""
    with pytest.raises(Junk):
        decode(line)


@pytest.mark.parametrize(
    ("line", "id"),
    [
        (b'{"id":7,"method":"session/request_permission","params":{"x":"\xff"}}', 7),
        (b'{"id":"a","method":"session/request_permission","params":{"x":"\xff"}}', "a"),
        (b'{"id":{},"method":"session/request_permission","params":{}}', None),
        (b'{"id":7,"method":"session/request_permission","params":{', None),
    ],
)
def test_an_unreadable_permission_request_is_recognized(line: bytes, id: object) -> None:
    """C1: An agent waits for the answer, so an unreadable request is recognized, by its id if possible."""
    with pytest.raises(UnreadableRequest) as caught:
        decode(line)
    assert caught.value.id == id


@pytest.mark.parametrize(
    "line",
    [
        b"sent session/request_permission {",
        b'{"level":"debug","about":"session/request_permission"}',
        b'{"level":"debug","about":"session/request_permission"',
    ],
)
def test_a_log_line_about_a_permission_is_junk(line: bytes) -> None:
    """C1: Lines that agents log are not requests."""
    with pytest.raises(Junk) as junk:
        decode(line)
    assert not isinstance(junk.value, UnreadableRequest)


def test_the_id_of_a_request_may_be_any_number() -> None:
    """C1: The agent may use any number as an id."""
    asked = decode(b'{"id":1.5,"method":"session/request_permission","params":{}}')
    assert isinstance(asked, AgentRequest) and asked.id == 1.5
