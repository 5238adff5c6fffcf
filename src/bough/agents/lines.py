"""Splits a stream of bytes into lines, with a bound on the length of a line."""

LINE_CAP = 64 * 1024 * 1024
"""Bytes of the longest accepted line. The longest seen was a diff of 0.8 MB; other clients stop at 32 MiB."""


class LineSplitter:
    """Collects what was read and returns the lines that are complete, without their newline."""

    def __init__(self, cap: int = LINE_CAP) -> None:
        self._cap = cap
        self._open = bytearray()
        self.overflow = False
        """Whether a line grew beyond the cap. It is dropped with everything after it."""

    def feed(self, data: bytes) -> list[bytes]:
        """Adds the next bytes of the stream. Returns the lines that they complete."""
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
        """Returns the bytes after the last newline, once the stream has ended."""
        rest, self._open = bytes(self._open), bytearray()
        return rest

    def _cut(self, lines: list[bytes]) -> None:
        """Drops the first line that is too long and everything after it, if there is one."""
        for index, line in enumerate(lines):
            if len(line) > self._cap:
                del lines[index:]
                break
        else:
            if len(self._open) <= self._cap:
                return
        self.overflow = True
        self._open = bytearray()
