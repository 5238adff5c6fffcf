"""Exchanges messages with the keeper, one JSON object a line.

- First, the keeper sends the start: `hosts`, `services` (hosts that count as long as the box runs), `trusted`
  (endpoints by address) and `doors`.
- Later it sends `hosts` (the list of a new prompt, or with `same_turn` a list that a person has changed), or `answer`
  (a host's name) with `allow`, `reason` and `keep`.
- The proxy sends `ask` (a host's name), and `log` with each new decision.
"""

import asyncio
import json
import sys
import time
from typing import Any

from bough.agents.network.hosts import HostAndPort, parse_target
from bough.agents.network.proxy import LocalService, Proxy

LINE_LIMIT = 4 * 1024 * 1024
"""Bytes of a message; lists of hosts are far shorter."""
MOST_LOGGED = 1000
"""Different targets that are logged for each decision and prompt; an agent could fill the disk with more."""
MORE = "Further ones are not logged until the next prompt."


class ControlConnection:
    """The connection to the keeper."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._logged: dict[str, set[str]] = {}  # The logged targets by decision.

    async def receive(self) -> dict[str, Any] | None:
        """Returns the next message; None when the keeper is gone."""
        line = await self._reader.readline()
        return json.loads(line) if line.endswith(b"\n") else None

    def ask(self, name: str) -> None:
        """Asks whether a host may be reached."""
        self._send({"ask": name})

    def note(self, target: HostAndPort, decision: str, reason: str) -> None:
        """Logs a decision, the first time that it is made about this target since the last prompt. Each decision has
        its own bound, so that many denials do not hide what was allowed."""
        logged = self._logged.setdefault(decision, set())
        if target.endpoint in logged or len(logged) > MOST_LOGGED:
            return
        logged.add(target.endpoint)
        if len(logged) > MOST_LOGGED:
            reason = MORE
        print(f"{time.time():.3f} {decision} {target.endpoint} {reason}".rstrip(), flush=True)
        self._send({"log": {"host": target.endpoint, "decision": decision, "reason": reason}})

    def forget_logged(self) -> None:
        """Logs all decisions again, because a new prompt begins."""
        self._logged.clear()

    def _send(self, message: dict[str, Any]) -> None:
        self._writer.write(json.dumps(message).encode() + b"\n")


def doors_of(start: dict[str, Any]) -> list[LocalService]:
    """Returns the doors of a start, in the order of the box's ports after the first."""
    return [LocalService(parse_target(door["target"]), door.get("path", "")) for door in start["doors"]]


def handle(control: ControlConnection, proxy: Proxy, message: dict[str, Any]) -> None:
    """Carries out a message of the keeper."""
    if "hosts" in message:
        same_turn = message.get("same_turn", False) is True
        proxy.gate.reset([str(host) for host in message["hosts"]], same_turn=same_turn)
        proxy.close_revoked()
        if not same_turn:
            control.forget_logged()
    elif "answer" in message:
        proxy.gate.answer(
            str(message["answer"]),
            allowed=message["allow"] is True,
            reason=str(message.get("reason", "")),
            remembered=message.get("keep", True) is True,
        )
    else:
        print(f"unknown message: {sorted(message)}", file=sys.stderr, flush=True)
