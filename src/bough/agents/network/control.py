"""Exchanges messages with the keeper, one JSON object a line.

- First, the keeper sends the start: `hosts`, `trusted` (endpoints that may have any address) and `doors`.
- Later it sends `hosts` (the list of a new prompt), or `answer` (a host's name) with `allow`, `reason` and `keep`.
- The proxy sends `ask` (a host's name), and `log` with each new decision.
"""

import asyncio
import json
import sys
import time
from typing import Any

from bough.agents.network.gate import Gate
from bough.agents.network.hosts import Target, parse_target
from bough.agents.network.proxy import Door

LINE_LIMIT = 4 * 1024 * 1024
"""Bytes of a message; lists of hosts are far shorter."""
MOST_LOGGED = 1000
"""Different decisions that are logged; an agent could fill the disk with more."""


class Control:
    """The connection to the keeper."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._logged: set[tuple[str, str]] = set()

    async def receive(self) -> dict[str, Any] | None:
        """Returns the next message; None when the keeper is gone."""
        line = await self._reader.readline()
        return json.loads(line) if line.endswith(b"\n") else None

    def ask(self, name: str) -> None:
        """Asks whether a host may be reached."""
        self._send({"ask": name})

    def note(self, target: Target, decision: str, reason: str) -> None:
        """Logs a decision, the first time that it is made about this target."""
        entry = (target.endpoint, decision)
        if entry in self._logged or len(self._logged) >= MOST_LOGGED:
            return
        self._logged.add(entry)
        print(f"{time.time():.3f} {decision} {target.endpoint} {reason}".rstrip(), flush=True)
        self._send({"log": {"host": target.endpoint, "decision": decision, "reason": reason}})

    def _send(self, message: dict[str, Any]) -> None:
        self._writer.write(json.dumps(message).encode() + b"\n")


def doors_of(start: dict[str, Any]) -> list[Door]:
    """Returns the doors of a start, in the order of the box's ports after the first."""
    return [Door(parse_target(door["target"]), door.get("path", "")) for door in start["doors"]]


def handle(gate: Gate, message: dict[str, Any]) -> None:
    """Carries out a message of the keeper."""
    if "hosts" in message:
        gate.reset([str(host) for host in message["hosts"]])
    elif "answer" in message:
        gate.answer(
            str(message["answer"]),
            allowed=message["allow"] is True,
            reason=str(message.get("reason", "")),
            remembered=message.get("keep", True) is True,
        )
    else:
        print(f"unknown message: {sorted(message)}", file=sys.stderr, flush=True)
