"""The journal file after any truncation, any confirmation and a full disk."""

import errno
import os
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bough.agents.keeper import files, frames, journal
from bough.agents.keeper.frames import FrameReader
from bough.agents.keeper.journal import Journal, LostLines, ReadPosition, read_journal
from bough.agents.keeper_client.keeper_folder import Tail, read_batches, read_sent
from bough.agents.lines import LineSplitter
from bough.agents.link import LineBatch

MISSING = "A part of the agent's output (%s) is missing, because its journal was cut or damaged."
DAMAGED = "The agent's journal is damaged: what the agent said after line %d may be missing."


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[int]:
    fd = os.open(tmp_path, os.O_RDONLY)
    yield fd
    os.close(fd)


def lines_of(path: Path, after: int = 0) -> list[bytes]:
    return [line for batch in read_batches(path, after) for line in batch.lines]


def fed(book: Journal, after: int) -> list[bytes]:
    """Returns the lines that a client which has everything up to this one receives."""
    later = book.after(after)
    assert not isinstance(later, LostLines)
    place, data = later
    while more := book.read(place):
        data += more
    lines: list[bytes] = []
    reader = FrameReader()
    splitter = LineSplitter()
    for frame in reader.feed(data):
        assert frame.head.kind == frames.LINES
        assert frame.head.first == after + len(lines) + 1
        lines += splitter.feed(frame.payload)
        assert frame.head.touched == after + len(lines) + bool(frame.head.flags & frames.OPEN)
    assert reader.rest() == splitter.rest() == b""
    return lines


def write_sample(book: Journal) -> list[bytes]:
    """Writes seven lines in five frames, one of them split over three, with sent lines in between."""
    book.add_lines([b"one\ntwo\n"], 2, open=False)
    book.add_sent(b"prompt:1")
    book.add_lines([b"th"], 0, open=True)
    book.add_lines([b"re"], 0, open=True)
    book.add_lines([b"e\nfour\n"], 2, open=False)
    book.add_sent(b"cancel:1")
    book.add_lines([b"five\n", b"six\nseven\n"], 3, open=False)
    return [b"one", b"two", b"three", b"four", b"five", b"six", b"seven"]


def test_every_place_to_continue_from(folder: int, tmp_path: Path) -> None:
    """O2: A server that has lines up to any number receives exactly what follows, from the running journal and from its
    file."""
    book = Journal(folder)
    lines = write_sample(book)
    for number in range(8):
        assert fed(book, number) == lines[number:]
        assert lines_of(tmp_path, number) == lines[number:]
    assert book.after(8) == LostLines(1, 8)
    assert book.after(-1) == LostLines(1, 8)
    assert read_sent(tmp_path) == {"prompt:1", "cancel:1"}


def test_a_write_cut_off_anywhere(folder: int, tmp_path: Path) -> None:
    """Q4: A keeper that dies at any byte of a write leaves every earlier frame readable, and nothing of the last
    one."""
    book = Journal(folder)
    write_sample(book)
    whole, path = (tmp_path / "journal").read_bytes(), tmp_path / "torn"
    expected = list(read_journal(tmp_path / "journal"))
    ends = [0]
    for frame in expected:
        ends.append(ends[-1] + frames.HEADER.size + frame.head.length)
    assert ends[-1] == len(whole)
    for size in range(len(whole) + 1):
        path.write_bytes(whole[:size])
        assert list(read_journal(path)) == expected[: sum(end <= size for end in ends) - 1]


def test_a_changed_byte_is_noticed(folder: int, tmp_path: Path) -> None:
    """Q4: Bytes that a crash of the machine garbled are not taken for lines."""
    book = Journal(folder)
    write_sample(book)
    whole, path = bytearray((tmp_path / "journal").read_bytes()), tmp_path / "garbled"
    for position in range(len(whole)):
        garbled = whole.copy()
        garbled[position] ^= 0x40
        path.write_bytes(garbled)
        assert len(list(read_journal(path))) < 7


