"""Keeps every line of the agent, and the key of every line to it, as frames in one file until the server has stored
them."""

import contextlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from bough.agents.keeper import frames
from bough.agents.keeper.frames import HEADER, Frame, Head

NAME = "journal"
WINDOW = 256 * 1024
"""Bytes read from the file at once."""
HEADS_WINDOW = 16 * 1024
"""Bytes read at once when only the headers matter."""
REWRITE = 1024 * 1024
"""Bytes of confirmed frames that may stay in the file, since rewriting it for less would not pay."""


class ReadPosition:
    """A server's position in the journal: the next byte, and how many bytes are left of its frame."""

    def __init__(self, offset: int) -> None:
        self.offset = offset
        self.left = 0


class LostLines(NamedTuple):
    """The requested lines are gone: the journal holds only those from `first` to before `next`."""

    first: int
    next: int


class Journal:
    """An append-only file of frames. Confirmed frames are removed by rewriting the rest."""

    def __init__(self, folder: int) -> None:
        self._folder = folder
        self._fd = self._create(NAME)
        self._mark = 0  # All frames before this offset are confirmed.
        self.size = 0
        self.first = 1
        """The number of the first line that is held completely."""
        self.next = 1
        """The number of the next line, which may have begun."""

    def add_lines(self, parts: Sequence[bytes | memoryview], count: int, *, open: bool) -> None:
        """Appends output of the agent. Raises OSError, with nothing written, if the disk is full."""
        flags = frames.OPEN if open else 0
        self._append([frames.header(frames.LINES, parts, flags=flags, amount=count, first=self.next), *parts])
        self.next += count

    def add_sent(self, key: bytes) -> None:
        """Appends the key of a line that is about to be sent to the agent. Raises OSError like `add_lines`.

        The line itself may hold tokens and secrets, and nobody reads it again."""
        self._append([frames.header(frames.SEND, [key], amount=len(key), first=self.next), key])

    def after(self, number: int) -> tuple[ReadPosition, bytes] | LostLines:
        """Returns the position after the line with this number, and a frame with the rest of the frame before it."""
        if not self.first - 1 <= number < self.next:
            return LostLines(self.first, self.next)
        for offset, head in _heads(self._fd, self._mark, self.size):
            if head.kind != frames.LINES or head.touched <= number:
                continue
            if head.first > number:
                return ReadPosition(offset), b""
            payload = os.pread(self._fd, head.length, offset + HEADER.size)
            rest, count = frames.lines_after(number, head, payload), head.first + head.amount - number - 1
            position = ReadPosition(offset + HEADER.size + head.length)
            return position, frames.frame(frames.LINES, rest, flags=head.flags, amount=count, first=number + 1)
        return ReadPosition(self.size), b""

    def read(self, reader: ReadPosition) -> bytes:
        """Returns the next bytes of LINES frames and advances the position. Returns nothing at the end of the file."""
        data = os.pread(self._fd, min(WINDOW, self.size - reader.offset), reader.offset)
        view, position, parts = memoryview(data), 0, list[memoryview]()
        while position < len(data):
            if reader.left:
                part = view[position : position + reader.left]
                parts.append(part)
                position += len(part)
                reader.left -= len(part)
            elif len(data) - position < HEADER.size:
                break
            else:
                head = frames.read_head(data, position)
                whole = HEADER.size + head.length
                if head.kind == frames.LINES:
                    reader.left = whole
                else:
                    position += whole
        reader.offset += position
        return b"".join(parts)

    def confirm(self, number: int, reader: ReadPosition, keys: Iterable[str]) -> None:
        """Releases the lines up to this number that the server has read. Keeps the keys, for a later server."""
        for offset, head in _heads(self._fd, self._mark, self.size):
            end = offset + HEADER.size + head.length
            if end > reader.offset or (head.kind == frames.LINES and head.touched > number):
                break
            self._mark = end
            if head.kind == frames.LINES:
                self.first = head.touched + 1
        if self._mark >= REWRITE and self._mark >= self.size - self._mark:
            base = json.dumps({"keys": list(keys)}, separators=(",", ":")).encode()
            reader.offset += self._rewrite(frames.frame(frames.BASE, base, first=self.first))

    def _append(self, parts: "Sequence[bytes | memoryview]") -> None:
        try:
            _write(self._fd, parts, self.size)
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(self._fd, self.size)
            raise
        self.size += sum(map(len, parts))

    def _rewrite(self, base: bytes) -> int:
        """Replaces the confirmed frames by the base frame. Returns by how much everything else moved."""
        before = self.size
        try:
            fd = self._copy(base)
        except OSError:
            # On a full disk there is room for the base frame only once everything else is gone.
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
        """Replaces the file by one with the base frame and the unconfirmed frames."""
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
    """Yields every whole frame from an offset on. Stops at a frame that a dying writer left incomplete."""
    with open(path, "rb") as file:
        file.seek(offset)
        while len(data := file.read(HEADER.size)) == HEADER.size:
            head = frames.read_head(data)
            if head.length > frames.FRAME_CAP:
                return  # Not a valid header: no frame is that long.
            payload = file.read(head.length)
            if not frames.whole(data, payload):
                return
            yield Frame(head, payload)


def is_damaged(path: "str | os.PathLike[str]", offset: int) -> bool:
    """Returns whether a frame at this offset is all there and yet unreadable. One that a dying writer left incomplete
    is not damaged."""
    with open(path, "rb") as file:
        file.seek(offset)
        data = file.read(HEADER.size)
        if len(data) < HEADER.size:
            return False
        head = frames.read_head(data)
        if head.length > frames.FRAME_CAP:
            return True
        payload = file.read(head.length)
        return len(payload) == head.length and not frames.whole(data, payload)


def _heads(fd: int, offset: int, end: int) -> Iterator[tuple[int, Head]]:
    """Yields the headers between two offsets, each with its offset."""
    window, start = b"", offset
    while offset < end:
        if offset - start + HEADER.size > len(window):
            window, start = os.pread(fd, HEADS_WINDOW, offset), offset
        head = frames.read_head(window, offset - start)
        yield offset, head
        offset += HEADER.size + head.length


def _write(fd: int, parts: "Sequence[bytes | memoryview]", offset: int) -> None:
    written, size = os.pwritev(fd, parts, offset), sum(map(len, parts))
    while written < size:  # The disk is nearly full; the next write raises OSError.
        written += os.pwrite(fd, b"".join(parts)[written:], offset + written)
