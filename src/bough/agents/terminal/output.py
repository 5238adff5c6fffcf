"""Owns what a command has printed: its beginning and its end, within bounds, as text that can be shown at any time.
It leaves reading the pipe to the command, and how often to show it to the turn.
"""

from __future__ import annotations

import codecs

# What is kept of the output of one command: where it began matters less than how it ended.
HEAD = 256 * 1024
TAIL = 768 * 1024
# What is shown of it while it grows; each look at it is a whole line to the client, and stored there.
LIVE_HEAD = 2 * 1024
LIVE_TAIL = 6 * 1024
_LONGEST = 4  # bytes of a character


class Screen:
    """The output of one command; memory is bounded whatever is added."""

    def __init__(self, head: int = HEAD, tail: int = TAIL) -> None:
        self._head_limit = head
        self._tail_limit = tail
        self._head = bytearray()
        self._tail = bytearray()
        self.total = 0

    def add(self, data: bytes) -> None:
        self.total += len(data)
        room = self._head_limit - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        self._tail += data
        # Not at every call: cutting moves what is kept.
        if len(self._tail) > 2 * self._tail_limit:
            del self._tail[: -self._tail_limit]

    def live(self) -> str:
        """Returns a small view of what there is so far; a character whose end is yet to come is not in it."""
        return self._view(min(LIVE_HEAD, self._head_limit), min(LIVE_TAIL, self._tail_limit), whole=False)

    def text(self) -> str:
        """Returns all that is kept, and how much was left out in the middle."""
        return self._view(self._head_limit, self._tail_limit, whole=True)

    def _view(self, head: int, tail: int, *, whole: bool) -> str:
        kept = self._head + self._tail
        if self.total <= head + tail:
            return _decode(kept, whole=whole)[0]
        first, cut = _decode(kept[:head], whole=False)
        last = kept[-tail:]
        # The end begins with a character, not in the middle of one.
        skipped = 0
        while skipped < _LONGEST - 1 and skipped < len(last) and last[skipped] & 0xC0 == 0x80:
            skipped += 1
        left_out = self.total - (head - cut) - (len(last) - skipped)
        return f"{first}\n[… {left_out} bytes are left out here …]\n{_decode(last[skipped:], whole=whole)[0]}"


def _decode(data: bytes | bytearray, *, whole: bool) -> tuple[str, int]:
    """Returns text that any reader takes, and how many bytes of an unfinished character at its end are not in it."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    text = decoder.decode(bytes(data), whole)
    # A zero byte is valid text, but neither databases nor people can do anything with it.
    return text.replace("\0", "\N{SYMBOL FOR NULL}"), len(decoder.getstate()[0])