@pytest.mark.parametrize(("confirmed", "first"), [(0, 1), (1, 1), (2, 3), (3, 4), (4, 5), (5, 5), (6, 5), (7, 8)])
def test_confirmed_lines_are_released(
    folder: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, confirmed: int, first: int
) -> None:
    """O2: The file drops the lines that the server has stored and keeps the rest and the keys."""
    monkeypatch.setattr(journal, "REWRITE", 1)
    book, place = Journal(folder), ReadPosition(0)
    lines = write_sample(book)
    while book.read(place):
        pass
    size = book.size
    book.confirm(confirmed, place, ["prompt:1"])
    assert book.first == first
    assert (tmp_path / "journal").stat().st_size == book.size == place.offset
    assert (book.size < size) == (confirmed >= 3)  # freeing less is not worth the copy
    assert isinstance(book.after(first - 2), LostLines)
    for number in range(first - 1, 8):
        assert fed(book, number) == lines[number:]
        assert lines_of(tmp_path, number) == lines[number:]
    assert "prompt:1" in read_sent(tmp_path)
    book.add_lines([b"eight\n"], 1, open=False)
    assert book.read(place).endswith(b"eight\n")
    assert lines_of(tmp_path, confirmed) == [*lines[confirmed:], b"eight"]


def test_the_file_is_not_rewritten_for_a_small_gain(folder: int) -> None:
    """O2: A server that confirms line by line does not make the keeper rewrite its file each time."""
    book, place = Journal(folder), ReadPosition(0)
    for number in range(1, 50):
        book.add_lines([b"x" * 1000 + b"\n"], 1, open=False)
        book.read(place)
        book.confirm(number, place, [])
    assert book.size > 49_000
    assert book.first == 50


