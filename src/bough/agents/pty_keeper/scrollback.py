"""Holds the end of what a shell has printed."""

LIMIT = 1024 * 1024
"""Bytes that are always held, about 10,000 lines. A fourth more is held before the oldest are dropped at once."""
LONGEST_LINE = 16 * 1024
"""How far the start of the held text is moved to the beginning of a line."""


class Scrollback:
    """The last bytes of an output. Places are numbers of bytes since its beginning."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._data = bytearray()
        self.end = 0

    @property
    def start(self) -> int:
        """The place of the first byte that is held."""
        return self.end - len(self._data)

    def add(self, data: bytes) -> None:
        """Adds output, and drops the oldest."""
        self._data += data
        self.end += len(data)
        if len(self._data) > self._limit + self._limit // 4:
            del self._data[: -self._limit]

    def beginning(self) -> int:
        """Returns where a new viewer begins: with a whole line, if something was dropped."""
        if self.start == 0:
            return 0
        newline = self._data.find(b"\n", 0, LONGEST_LINE)
        return self.start + newline + 1

    def read(self, place: int, most: int) -> bytes:
        """Returns bytes after a place that is held."""
        offset = place - self.start
        return bytes(self._data[offset : offset + most])
