"""The line splitter returns whole lines, however the bytes are split."""

import itertools
import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from bough.agents.lines import LINE_CAP, LineSplitter

LINES = st.lists(st.binary(max_size=40).map(lambda line: line.replace(b"\n", b"")), max_size=12)


@given(lines=LINES, rest=st.binary(max_size=10), cuts=st.lists(st.integers(0, 500), max_size=20))
def test_pieces_do_not_matter(lines: list[bytes], rest: bytes, cuts: list[int]) -> None:
    """C1: Bytes in any pieces come out as the lines that were written."""
    rest = rest.replace(b"\n", b"")
    stream = b"".join(line + b"\n" for line in lines) + rest
    places = [0, *sorted(cut for cut in cuts if cut < len(stream)), len(stream)]
    splitter = LineSplitter()
    received: list[bytes] = []
    for start, end in itertools.pairwise(places):
        received += splitter.feed(stream[start:end])
    assert received == lines
    assert splitter.rest() == rest


@given(lines=LINES, cap=st.integers(1, 40), size=st.integers(1, 60))
def test_the_cap_cuts_at_the_first_long_line(lines: list[bytes], cap: int, size: int) -> None:
    """C1: Lines before one that is too long are kept; that line and everything after it are dropped."""
    stream = b"".join(line + b"\n" for line in lines)
    splitter = LineSplitter(cap)
    received: list[bytes] = []
    for start in range(0, len(stream), size):
        received += splitter.feed(stream[start : start + size])
    long = next((index for index, line in enumerate(lines) if len(line) > cap), None)
    assert received == lines[:long]
    assert splitter.overflow == (long is not None)


def test_a_line_beyond_the_cap_costs_bounded_memory() -> None:
    """C1: While an endless line is read, memory stays near the cap of 64 MiB and is then released."""
    piece = b"x" * (256 * 1024)
    splitter = LineSplitter()
    tracemalloc.start()
    try:
        for _ in range(2 * LINE_CAP // len(piece)):
            assert splitter.feed(piece) == []
        held, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert splitter.overflow
    assert peak < 2.5 * LINE_CAP
    assert held < 1024 * 1024