def test_undelivered_lines_stay(folder: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Q4: A confirmation of more than was delivered is not believed."""
    monkeypatch.setattr(journal, "REWRITE", 1)
    book = Journal(folder)
    lines = write_sample(book)
    book.confirm(7, ReadPosition(0), [])
    assert fed(book, 0) == lines


def full_disk(monkeypatch: pytest.MonkeyPatch, room: int) -> None:
    """Lets this many bytes through like a disk that fills up: a write that does not fit is cut short, the next one
    fails."""
    left, really = [room], os.pwrite

    def pwritev(fd: int, parts: list[bytes], offset: int) -> int:
        return pwrite(fd, b"".join(parts), offset)

    def pwrite(fd: int, data: bytes, offset: int) -> int:
        if not left[0]:
            raise OSError(errno.ENOSPC, "No space left on device")
        written = really(fd, data[: left[0]], offset)
        left[0] -= written
        return written

    monkeypatch.setattr(os, "pwritev", pwritev)
    monkeypatch.setattr(os, "pwrite", pwrite)


@pytest.mark.parametrize("room", [0, 1, 21, 22, 25, 60])
def test_a_full_disk_leaves_no_half_frame(
    folder: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    """O2: A failed write leaves the journal as it was, and can be repeated."""
    book = Journal(folder)
    lines = write_sample(book)
    size = book.size
    with monkeypatch.context() as patch:
        full_disk(patch, room)
        with pytest.raises(OSError, match="No space left"):
            book.add_lines([b"x" * 100 + b"\n"], 1, open=False)
        assert (tmp_path / "journal").stat().st_size == size
        assert (book.next, book.size) == (8, size)
    book.add_lines([b"x" * 100 + b"\n"], 1, open=False)
    assert lines_of(tmp_path) == [*lines, b"x" * 100]


@pytest.mark.parametrize("room", [0, 30, 100])
def test_a_full_disk_when_lines_are_confirmed(
    folder: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    """O2: On a full disk, confirming everything frees space, and confirming less loses nothing."""
    monkeypatch.setattr(journal, "REWRITE", 1)
    book, place = Journal(folder), ReadPosition(0)
    lines = write_sample(book)
    book.add_lines([b"eight\n"], 1, open=False)
    while book.read(place):
        pass
    size = book.size
    with monkeypatch.context() as patch:
        full_disk(patch, room)
        book.confirm(7, place, ["a"])
        assert lines_of(tmp_path, 7) == [b"eight"]
    with monkeypatch.context() as patch:
        full_disk(patch, room)
        book.confirm(8, place, ["a"])
    assert place.offset == book.size == (tmp_path / "journal").stat().st_size < size
    assert not (tmp_path / "journal.new").exists()
    book.add_lines([b"nine\n"], 1, open=False)
    assert lines_of(tmp_path, 8) == [b"nine"]
    assert fed(book, 8) == [b"nine"]
    assert len(lines) == 7


@settings(max_examples=60)
@given(st.lists(st.integers(0, 60), max_size=20), st.lists(st.integers(1, 50), min_size=1), st.data())
def test_any_lines_in_any_blocks(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], cuts: list[int], data: st.DataObject
) -> None:
    """O2: However an agent's bytes are split into blocks, and wherever a server continues, it gets the same lines."""
    path = tmp_path_factory.mktemp("journal")
    fd = os.open(path, os.O_RDONLY)
    try:
        stream = b"".join(b"%d:" % number + b"x" * size + b"\n" for number, size in enumerate(sizes))
        book, position, turn = Journal(fd), 0, 0
        while position < len(stream):
            block = stream[position : position + cuts[turn % len(cuts)]]
            book.add_lines([block], block.count(b"\n"), open=not block.endswith(b"\n"))
            position, turn = position + len(block), turn + 1
        lines = LineSplitter().feed(stream)
        after = data.draw(st.integers(0, len(lines)))
        assert fed(book, after) == lines[after:]
        assert lines_of(path, after) == lines[after:]
    finally:
        os.close(fd)


@settings(max_examples=80)
@given(st.lists(st.tuples(st.booleans(), st.binary(max_size=80)), min_size=1, max_size=12), st.data())
def test_any_truncation_is_a_prefix(
    tmp_path_factory: pytest.TempPathFactory, entries: list[tuple[bool, bytes]], data: st.DataObject
) -> None:
    """Q4: Wherever a journal is cut off, its records and lines are the first ones of the whole, each once."""
    path = tmp_path_factory.mktemp("journal")
    fd = os.open(path, os.O_RDONLY)
    try:
        book = Journal(fd)
        for number, (ours, text) in enumerate(entries):
            if ours:
                book.add_sent(b"key:%d" % number)
            else:
                book.add_lines([text], text.count(b"\n"), open=not text.endswith(b"\n"))
    finally:
        os.close(fd)
    records, lines, keys = list(read_journal(path / "journal")), lines_of(path), read_sent(path)
    size = data.draw(st.integers(0, book.size))
    os.truncate(path / "journal", size)
    left = list(read_journal(path / "journal"))
    assert left == records[: len(left)]
    end = sum(frames.HEADER.size + frame.head.length for frame in left)
    assert end <= size, "no more than is there"
    assert len(left) == len(records) or end + frames.HEADER.size + records[len(left)].head.length > size, "all of it"
    after = data.draw(st.integers(0, len(lines)))
    read_lines = lines_of(path)
    assert read_lines == lines[: len(read_lines)]
    assert lines_of(path, after) == read_lines[after:]
    assert read_sent(path) <= keys


def test_a_growing_journal_is_followed(folder: int, tmp_path: Path) -> None:
    """O2: A reader of a growing journal gets each line once, when it is complete."""
    book, tail = Journal(folder), Tail(tmp_path, 1)
    assert list(tail.read()) == []
    book.add_lines([b"one\ntwo\n"], 2, open=False)
    book.add_lines([b"th"], 0, open=True)
    assert list(tail.read()) == [LineBatch([b"two"], 2)]
    assert list(tail.read()) == []
    book.add_sent(b"k")
    book.add_lines([b"ree\n"], 1, open=False)
    with open(tmp_path / "journal", "ab") as file:
        file.write(b"torn")
    assert list(tail.read()) == [LineBatch([b"three"], 3)]
    os.truncate(tmp_path / "journal", book.size)
    book.add_lines([b"four\n"], 1, open=False)
    assert list(tail.read()) == [LineBatch([b"four"], 4)]


def test_lines_keep_their_numbers(folder: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """O2: A server whose database was set back gets the remaining lines under their old numbers."""
    monkeypatch.setattr(journal, "REWRITE", 1)
    book, place = Journal(folder), ReadPosition(0)
    lines = write_sample(book)
    while book.read(place):
        pass
    book.confirm(4, place, [])
    assert list(read_batches(tmp_path, 1)) == [LineBatch(lines[4:], 7, MISSING % "lines 2 to 4")]


def test_a_cut_journal_is_noticed(folder: int, tmp_path: Path) -> None:
    """Q4: Lines that are missing before, between or after those in the journal are reported, and nothing else is."""
    book, path = Journal(folder), tmp_path / "journal"
    lines = write_sample(book)
    whole = path.read_bytes()
    ends = list[int]()
    for frame in read_journal(path):
        ends.append((ends[-1] if ends else 0) + frames.HEADER.size + frame.head.length)
    assert [batch.lost for batch in read_batches(tmp_path, 0) if batch.lost] == []
    files.write_json(folder, files.EXIT, {"code": 0, "signal": None, "stderr": "", "last": 7, "left": []})
    assert [batch.lost for batch in read_batches(tmp_path, 0) if batch.lost] == []
    path.write_bytes(whole[: ends[0]])
    assert list(read_batches(tmp_path, 0)) == [LineBatch(lines[:2], 2), LineBatch([], 2, MISSING % "lines 3 to 7")]
    path.write_bytes(whole[ends[5] :])
    assert list(read_batches(tmp_path, 3)) == [LineBatch(lines[4:], 7, MISSING % "line 4")]
    os.unlink(tmp_path / files.EXIT)
    # Without the agent's end, an incomplete frame is what a killed keeper leaves.
    path.write_bytes(whole[:-1])
    assert [batch.lost for batch in read_batches(tmp_path, 0) if batch.lost] == []
    path.write_bytes(whole[:-1] + b"?")
    assert list(read_batches(tmp_path, 3)) == [LineBatch([b"four"], 4), LineBatch([], 4, DAMAGED % 4)]
    path.write_bytes(b"")
    assert list(read_batches(tmp_path, 4)) == [LineBatch([], 4, DAMAGED % 4)]
    path.unlink()
    assert list(read_batches(tmp_path, 4)) == []


def test_an_impossible_length_is_not_read(folder: int, tmp_path: Path) -> None:
    """Q4: A length beyond the limit is not believed, since reading it would exhaust memory."""
    book = Journal(folder)
    book.add_lines([b"one\n"], 1, open=False)
    with open(tmp_path / "journal", "ab") as file:
        file.write(frames.HEADER.pack(frames.LINES, 0, 1, frames.FRAME_CAP + 1, 2, 0))
        file.truncate(book.size + frames.HEADER.size + frames.FRAME_CAP + 1)  # a sparse file that has the full length
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert lines_of(tmp_path) == [b"one"]
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 32 * 1024


def test_bytes_of_a_failed_write_are_not_delivered(folder: int, tmp_path: Path) -> None:
    """Q4: Bytes beyond the last whole frame are ignored, even if they could not be truncated."""
    book, place = Journal(folder), ReadPosition(0)
    book.add_lines([b"one\n"], 1, open=False)
    with open(tmp_path / "journal", "ab") as file:
        file.write(frames.frame(frames.LINES, b"half\n", amount=1, first=2))
    assert book.read(place).endswith(b"one\n")
    assert place.offset == book.size
