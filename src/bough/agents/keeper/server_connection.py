"""Exchanges frames with one connected server. `dispatch` acts on its frames.

Lines to the server are read from the journal as fast as it takes them, so memory is bounded.
"""

import os
import socket
import struct
from collections.abc import Iterator

from bough.agents.keeper import frames
from bough.agents.keeper.agent_process import AgentErrors
from bough.agents.keeper.frames import Frame, FrameReader
from bough.agents.keeper.journal import Journal, ReadPosition

READ = 256 * 1024
"""Bytes read at once."""
TURNS = 8
"""Blocks sent before the main loop looks at the agent and the clock again."""


class ServerConnection:
    """A connection. The server receives nothing until it has been welcomed."""

    def __init__(self, sock: socket.socket, journal: Journal, errors: AgentErrors) -> None:
        sock.setblocking(False)
        self.sock = sock
        self._journal = journal
        self._errors = errors
        self._reader = FrameReader()
        self._queued = bytearray()
        self._out = memoryview(b"")
        self._stderr = 0
        self._last_frame = b""
        self.position: ReadPosition | None = None
        self.gone = False
        self.peer_pid = 0

    def trusted(self) -> bool:
        """Tells whether the peer runs as the same user."""
        self.peer_pid, uid = peer(self.sock)
        return uid == os.getuid()

    def welcome(self, position: ReadPosition, greeting: bytes, lines: bytes) -> None:
        """Answers HELLO. From now on the server receives everything after this position of the journal."""
        self._queued += greeting + lines
        self.position = position

    def queue(self, frame: bytes) -> None:
        """Sends a frame as soon as the current one is complete."""
        self._queued += frame

    def refuse(self, code: str, text: str) -> None:
        """Sends the reason why this server is not served any further. The caller closes the connection."""
        if self.position is None or not self.position.left:  # Otherwise it would be read as part of a line.
            self._out = memoryview(bytes(self._out) + self._queued + frames.message(frames.NOTE, code=code, text=text))
        self._send()
        self.gone = True

    def send_last(self, frame: bytes) -> None:
        """Sends a frame after everything else."""
        self._last_frame = frame

    def read(self) -> Iterator[Frame]:
        """Yields the frames that have arrived."""
        try:
            data = self.sock.recv(READ)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.gone = True
        yield from self._reader.feed(data)

    @property
    def behind(self) -> bool:
        """Whether there is something that the server has not received."""
        return bool(self._out or self._queued) or (
            self.position is not None
            and bool(self.position.offset < self._journal.size or self._stderr < self._errors.total or self._last_frame)
        )

    def pump(self) -> None:
        """Sends as much as the server takes without waiting."""
        for _ in range(TURNS):
            if not self._send() or not self._fetch():
                return

    def _fetch(self) -> bool:
        """Loads what is to be sent next. Returns False if there is nothing."""
        position = self.position
        if self._queued and (position is None or not position.left):
            self._out, self._queued = memoryview(bytes(self._queued)), bytearray()
        elif position is None:
            return False
        elif position.offset < self._journal.size:
            self._out = memoryview(self._journal.read(position))
        elif self._stderr < self._errors.total:
            self._out = memoryview(frames.frame(frames.STDERR, self._errors.tail(self._stderr)))
            self._stderr = self._errors.total
        elif self._last_frame:
            self._out, self._last_frame = memoryview(self._last_frame), b""
        else:
            return False
        return True

    def _send(self) -> bool:
        """Sends what was loaded. Returns False if the socket takes no more now."""
        try:
            while self._out:
                self._out = self._out[self.sock.send(self._out) :]
        except BlockingIOError:
            return False
        except OSError:
            self.gone = True
            return False
        return True


def peer(sock: socket.socket) -> tuple[int, int]:
    """Returns the process and the user at the other end of a socket."""
    pid, uid, _ = struct.unpack("3i", sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")))
    return pid, uid
