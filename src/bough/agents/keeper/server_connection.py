"""The one server that is connected to a keeper: frames from it, and lines and answers to it as fast as it reads.
It leaves what the frames cause to the service; what it sends is fed from the journal, so its memory is bounded."""

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
"""Blocks sent before the agent and the clock are looked at again."""


class ServerConnection:
    """A connection; it is given nothing before it was welcomed."""

    def __init__(self, sock: socket.socket, journal: Journal, errors: AgentErrors) -> None:
        sock.setblocking(False)
        self.sock = sock
        self._journal = journal
        self._errors = errors
        self._reader = FrameReader()
        self._told = bytearray()
        self._out = memoryview(b"")
        self._stderr = 0
        self._farewell = b""
        self.place: ReadPosition | None = None
        self.gone = False

    def trusted(self) -> bool:
        """Whether it is a process of our own user."""
        size = struct.calcsize("3i")
        _, uid, _ = struct.unpack("3i", self.sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
        return uid == os.getuid()

    def welcome(self, place: ReadPosition, greeting: bytes, lines: bytes) -> None:
        """Answers its HELLO; from now on it is given all that follows this place."""
        self._told += greeting + lines
        self.place = place

    def tell(self, frame: bytes) -> None:
        """Sends a frame, between two others."""
        self._told += frame

    def refuse(self, code: str, text: str) -> None:
        """Says why it cannot be served any further; whoever holds it hangs up."""
        if self.place is None or not self.place.left:  # else it would take this for part of a line
            self._out = memoryview(bytes(self._out) + self._told + frames.message(frames.NOTE, code=code, text=text))
        self._send()
        self.gone = True

    def bid_farewell(self, frame: bytes) -> None:
        """Sends this after everything else."""
        self._farewell = frame

    def read(self) -> Iterator[Frame]:
        """Yields the frames that have come."""
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
    def hungry(self) -> bool:
        """There is something that it has not been given."""
        return bool(self._out or self._told) or (
            self.place is not None
            and bool(self.place.offset < self._journal.size or self._stderr < self._errors.total or self._farewell)
        )

    def pump(self) -> None:
        """Gives it what it takes without waiting."""
        for _ in range(TURNS):
            if not self._send() or not self._fetch():
                return

    def _fetch(self) -> bool:
        """Takes up what is to be sent next; False if there is nothing."""
        place = self.place
        if self._told and (place is None or not place.left):
            self._out, self._told = memoryview(bytes(self._told)), bytearray()
        elif place is None:
            return False
        elif place.offset < self._journal.size:
            self._out = memoryview(self._journal.read(place))
        elif self._stderr < self._errors.total:
            self._out = memoryview(frames.frame(frames.STDERR, self._errors.tail(self._stderr)))
            self._stderr = self._errors.total
        elif self._farewell:
            self._out, self._farewell = memoryview(self._farewell), b""
        else:
            return False
        return True

    def _send(self) -> bool:
        """Sends what was taken up; False if it does not go further now."""
        try:
            while self._out:
                self._out = self._out[self.sock.send(self._out) :]
        except BlockingIOError:
            return False
        except OSError:
            self.gone = True
            return False
        return True
