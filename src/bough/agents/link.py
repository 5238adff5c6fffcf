"""Defines the link to an agent: whole lines in both directions, whichever process holds its pipes.

`process_link` holds the pipes itself; `keeper.keeper_link` talks to the keeper that does.
"""

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import msgspec

END_GRACE = 3.0
"""Seconds for each polite step of an agent's end. The slowest known agent exits 2 s after EOF."""


class AgentExit(msgspec.Struct, frozen=True):
    """The end of an agent. Without code and signal, its output closed but its process was not seen to end."""

    code: int | None
    signal: int | None
    stderr: str


class LineBatch(msgspec.Struct, frozen=True, gc=False):
    """Whole lines in order, without newlines. Lines are numbered from 1; `last` is the number of the last one.

    `lost` is a sentence about lines right before these that are missing."""

    lines: list[bytes]
    last: int
    lost: str = ""


class LinkClosed(Exception):
    """No more lines will come from the agent or can be sent to it."""

    def __init__(self, exit: AgentExit) -> None:
        super().__init__(f"the link to the agent is closed (code {exit.code}, signal {exit.signal})")
        self.exit = exit


class Link(Protocol):
    """Lines to and from one agent. Callers need not know whether this process or a keeper owns the pipes."""

    command: tuple[str, ...]
    pid: int

    async def receive(self) -> LineBatch:
        """Returns the next lines, or a sentence about lines that are lost. Raises `LinkClosed` after the last."""
        ...

    async def send(self, line: bytes, key: str) -> bool:
        """Sends one line and waits while the agent reads slowly. Returns False if the key was sent before.

        The key identifies the line for links that deliver exactly once. A cancelled send still sends the whole line.
        """
        ...

    def confirm(self, number: int) -> None:
        """Confirms that the lines up to this number are stored and not needed again."""
        ...

    def forget(self, prefix: str) -> None:
        """Forgets the keys with this prefix, because their task is closed."""
        ...

    def stderr_tail(self) -> str:
        """Returns the last 64 KiB that the agent wrote to stderr."""
        ...

    async def end(self, grace: float = END_GRACE) -> AgentExit:
        """Ends the agent and everything it started, in bounded steps. Returns when it is gone.

        May be called several times and concurrently. A cancelled caller still waits for the end.
        """
        ...

    async def leave(self) -> None:
        """Disconnects without ending the agent if it can outlive this process; otherwise ends it."""
        ...


@runtime_checkable
class NetworkLink(Protocol):
    """A link to an agent whose box may have a network of its own, with a proxy that asks about hosts."""

    def on_network(self, listener: Callable[[dict[str, Any]], None]) -> None:
        """Passes messages of the proxy to a listener."""
        ...

    def send_hosts(self, message: dict[str, Any]) -> None:
        """Sends an answer or a list of hosts to the proxy."""
        ...
