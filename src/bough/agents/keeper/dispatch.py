"""Where a keeper and its server talk: who is served, what each frame causes, and which lines reach the agent once.
It leaves the loop, and the agent's life, to the service."""

import contextlib
import functools
import selectors
import socket
import time
from collections.abc import Callable
from typing import Any

from bough.agents.keeper import frames
from bough.agents.keeper.agent_process import AgentProcess
from bough.agents.keeper.files import Disk
from bough.agents.keeper.frames import VERSION, Frame
from bough.agents.keeper.journal import Journal, Lost, ReadPosition
from bough.agents.keeper.server_connection import ServerConnection

INPUT_LIMIT = 1024 * 1024
"""Bytes on their way to the agent beyond which a line is acknowledged only when the agent has read."""
CALLERS = 4
"""Connections that have not said hello yet; when more come, the oldest of them is hung up on."""
GRACE_CAP = 60.0
"""Seconds at each polite step of an agent's end that a server can ask for at most: every step is bounded."""
UNREADABLE = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError)
"""What comes of reading JSON that is not what it should be. No client can say anything that ends a keeper."""


class Dispatcher:
    """Serves one client at a time; callers are not served before they have said hello."""

    def __init__(
        self,
        selector: selectors.BaseSelector,
        listener: socket.socket,
        journal: Journal,
        agent: AgentProcess,
        end: Callable[[float], None],
    ) -> None:
        self._selector = selector
        self._listener = listener
        self._journal = journal
        self._agent = agent
        self._end = end
        self._client: ServerConnection | None = None
        self._callers: list[ServerConnection] = []
        self._keys: dict[str, None] = {}
        self._waiting: Frame | None = None  # the line that is not acknowledged yet
        self._accepted = False  # whether it is in the journal and on its way
        self._exit: bytes = b""
        self.disk = Disk(self.note)
        self.alone_since = time.monotonic()
        selector.register(listener, selectors.EVENT_READ, self._accept)

    @property
    def alone(self) -> bool:
        """Nobody is served."""
        return self._client is None

    @property
    def busy(self) -> bool:
        """Something is still to be said to the client, if there is one."""
        return self._client is not None and self._client.hungry

    def note(self, code: str, text: str) -> None:
        """Says something to the client, if there is one."""
        if self._client is not None and self._client.place is not None:
            self._client.tell(frames.message(frames.NOTE, code=code, text=text))

    def conclude(self, exit: dict[str, Any]) -> None:
        """Says how the agent ended, after all that it said, to this client and to those that come."""
        self._exit = frames.message(frames.EXIT, **exit)
        if self._client is not None:
            self._client.bid_farewell(self._exit)

    def pump(self) -> None:
        """Lets everything flow that can."""
        if self._accepted:
            self._acknowledge()
        client = self._client
        if client is None:
            return
        client.pump()
        if client.gone:
            self._drop(client)
            return
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if client.hungry else 0)
        if self._selector.get_key(client.sock).events != events:
            self._selector.modify(client.sock, events, functools.partial(self._read, client))

    def _accept(self) -> None:
        try:
            sock, _ = self._listener.accept()
        except OSError:
            return
        client = ServerConnection(sock, self._journal, self._agent.errors)
        if not client.trusted():
            client.refuse("denied", "This keeper serves its own user alone.")
            sock.close()
            return
        if len(self._callers) == CALLERS:
            self._drop(self._callers[0])
        self._callers.append(client)
        self._selector.register(sock, selectors.EVENT_READ, functools.partial(self._read, client))

    def _read(self, client: ServerConnection) -> None:
        if client is not self._client and client not in self._callers:
            return  # it was dropped since it was found to be readable
        try:
            for frame in client.read():
                if client.gone:
                    break
                if client.place is None:
                    self._welcome(client, frame)
                else:
                    self._obey(client, client.place, frame)
        except UNREADABLE as error:
            client.refuse("protocol", f"This keeper (version {VERSION}) cannot read what the server says: {error!r}.")
        if client.gone:
            self._drop(client)

    def _drop(self, client: ServerConnection) -> None:
        self._selector.unregister(client.sock)
        client.sock.close()
        if client is not self._client:
            self._callers.remove(client)
            return
        self._client = self._waiting = None
        self._accepted = False
        self.alone_since = time.monotonic()

    def _obey(self, client: ServerConnection, place: ReadPosition, frame: Frame) -> None:
        kind = frame.head.kind
        if kind == frames.SEND:
            self._take(frame)
        elif kind == frames.CONFIRM:
            with contextlib.suppress(OSError):  # then it stays a while longer
                self._journal.confirm(frame.head.first, place, self._keys)
        elif kind == frames.FORGET:
            prefix = frame.payload.decode()
            self._keys = {key: None for key in self._keys if not key.startswith(prefix)}
        elif kind == frames.END:
            self._end(min(max(0.0, float(frame.text()["grace"])), GRACE_CAP))
        else:
            self.note("unknown_frame", f"This keeper (version {VERSION}) knows no frame of kind {kind}.")

    def _welcome(self, client: ServerConnection, frame: Frame) -> None:
        if frame.head.kind != frames.HELLO:
            raise ValueError(f"a frame of kind {frame.head.kind} before HELLO")
        hello = frame.text()
        if hello["version"] != VERSION:
            text = f"This keeper speaks version {VERSION} of its protocol, the server version {hello['version']}"
            client.refuse("version", f"{text}: they cannot talk. The agent goes on.")
            return
        found = self._journal.after(int(hello["last"]))
        if isinstance(found, Lost):
            held = f"lines {found.first} to {found.next - 1}" if found.first < found.next else "no lines"
            text = f"The server has the lines up to {hello['last']}, but this keeper holds {held}, and said "
            client.refuse("lost", f"{text}{found.next - 1} in all: what is between cannot be given.")
            return
        if self._client is not None:
            if not hello.get("take_over"):
                client.refuse("busy", "This keeper already serves a server; it serves one at a time.")
                return
            # Who holds the data folder takes over. Its lock says that the one before is dead, seen here or not yet.
            self._client.refuse("displaced", "Another server has taken over this keeper.")
            self._drop(self._client)
        self._callers.remove(client)
        self._client = client
        place, lines = found
        greeting = frames.message(
            frames.WELCOME,
            version=VERSION,
            pid=self._agent.pid,
            first=self._journal.first,
            next=self._journal.next,
            running=self._agent.status is None,
            keys=list(self._keys),
            notes=[["disk_full", self.disk.trouble]] if self.disk.trouble else [],
        )
        client.welcome(place, greeting, lines)
        client.bid_farewell(self._exit)

    # Lines to the agent

    def _take(self, frame: Frame) -> None:
        if self._waiting is not None:
            raise ValueError("a line before the last one was acknowledged")
        size = frame.head.amount
        if not 0 < size <= frame.head.length or frame.payload.find(b"\n", size) >= 0:
            raise ValueError("a SEND that is not one line with a key")
        key = frame.payload[:size].decode()
        self._waiting, self._accepted = frame, False
        if key in self._keys:
            self._answer("known")
        elif self._agent.input.shut:
            self._answer("closed")
        else:
            self.disk.run(lambda: self._hand_over(frame, key))

    def _hand_over(self, frame: Frame, key: str) -> None:
        """Journals the line, then writes it; raises OSError when the disk is full."""
        if self._waiting is not frame:
            return  # its client left before it could be journalled
        size = frame.head.amount
        self._journal.add_sent(frame.payload[:size], frame.payload[size:])
        self._keys[key] = None
        self._accepted = True
        self._agent.input.put(frame.payload[size:])
        self._acknowledge()

    def _acknowledge(self) -> None:
        """Acknowledges the line on its way as soon as the agent keeps up."""
        stdin = self._agent.input
        if stdin.shut:
            self._answer("closed")
        elif stdin.size <= INPUT_LIMIT:
            self._answer("fresh")

    def _answer(self, state: str) -> None:
        if self._client is not None and self._waiting is not None:
            key = self._waiting.payload[: self._waiting.head.amount].decode()
            self._client.tell(frames.message(frames.ACK, key=key, state=state))
        self._waiting, self._accepted = None, False
