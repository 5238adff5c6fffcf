"""Many lines in one go: they say what they say line by line, whatever stands in them."""

from collections.abc import Iterable

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bough.agents.acp.flood import MANY, decode_flood
from bough.agents.acp.wire import Junk, Update, decode

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


def joined(updates: Iterable[Update]) -> list[Update]:
    """With neighbouring chunks of one message as one."""
    found: list[Update] = []
    for update in updates:
        last = found[-1] if found else None
        if (
            last is not None
            and last.text is not None
            and update.text is not None
            and (last.session_id, last.kind, last.message_id) == (update.session_id, update.kind, update.message_id)
        ):
            found[-1] = msgspec.structs.replace(last, text=last.text + update.text)
        else:
            found.append(update)
    return found


def one_by_one(lines: list[bytes]) -> list[Update] | None:
    """What the lines say each for itself; None if one of them is no update."""
    updates: list[Update] = []
    for line in lines:
        try:
            message = decode(line)
        except Junk:
            return None
        if not isinstance(message, Update):
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
# As an agent speaks: mostly of one thing.
TALK = st.builds(chunk, st.just(SAID), st.text(max_size=5))


@given(st.lists(CHUNKS | st.just(TOOL), min_size=1, max_size=30) | st.lists(TALK | CHUNKS, min_size=MANY, max_size=60))
def test_a_flood_says_what_its_lines_say(lines: list[bytes]) -> None:
    """R4: read in one go, neighbouring chunks of one message become one update, and nothing else changes."""
    flood = decode_flood(lines)
    assert flood is not None
    assert joined(flood) == one_by_one(lines)


def test_chunks_that_look_alike_become_one_update() -> None:
    """R4: a flood of one message is one update, with the line of the first chunk."""
    lines = [chunk(SAID, f'{number} \\ "ü" 😀\n') for number in range(MANY)]
    flood = decode_flood([*lines, TOOL, *lines])
    whole = "".join(f'{number} \\ "ü" 😀\n' for number in range(MANY))
    said = Update("s", SAID, whole, None, lines[0])
    assert flood == [said, Update("s", "tool_call", None, None, TOOL), said]


ODD = [
    b"",
    b"junk",
    b'{"jsonrpc":"2.0","id":1,"result":{}}',
    TOOL.replace(b'"jsonrpc"', b'"id":1,"jsonrpc"'),
    TOOL.replace(b"tool_call", b"plan"),
    TOOL + TOOL,
    TOOL[:-5],
    chunk(SAID, "x").replace(b'"x"', b'"\\ud83d"'),
    chunk(SAID, "x").replace(b"x", b"\xff"),
    chunk(SAID, "x").replace(b'"text":"x"', b'"data":"x"'),
    # What stands before a text and what stands after it share their quote.
    chunk(SAID, "").replace(b'""', b'"'),
    TOOL.replace(b'"c"', b'"c","_meta":"\xff"'),
]


@pytest.mark.parametrize("line", ODD)
@pytest.mark.parametrize("others", [[TOOL], [chunk(SAID, "y")] * MANY])
def test_a_flood_is_nothing_else(line: bytes, others: list[bytes]) -> None:
    """C1: a batch with any other line in it is read line by line."""
    assert decode_flood([*others, line, *others]) is None


BEFORE, AFTER = chunk(SAID, "|").split(b"|")
PIECES = [b"a", b'"', b"\\", b",", b"\xe4\xbc", b"\x9a", b"\\ud83d", b"\\ude00", b"}", b"{", b" ", b":", b'"_":', AFTER]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=4).map(b"".join)


@given(st.lists(TEXTS, min_size=1, max_size=6), st.integers(0, MANY))
# The first takes its end from the second, which brings another.
@example([b"c\\", b',"d'], 1)
def test_no_line_reaches_into_the_next(texts: list[bytes], place: int) -> None:
    """C1: whatever an agent writes where a text should stand, it means what it means in a line of its own."""
    plain = [chunk(SAID, "y")] * (MANY + place)
    lines = [*plain[:place], *(BEFORE + text + AFTER for text in texts), *plain[place:]]
    flood = decode_flood(lines)
    assert flood is None or joined(flood) == one_by_one(lines)
