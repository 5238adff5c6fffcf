"""A command's output: kept within bounds, shown as whole characters, and never cut without a note."""

from __future__ import annotations

import re

from hypothesis import assume, given
from hypothesis import strategies as st

from bough.agents.terminal.output import LIVE_HEAD, LIVE_TAIL, CommandOutput

text = st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\0\ufffd"))
NOTE = re.compile(r"\n\[… (\d+) bytes are left out here …\]\n")


@given(text=text, cuts=st.lists(st.integers(min_value=0, max_value=400)))
def test_output_within_bounds_is_complete(text: str, cuts: list[int]) -> None:
    """C1: Text within the bounds is unchanged, however it is split; a growing view cuts no character."""
    data = text.encode()
    output = CommandOutput()
    places = sorted({min(cut, len(data)) for cut in cuts} | {len(data)})
    before = 0
    for place in places:
        output.add(data[before:place])
        before = place
        assert text.startswith(output.live())
    assert output.text() == text


@given(pieces=st.lists(text, min_size=1), head=st.integers(1, 20), spare=st.integers(0, 20))
def test_output_up_to_the_bounds_is_complete(pieces: list[str], head: int, spare: int) -> None:
    """C1: Output that fits into the bounds together is complete."""
    whole = "".join(pieces)
    output = CommandOutput(head, max(1, len(whole.encode()) - head + spare))
    for piece in pieces:
        output.add(piece.encode())
    assert output.text() == whole


@given(pieces=st.lists(text, min_size=1), bounds=st.data())
def test_output_beyond_bounds_is_counted(pieces: list[str], bounds: st.DataObject) -> None:
    """C1: Keeps the beginning and the end at whole characters, and counts the bytes in between."""
    whole = "".join(pieces)
    size = len(whole.encode())
    assume(size > 2 and not NOTE.search(whole))
    head = bounds.draw(st.integers(1, min(20, size - 2)))
    tail = bounds.draw(st.integers(1, min(20, size - 1 - head)))
    output = CommandOutput(head, tail)
    for piece in pieces:
        output.add(piece.encode())
    first, left_out, last = NOTE.split(output.text(), maxsplit=1)
    assert whole.startswith(first)
    assert whole.endswith(last)
    assert len(first.encode()) + int(left_out) + len(last.encode()) == size


@given(st.lists(st.binary(max_size=30)))
def test_any_bytes_are_text(pieces: list[bytes]) -> None:
    """C1: Any output becomes text that JSON and databases accept."""
    output = CommandOutput(16, 16)
    for piece in pieces:
        output.add(piece)
        for shown in (output.live(), output.text()):
            shown.encode()
            assert "\0" not in shown


def test_a_growing_view_is_small() -> None:
    """C1: The live view is a small part of a large output, mostly its end."""
    output = CommandOutput()
    for number in range(50_000):
        output.add(b"%d\n" % number)
    shown = output.live()
    assert len(shown) < LIVE_HEAD + LIVE_TAIL + 100
    assert shown.startswith("0\n1\n")
    assert shown.endswith("\n49999\n")
