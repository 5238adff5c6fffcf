"""Keeps the beginning and the end of a command's output, within bounds, as text that can be shown at any time."""

from __future__ import annotations

import codecs

# Bytes that are kept of one command's output: the end matters more than the beginning.
HEAD = 256 * 1024
TAIL = 768 * 1024
# Bytes that are shown while the output grows: each view is a whole message to the client, and stored there.
LIVE_HEAD = 2 * 1024
LIVE_TAIL = 6 * 1024
_LONGEST = 4  # bytes of a UTF-8 character


class CommandOutput:
    """The output of one command, in bounded memory."""

    def __init__(self, head: int = HEAD, tail: int = TAIL) -> None:
        self._head_limit = head
        self._tail_limit = tail
        self._head = bytearray()
        self._tail = bytearray()
        self.total = 0

    def add(self, data: bytes) -> None:
        """Adds what was read."""
        self.total += len(data)
        room = self._head_limit - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        self._tail += data
        # Not at every call, because cutting moves the rest.
        if len(self._tail) > 2 * self._tail_limit:
            del self._tail[: -self._tail_limit]

    def live(self) -> str:
        """Returns a small view of the output so far, without a character that is still incomplete."""
        return self._view(min(LIVE_HEAD, self._head_limit), min(LIVE_TAIL, self._tail_limit), whole=False)

    def text(self) -> str:
        """Returns everything that is kept, with a note on what was left out in the middle."""
        return self._view(self._head_limit, self._tail_limit, whole=True)

    def _view(self, head: int, tail: int, *, whole: bool) -> str:
        data = self._head + self._tail
        if self.total <= head + tail:
            return _decode(data, whole=whole)[0]
        first, cut = _decode(data[:head], whole=False)
        last = data[-tail:]
        # The last part begins with a whole character.
        skipped = 0
        while skipped < _LONGEST - 1 and skipped < len(last) and last[skipped] & 0xC0 == 0x80:
            skipped += 1
        left_out = self.total - (head - cut) - (len(last) - skipped)
        return f"{first}\n[… {left_out} bytes are left out here …]\n{_decode(last[skipped:], whole=whole)[0]}"


def _decode(data: bytes | bytearray, *, whole: bool) -> tuple[str, int]:
    """Returns printable text, and the number of bytes of an incomplete character at the end that it leaves out."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    text = decoder.decode(bytes(data), whole)
    # A zero byte is valid text, but databases do not take it.
    return text.replace("\0", "\N{SYMBOL FOR NULL}"), len(decoder.getstate()[0])
