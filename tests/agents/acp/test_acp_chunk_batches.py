"""Decoding many lines at once gives the same updates as decoding them one by one."""

from collections.abc import Iterable

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bough.agents.acp.chunk_batches import MANY, decode_batch
from bough.agents.acp.wire import Junk, SessionUpdate, decode

SAID, THOUGHT = "agent_message_chunk", "agent_thought_chunk"
TOOL = (
    b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":'
    b'{"sessionUpdate":"tool_call","toolCallId":"c"}}}'
)


def chunk(kind: str, text: str, message_id: str | None = None, session: str = "s") -> bytes:
    update = {"sessionUpdate": kind, "content": {"type": "text", "text": text}}
    if message_id is not None:
        update["messageId"] = message_id
    params = {"sessionId": session, "update": update}
    return msgspec.json.encode({"jsonrpc": "2.0", "method": "session/update", "params": params})


def joined(updates: Iterable[SessionUpdate]) -> list[SessionUpdate]:
    """Returns the updates with adjacent chunks of one message merged."""
    merged: list[SessionUpdate] = []
    for update in updates:
        last = merged[-1] if merged else None
        if (
            last is not None
            and last.text is not None
            and update.text is not None
            and (last.session_id, last.kind, last.message_id) == (update.session_id, update.kind, update.message_id)
        ):
            merged[-1] = msgspec.structs.replace(last, text=last.text + update.text)
        else:
            merged.append(update)
    return merged


def one_by_one(lines: list[bytes]) -> list[SessionUpdate] | None:
    """Decodes each line by itself; None if one of them is not an update."""
    updates: list[SessionUpdate] = []
    for line in lines:
        try:
            message = decode(line)
        except Junk:
            return None
        if not isinstance(message, SessionUpdate):
            return None
        updates.append(message)
    return joined(updates)


CHUNKS = st.builds(
    chunk,
    st.sampled_from([SAID, THOUGHT]),
    st.text(max_size=5),
    st.sampled_from([None, "m", "n"]),
    st.sampled_from(["s", "s", "t"]),
)
# What agents usually write: chunks of one message.
TALK = st.builds(chunk, st.just(SAID), st.text(max_size=5))


@given(st.lists(CHUNKS | st.just(TOOL), min_size=1, max_size=30) | st.lists(TALK | CHUNKS, min_size=MANY, max_size=60))
def test_a_batch_means_the_same_as_its_lines(lines: list[bytes]) -> None:
    """R4: Adjacent chunks of one message become one update, and nothing else changes."""
    batch = decode_batch(lines)
    assert batch is None or joined(batch) == one_by_one(lines)


@given(st.lists(TALK, min_size=MANY, max_size=60))
def test_chunks_of_one_message_are_decoded_at_once(lines: list[bytes]) -> None:
    """R4: A batch of nothing but chunks of one message is one update."""
    batch = decode_batch(lines)
    assert batch is not None
    assert len(batch) == 1
    assert batch == one_by_one(lines)


def test_chunks_of_one_form_become_one_update() -> None:
    """R4: Adjacent chunks of one form become one update, with the line of the first."""
    lines = [chunk(SAID, f'{number} \\ "ü" 😀\n') for number in range(MANY)]
    batch = decode_batch([*lines, TOOL, *lines])
    whole = "".join(f'{number} \\ "ü" 😀\n' for number in range(MANY))
    update = SessionUpdate("s", SAID, whole, None, lines[0])
    assert batch == [update, SessionUpdate("s", "tool_call", None, None, TOOL), update]


NOT_UPDATES = [
    b"",
    b"junk",
    b'{"jsonrpc":"2.0","id":1,"result":{}}',
    TOOL.replace(b'"jsonrpc"', b'"id":1,"jsonrpc"'),
    TOOL + TOOL,
    TOOL[:-5],
    chunk(SAID, "x").replace(b'"x"', b'"\\ud83d"'),
    chunk(SAID, "x").replace(b"x", b"\xff"),
    # The bytes before the text and those after it share their quotation mark.
    chunk(SAID, "").replace(b'""', b'"'),
    TOOL.replace(b'"c"', b'"c","_meta":"\xff"'),
]


@pytest.mark.parametrize("line", NOT_UPDATES)
@pytest.mark.parametrize("others", [[TOOL], [chunk(SAID, "y")] * MANY])
def test_a_batch_with_another_line_is_not_decoded_at_once(line: bytes, others: list[bytes]) -> None:
    """C1: A batch with a line that is not an update is decoded line by line."""
    assert decode_batch([*others, line, *others]) is None


OTHER_UPDATES = [
    TOOL.replace(b"tool_call", b"plan"),
    chunk(SAID, "x").replace(b'"text":"x"', b'"data":"x"'),
]


@pytest.mark.parametrize("line", OTHER_UPDATES)
def test_other_updates_may_stand_between_chunks(line: bytes) -> None:
    """R4: An update of another kind between chunks is decoded by itself."""
    lines = [*[chunk(SAID, "y")] * MANY, line, *[chunk(SAID, "y")] * MANY]
    batch = decode_batch(lines)
    assert batch is not None
    assert batch == one_by_one(lines)


BEFORE, AFTER = chunk(SAID, "|").split(b"|")
PIECES = [b"a", b'"', b"\\", b",", b"\xe4\xbc", b"\x9a", b"\\ud83d", b"\\ude00", b"}", b"{", b" ", b":", b'"_":', AFTER]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=4).map(b"".join)


@given(st.lists(TEXTS, min_size=1, max_size=6), st.integers(0, MANY))
# The first takes its end from the second, which has another one.
@example([b"c\\", b',"d'], 1)
def test_no_text_reaches_into_the_next_line(texts: list[bytes], position: int) -> None:
    """C1: Whatever an agent writes in place of a text means the same as in a line by itself."""
    plain = [chunk(SAID, "y")] * (MANY + position)
    lines = [*plain[:position], *(BEFORE + text + AFTER for text in texts), *plain[position:]]
    batch = decode_batch(lines)
    assert batch is None or joined(batch) == one_by_one(lines)
