"""The seam between the protocol and whoever holds an agent's pipes: whole lines out, whole lines in.
It leaves starting and ending agents to the links themselves, and what a line means to `bough.agents.acp`."""

from typing import Protocol

import msgspec

END_GRACE = 3.0
"""Seconds an agent gets at each polite step of its end: the slowest known (Codex) leaves 2 s after EOF."""


class Exit(msgspec.Struct, frozen=True):
    """How an agent ended. Neither code nor signal: its line closed, but its process was not seen to end."""

    code: int | None
    signal: int | None
    stderr: str


class Batch(msgspec.Struct, frozen=True, gc=False):
    """Whole lines in order, without newline. An agent's lines are numbered from 1; `last` is that of the last one."""

    lines: list[bytes]
    last: int


class LinkClosed(Exception):
    """No further line will come from, or can be sent to, the agent."""

    def __init__(self, exit: Exit) -> None:
        super().__init__(f"the agent's line is closed (code {exit.code}, signal {exit.signal})")
        self.exit = exit


class Link(Protocol):
    """Lines to and from one agent. Who owns the pipes (this process, or a keeper) is the link's secret."""

    command: tuple[str, ...]
    pid: int

    async def receive(self) -> Batch:
        """Returns the next one or more lines; raises LinkClosed after the last."""
        ...

    async def send(self, line: bytes, key: str) -> bool:
        """Sends one line, and waits while the agent is slow to read; False: this key was sent before, by whomever.

        The key names the line, for links that promise exactly once. A cancelled send still sends it whole.
        """
        ...

    def confirm(self, number: int) -> None:
        """Says that the lines up to this number are stored: nobody will ask for them again."""
        ...

    def forget(self, prefix: str) -> None:
        """Says that no line whose key begins like this will be sent again: its task is closed."""
        ...

    def stderr_tail(self) -> str:
        """Returns the last 64 KiB that the agent wrote to stderr."""
        ...

    async def end(self, grace: float = END_GRACE) -> Exit:
        """Ends the agent and everything it started, in bounded steps; returns only when it is gone.

        May be called again and from several places; a caller that is cancelled still waits for the end.
        """
        ...

    async def leave(self) -> None:
        """Lets go of the agent without ending it, where it can live on without us; else ends it."""
        ...
