"""Both ends of the keeper's socket read frames in whatever pieces they arrive."""

import asyncio
import itertools
import socket
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bough.agents.keeper import frames
from bough.agents.keeper.frames import FRAME_CAP, Frame, FrameReader, TooLong
from bough.agents.keeper_client import keeper_stream
from bough.agents.keeper_client.keeper_stream import KeeperStream
from bough.agents.link import LineBatch
from tests.support.client import PATIENCE

SAID = [
    frames.message(frames.WELCOME, version=1),
    frames.frame(frames.LINES, b"one\ntw", flags=frames.OPEN, amount=1, first=6),
    frames.message(frames.ACK, key="a", state="fresh"),
    frames.frame(frames.LINES, b"o\n\nthree\n", amount=3, first=7),
    frames.frame(frames.STDERR, b"oh\n"),
    frames.message(frames.EXIT, code=0),
]


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({0, *(cut % len(data) for cut in cuts), len(data)})
    return [data[start:end] for start, end in itertools.pairwise(places)]


async def read_all(stream: KeeperStream) -> list[LineBatch]:
    stream.end()
    batches: list[LineBatch] = []
    while (batch := await stream.batch()) is not None:
        batches.append(batch)
    return batches


@given(st.lists(st.integers(0, 400), max_size=12))
async def test_the_server_reads_frames_in_pieces(cuts: list[int]) -> None:
    """O2: The server gets numbered lines and the other frames, whatever each read returns."""
    heard: list[Frame] = []
    stream = KeeperStream(5, heard.append, lambda: None)
    for piece in pieces(b"".join(SAID), cuts):
        stream.data_received(piece)
    batches = await read_all(stream)
    assert [line for batch in batches for line in batch.lines] == [b"one", b"two", b"", b"three"]
    assert [batch.last for batch in batches][-1] == 9
    assert [frame.head.kind for frame in heard] == [frames.WELCOME, frames.ACK, frames.STDERR, frames.EXIT]
    assert heard[1].text() == {"key": "a", "state": "fresh"}


@given(st.lists(st.integers(0, 400), max_size=12))
def test_the_keeper_reads_frames_in_pieces(cuts: list[int]) -> None:
    """O2: Every frame comes out whole and in order."""
    reader = FrameReader()
    read = [frame for piece in pieces(b"".join(SAID), cuts) for frame in reader.feed(piece)]
    again = [
        frames.frame(head.kind, payload, flags=head.flags, amount=head.amount, first=head.first)
        for head, payload in read
    ]
    assert again == SAID
    assert reader.rest() == b""


def test_a_frame_that_is_too_long() -> None:
    """O2: Refuses a frame that would take too much memory."""
    reader = FrameReader()
    head = frames.HEADER.pack(frames.SEND, 0, 1, FRAME_CAP + 1, 0, 0)
    with pytest.raises(TooLong):
        list(reader.feed(head))


async def test_a_stopped_keeper_does_not_hold_up_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """O2: A connection whose keeper reads nothing any more is closed all the same."""
    monkeypatch.setattr(keeper_stream, "FLUSH_WITHIN", 0.1)
    path = str(tmp_path / "socket")
    with socket.socket(socket.AF_UNIX) as stopped:
        stopped.bind(path)
        stopped.listen()
        stream = KeeperStream(0, lambda _frame: None, lambda: None)
        await asyncio.get_running_loop().create_unix_connection(lambda: stream, path)
        stream.write(b"x" * 8 * 1024 * 1024)
        async with asyncio.timeout(PATIENCE):
            await stream.close()
    assert not stream.open
