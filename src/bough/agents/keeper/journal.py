"""The journal of a keeper: every line in both directions, as frames in one file, until the server has stored them.
It leaves when to write, and what to do when the disk is full, to the service."""

import contextlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from bough.agents.keeper import frames
from bough.agents.keeper.frames import HEADER, Frame, Head

NAME = "journal"
WINDOW = 256 * 1024
"""Bytes read from the file at once, to be handed on."""
HEADS_WINDOW = 16 * 1024
"""Bytes read at once when only the headers are wanted."""
REWRITE = 1024 * 1024
"""Bytes of confirmed frames that are left lying in the file: rewriting it for less would cost more than it frees."""


class ReadPosition:
    """Where a client stands in the journal: the next byte, and how many are left of the frame that it belongs to."""

    def __init__(self, offset: int) -> None:
        self.offset = offset
        self.left = 0


class Lost(NamedTuple):
    """The lines that a client asks for are not there: only those from `first` to before `next` are."""

    first: int
    next: int


class Journal:
    """An append-only file of frames; what was confirmed is cut off at the front, by writing the rest anew."""

    def __init__(self, folder: int) -> None:
        self._folder = folder
        self._fd = self._create(NAME)
        self._mark = 0  # all frames before this offset are confirmed
        self.size = 0
        self.first = 1
        """The first line that is still held whole."""
        self.next = 1
        """The number of the line that comes next, or has begun."""

    def add_lines(self, parts: Sequence[bytes | memoryview], count: int, *, open: bool) -> None:
        """Appends what the agent said; raises OSError, with nothing written, when the disk is full."""
        flags = frames.OPEN if open else 0
        self._append([frames.header(frames.LINES, parts, flags=flags, amount=count, first=self.next), *parts])
        self.next += count

    def add_sent(self, key: bytes, line: bytes) -> None:
        """Appends what is about to be written to the agent; raises OSError like `add_lines`."""
        parts = [key, line]
        self._append([frames.header(frames.SEND, parts, amount=len(key), first=self.next), *parts])

    def after(self, number: int) -> tuple[ReadPosition, bytes] | Lost:
        """Returns the place from which all lines after this number follow, and a frame to be given before them."""
        if not self.first - 1 <= number < self.next:
            return Lost(self.first, self.next)
        for offset, head in _heads(self._fd, self._mark, self.size):
            if head.kind != frames.LINES or head.touched <= number:
                continue
            if head.first > number:
                return ReadPosition(offset), b""
            payload = os.pread(self._fd, head.length, offset + HEADER.size)
            rest, count = frames.lines_after(number, head, payload), head.first + head.amount - number - 1
            place = ReadPosition(offset + HEADER.size + head.length)
            return place, frames.frame(frames.LINES, rest, flags=head.flags, amount=count, first=number + 1)
        return ReadPosition(self.size), b""

    def read(self, place: ReadPosition) -> bytes:
        """Returns the next bytes of LINES frames from there, and moves on; nothing at the end of the file."""
        data = os.pread(self._fd, min(WINDOW, self.size - place.offset), place.offset)
        view, position, parts = memoryview(data), 0, list[memoryview]()
        while position < len(data):
            if place.left:
                part = view[position : position + place.left]
                parts.append(part)
                position += len(part)
                place.left -= len(part)
            elif len(data) - position < HEADER.size:
                break
            else:
                head = frames.read_head(data, position)
                whole = HEADER.size + head.length
                if head.kind == frames.LINES:
                    place.left = whole
                else:
                    position += whole
        place.offset += position
        return b"".join(parts)

    def confirm(self, number: int, place: ReadPosition, keys: Iterable[str]) -> None:
        """Lets go of the lines up to this number, as far as the client has come; keeps these keys for a post-mortem."""
        for offset, head in _heads(self._fd, self._mark, self.size):
            end = offset + HEADER.size + head.length
            if end > place.offset or (head.kind == frames.LINES and head.touched > number):
                break
            self._mark = end
            if head.kind == frames.LINES:
                self.first = head.touched + 1
        if self._mark >= REWRITE and self._mark >= self.size - self._mark:
            base = json.dumps({"keys": list(keys)}, separators=(",", ":")).encode()
            place.offset += self._rewrite(frames.frame(frames.BASE, base, first=self.first))

    def _append(self, parts: "Sequence[bytes | memoryview]") -> None:
        try:
            _write(self._fd, parts, self.size)
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(self._fd, self.size)
            raise
        self.size += sum(map(len, parts))

    def _rewrite(self, base: bytes) -> int:
        """Replaces the confirmed frames by the base; returns by how much everything else moved."""
        before = self.size
        try:
            fd = self._copy(base)
        except OSError:
            # On a full disk there is room for the base only once the rest is gone: then, or never.
            if self._mark == self.size:
                os.ftruncate(self._fd, 0)
                self.size = self._mark = 0
                with contextlib.suppress(OSError):
                    self._append([base])
                    self._mark = self.size
        else:
            os.close(self._fd)
            self._fd = fd
            self.size += len(base) - self._mark
            self._mark = len(base)
        return self.size - before

    def _copy(self, base: bytes) -> int:
        """Puts a new file in the place of the old one, with the base and what is not confirmed."""
        name = NAME + ".new"
        fd = self._create(name)
        try:
            _write(fd, [base], 0)
            for offset in range(self._mark, self.size, WINDOW):
                _write(fd, [os.pread(self._fd, WINDOW, offset)], len(base) + offset - self._mark)
            os.rename(name, NAME, src_dir_fd=self._folder, dst_dir_fd=self._folder)
        except OSError:
            os.close(fd)
            with contextlib.suppress(OSError):
                os.unlink(name, dir_fd=self._folder)
            raise
        return fd

    def _create(self, name: str) -> int:
        flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.open(name, flags, 0o600, dir_fd=self._folder)


def read_journal(path: "str | os.PathLike[str]", offset: int = 0) -> Iterator[Frame]:
    """Yields every whole frame of a journal from an offset on, whoever died in the middle of the last one."""
    with open(path, "rb") as file:
        file.seek(offset)
        while len(data := file.read(HEADER.size)) == HEADER.size:
            head = frames.read_head(data)
            if head.length > frames.FRAME_CAP:
                return  # no header of ours: nothing so long was ever written
            payload = file.read(head.length)
            if not frames.whole(data, payload):
                return
            yield Frame(head, payload)


def _heads(fd: int, offset: int, end: int) -> Iterator[tuple[int, Head]]:
    """Yields the headers between two offsets, and where they stand."""
    window, start = b"", offset
    while offset < end:
        if offset - start + HEADER.size > len(window):
            window, start = os.pread(fd, HEADS_WINDOW, offset), offset
        head = frames.read_head(window, offset - start)
        yield offset, head
        offset += HEADER.size + head.length


def _write(fd: int, parts: "Sequence[bytes | memoryview]", offset: int) -> None:
    written, size = os.pwritev(fd, parts, offset), sum(map(len, parts))
    while written < size:  # the disk is nearly full: the next write says so
        written += os.pwrite(fd, b"".join(parts)[written:], offset + written)
