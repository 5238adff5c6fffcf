"""Cuts a stream of bytes into lines, with a bound on the memory that one line may take.
It leaves what a line means, and where the bytes come from, to others."""

LINE_CAP = 64 * 1024 * 1024
"""Longest line taken from an agent: the longest seen was a diff of 0.8 MB, and others stop at 32 MiB."""


class LineSplitter:
    """Feed it what was read; it returns the lines that became whole, without their newline."""

    def __init__(self, cap: int = LINE_CAP) -> None:
        self._cap = cap
        self._open = bytearray()
        self.overflow = False
        """A line grew beyond the cap. It is dropped, with all that follows it."""

    def feed(self, data: bytes) -> list[bytes]:
        """Takes the next bytes of the stream."""
        if self.overflow:
            return []
        lines = data.split(b"\n")
        tail = lines.pop()
        if lines and self._open:
            self._open += lines[0]
            lines[0] = bytes(self._open)
            self._open = bytearray()
        self._open += tail
        # Only a line that was open before, or a read larger than the cap, can be too long.
        if len(self._open) > self._cap or (lines and max(len(lines[0]), len(data)) > self._cap):
            self._cut(lines)
        return lines

    def rest(self) -> bytes:
        """What stands after the last newline, once the stream has ended."""
        rest, self._open = bytes(self._open), bytearray()
        return rest

    def _cut(self, lines: list[bytes]) -> None:
        """Keeps the lines before the first one that is too long, if there is one."""
        for index, line in enumerate(lines):
            if len(line) > self._cap:
                del lines[index:]
                break
        else:
            if len(self._open) <= self._cap:
                return
        self.overflow = True
        self._open = bytearray()
