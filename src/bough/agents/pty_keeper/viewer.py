"""Serves one viewer of a terminal: sends it the output from its own place, as fast as it reads."""

import select
import socket
from collections.abc import Iterator

from bough.agents.keeper import frames
from bough.agents.keeper.frames import Frame, FrameReader
from bough.agents.pty_keeper import protocol
from bough.agents.pty_keeper.scrollback import Scrollback

READ = 64 * 1024
TURNS = 4
"""Frames of output that are sent before the main loop looks at the shell again."""


class Viewer:
    """A connection. It receives nothing until it has been welcomed."""

    def __init__(self, sock: socket.socket, scrollback: Scrollback) -> None:
        sock.setblocking(False)
        self.sock = sock
        self._scrollback = scrollback
        self._reader = FrameReader()
        self._out = bytearray()
        self._last = b""
        self.place: int | None = None
        """Where in the output it is; None before it is welcomed."""
        self.gone = False

    @property
    def lag(self) -> int:
        """The number of bytes of output that it has not been sent."""
        return 0 if self.place is None else self._scrollback.end - self.place

    @property
    def behind(self) -> bool:
        """Whether there is something to send."""
        return bool(self._out or self.lag or (self._last and self.place is not None))

    @property
    def left(self) -> bool:
        """Whether the other side has closed the connection, although there may still be something to read."""
        poll = select.poll()
        poll.register(self.sock, select.POLLRDHUP)
        return bool(poll.poll(0))

    def read(self) -> Iterator[Frame]:
        """Yields the frames that have arrived."""
        try:
            data = self.sock.recv(READ)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self.gone = not data
        yield from self._reader.feed(data)

    def welcome(self, columns: int, rows: int, tail: int | None = None) -> None:
        """Accepts the viewer, which now receives the scrollback, or at most `tail` bytes of it, and everything after
        it."""
        self.place = self._scrollback.beginning()
        if tail is not None:
            self.place = max(self.place, self._scrollback.end - tail)
        self.queue(
            frames.message(
                frames.WELCOME,
                version=protocol.VERSION,
                columns=columns,
                rows=rows,
                start=self.place,
                end=self._scrollback.end,
            )
        )

    def queue(self, frame: bytes) -> None:
        """Sends a frame before further output."""
        self._out += frame

    def send_last(self, frame: bytes) -> None:
        """Sends a frame after all output."""
        self._last = frame

    def refuse(self, code: str, text: str) -> None:
        """Says why this viewer is not served. The caller closes the connection."""
        self.queue(frames.message(frames.NOTE, code=code, text=text))
        self._send()
        self.gone = True

    def pump(self) -> bool:
        """Sends as much as the viewer takes now. Returns whether it took any."""
        took = False
        for _ in range(TURNS):
            if not self._out and not self._fetch():
                break
            before = len(self._out)
            whole = self._send()
            took = took or len(self._out) < before
            if not whole:
                break
        return took

    def _fetch(self) -> bool:
        """Loads the next piece of output. A viewer that was too slow continues with what is still held."""
        if self.place is None:
            return False
        if self.lag:
            if self.place < self._scrollback.start:
                self.place = self._scrollback.beginning()
            data = self._scrollback.read(self.place, protocol.MOST)
            self._out += frames.frame(protocol.OUTPUT, data, first=self.place)
            self.place += len(data)
        elif self._last:
            self._out, self._last = bytearray(self._last), b""
        return bool(self._out)

    def _send(self) -> bool:
        """Returns whether everything that was loaded is sent."""
        try:
            while self._out:
                del self._out[: self.sock.send(self._out)]
        except BlockingIOError:
            return False
        except OSError:
            self.gone = True
            return False
        return True
