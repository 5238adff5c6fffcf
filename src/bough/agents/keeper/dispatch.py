"""Decides which server is served, acts on its frames, and passes each line to the agent exactly once."""

import contextlib
import functools
import hashlib
import hmac
import selectors
import socket
import time
from collections.abc import Callable
from typing import Any

from bough.agents.keeper import frames
from bough.agents.keeper.agent_process import AgentProcess
from bough.agents.keeper.frames import VERSION, Frame
from bough.agents.keeper.full_disk import Disk
from bough.agents.keeper.journal import Journal, LostLines, ReadPosition
from bough.agents.keeper.network import NO_SERVER, NetworkProxy
from bough.agents.keeper.server_connection import ServerConnection

INPUT_LIMIT = 1024 * 1024
"""Bytes on their way to the agent beyond which a line is acknowledged only after the agent has read."""
CALLERS = 4
"""Connections that have not sent HELLO. When more come, the oldest of them is closed."""
GRACE_CAP = 60.0
"""The longest grace period in seconds that a server can ask for, so that every step is bounded."""
ASKED_WAIT = 30.0
"""Seconds that a question about a host outlives its server: the next one may be about to start."""
UNREADABLE = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)
"""Errors from reading malformed frames. Nothing that a client sends may end a keeper."""


class Dispatcher:
    """Serves one server at a time. Callers are connections that have not sent HELLO yet."""

    def __init__(
        self,
        selector: selectors.BaseSelector,
        listener: socket.socket,
        journal: Journal,
        agent: AgentProcess,
        end: Callable[[float], None],
        key_hash: str | None,
        proxy: NetworkProxy | None = None,
    ) -> None:
        self._selector = selector
        self._listener = listener
        self._journal = journal
        self._agent = agent
        self._end = end
        self._key_hash = key_hash
        self._client: ServerConnection | None = None
        self._callers: list[ServerConnection] = []
        self._keys: dict[str, None] = {}
        self._unacknowledged: Frame | None = None  # The line that is not acknowledged yet.
        self._accepted = False  # Whether it is in the journal and on its way to the agent.
        self._exit: bytes = b""
        self._proxy = proxy
        self._asked: dict[str, None] = {}  # The hosts that the proxy asked about, without an answer so far.
        self.disk = Disk(self.note)
        self.alone_since = time.monotonic()
        selector.register(listener, selectors.EVENT_READ, self._accept)

    @property
    def alone(self) -> bool:
        """Whether no server is connected."""
        return self._client is None

    @property
    def busy(self) -> bool:
        """Whether the connected server has not received everything."""
        return self._client is not None and self._client.behind

    def note(self, code: str, text: str) -> None:
        """Sends a NOTE to the connected server, if there is one."""
        if self._client is not None and self._client.position is not None:
            self._client.queue(frames.message(frames.NOTE, code=code, text=text))

    def pass_on(self, message: dict[str, Any]) -> None:
        """Passes a message of the proxy on to the server. Without a server, a question is answered at once."""
        if (name := message.get("ask")) is not None:
            self._asked[name] = None
        if self._client is not None:
            self._client.queue(frames.message(frames.NETWORK, **message))
        elif name is not None:
            self._deny_alone(name)

    def answer_alone(self, now: float) -> None:
        """Denies the hosts that a server was asked about if none has come back to answer."""
        if self._client is None and self._asked and now >= self.alone_since + ASKED_WAIT:
            for name in list(self._asked):
                self._deny_alone(name)

    def conclude(self, exit: dict[str, Any]) -> None:
        """Reports how the agent ended, after all its output, to this server and to later ones."""
        self._exit = frames.message(frames.EXIT, **exit)
        if self._client is not None:
            self._client.send_last(self._exit)

    def pump(self) -> None:
        """Sends everything that can be sent now."""
        if self._accepted:
            self._acknowledge()
        client = self._client
        if client is None:
            return
        client.pump()
        if client.gone:
            self._drop(client)
            return
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if client.behind else 0)
        if self._selector.get_key(client.sock).events != events:
            self._selector.modify(client.sock, events, functools.partial(self._read, client))

    def _accept(self) -> None:
        try:
            sock, _ = self._listener.accept()
        except OSError:
            return
        client = ServerConnection(sock, self._journal, self._agent.errors)
        if not client.trusted():
            client.refuse("denied", "This keeper serves only its own user.")
            sock.close()
            return
        if len(self._callers) == CALLERS:
            self._drop(self._callers[0])
        self._callers.append(client)
        self._selector.register(sock, selectors.EVENT_READ, functools.partial(self._read, client))

    def _read(self, client: ServerConnection) -> None:
        if client is not self._client and client not in self._callers:
            return  # It was dropped after it became readable.
        try:
            for frame in client.read():
                if client.gone:
                    break
                if client.position is None:
                    self._welcome(client, frame)
                else:
                    self._act(client.position, frame)
        except UNREADABLE as error:
            client.refuse("protocol", f"This keeper (version {VERSION}) cannot read a frame of the server: {error!r}.")
        if client.gone:
            self._drop(client)

    def _drop(self, client: ServerConnection) -> None:
        self._selector.unregister(client.sock)
        client.sock.close()
        if client is not self._client:
            self._callers.remove(client)
            return
        self._client = self._unacknowledged = None
        self._accepted = False
        self.alone_since = time.monotonic()

    def _act(self, position: ReadPosition, frame: Frame) -> None:
        kind = frame.head.kind
        if kind == frames.SEND:
            self._accept_line(frame)
        elif kind == frames.CONFIRM:
            with contextlib.suppress(OSError):  # The lines then stay in the journal a while longer.
                self._journal.confirm(frame.head.first, position, self._keys)
        elif kind == frames.FORGET:
            prefix = frame.payload.decode()
            self._keys = {key: None for key in self._keys if not key.startswith(prefix)}
        elif kind == frames.END:
            self._end(min(max(0.0, float(frame.text()["grace"])), GRACE_CAP))
        elif kind == frames.HOSTS:
            self._answer_proxy(frame.text())
        else:
            self.note("unknown_frame", f"This keeper (version {VERSION}) does not know frames of kind {kind}.")

    def _welcome(self, client: ServerConnection, frame: Frame) -> None:
        if frame.head.kind != frames.HELLO:
            raise ValueError(f"a frame of kind {frame.head.kind} before HELLO")
        hello = frame.text()
        version, last = hello["version"], int(hello["last"])
        if not self._is_server(hello.get("key")):
            client.refuse("denied", "This keeper serves only the server that started its agent, which has its key.")
            self.note("denied", f"A process (pid {client.peer_pid}) tried to take over this keeper without its key.")
            return
        if version != VERSION:
            text = f"This keeper speaks version {VERSION} of its protocol, and the server version {version}"
            client.refuse("version", f"{text}. The agent keeps running.")
            return
        start = self._journal.after(last)
        if isinstance(start, LostLines):
            held = f"lines {start.first} to {start.next - 1}" if start.first < start.next else "no lines"
            text = f"The server has the lines up to {last}, but this keeper holds {held} of "
            client.refuse("lost", f"{text}{start.next - 1}. The lines in between are lost.")
            return
        if self._client is not None:
            if not hello.get("take_over"):
                client.refuse("busy", "This keeper already serves another server.")
                return
            # The server that holds the lock of the data folder takes over: the one before is dead, noticed or not.
            self._client.refuse("displaced", "Another server has taken over this keeper.")
            self._drop(self._client)
        self._callers.remove(client)
        self._client = client
        position, lines = start
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
        client.welcome(position, greeting, lines)
        for name in self._asked:
            client.queue(frames.message(frames.NETWORK, ask=name))
        client.send_last(self._exit)

    def _answer_proxy(self, message: dict[str, Any]) -> None:
        """Passes an answer or a list of hosts on to the proxy."""
        self._asked.pop(message.get("answer", ""), None)
        if self._proxy is not None and not self._proxy.gone:
            self._proxy.send(message)

    def _deny_alone(self, name: str) -> None:
        self._answer_proxy({"answer": name, "allow": False, "reason": NO_SERVER, "keep": False})

    def _is_server(self, key: object) -> bool:
        """Returns whether a caller has this keeper's key, of which only the hash is known here."""
        if self._key_hash is None:
            return True
        if not isinstance(key, str):
            return False
        return hmac.compare_digest(hashlib.sha256(key.encode(errors="replace")).hexdigest(), self._key_hash)

    # Lines to the agent

    def _accept_line(self, frame: Frame) -> None:
        if self._unacknowledged is not None:
            raise ValueError("a line before the last one was acknowledged")
        size = frame.head.amount
        if not 0 < size <= frame.head.length or frame.payload.find(b"\n", size) >= 0:
            raise ValueError("a SEND that is not one line with a key")
        key = frame.payload[:size].decode()
        self._unacknowledged, self._accepted = frame, False
        if key in self._keys:
            self._answer("known")
        elif self._agent.input.shut:
            self._answer("closed")
        else:
            self.disk.run(lambda: self._hand_over(frame, key))

    def _hand_over(self, frame: Frame, key: str) -> None:
        """Journals a line, then passes it to the agent. Raises OSError if the disk is full."""
        if self._unacknowledged is not frame:
            return  # Its server left before the line could be journalled.
        size = frame.head.amount
        self._journal.add_sent(frame.payload[:size])
        self._keys[key] = None
        self._accepted = True
        self._agent.input.put(frame.payload[size:])
        self._acknowledge()

    def _acknowledge(self) -> None:
        """Acknowledges the current line once the agent has read enough."""
        stdin = self._agent.input
        if stdin.shut:
            self._answer("closed")
        elif stdin.size <= INPUT_LIMIT:
            self._answer("fresh")

    def _answer(self, state: str) -> None:
        if self._client is not None and self._unacknowledged is not None:
            key = self._unacknowledged.payload[: self._unacknowledged.head.amount].decode()
            self._client.queue(frames.message(frames.ACK, key=key, state=state))
        self._unacknowledged, self._accepted = None, False
