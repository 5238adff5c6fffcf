"""Plans the network of a strict box: its ports, what the proxy behind them passes on, and the variables that lead
programs to it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from bough.agents.keeper.agent_process import PORTS_FD
from bough.agents.network import open_ports
from bough.agents.network.hosts import Target, is_endpoint, is_loopback, parse_target, target_of_url

LOCALHOST = "127.0.0.1"
PROXY_PORT = 47128
"""The port of the proxy inside the box; the next one if a door needs it."""
PROXY_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
DIRECT = "localhost,127.0.0.1"
"""Hosts that programs reach without the proxy: the box itself, with its doors. No IPv6 address: some programs cannot
read one here."""
TEMPORARY = ("/tmp", "/var/tmp")


@dataclass(frozen=True)
class OwnNetwork:
    """The network of one box."""

    # What the proxy starts with.
    start: dict[str, Any]
    # The words before the agent's command inside the box.
    words: list[str]
    env: dict[str, str]
    # Files that the words need, and that the box would not show otherwise.
    readable: list[str]


def plan(patterns: Iterable[str], services: Iterable[str], tools: str | None) -> OwnNetwork:
    """Plans a network. `patterns` are the allowed hosts; `services` the addresses (URLs) of servers that a person has
    configured, which may be anywhere; `tools` is the address of Bough's own tools."""
    allowed = list(dict.fromkeys(patterns))
    targets = [parse_target(pattern) for pattern in allowed if is_endpoint(pattern)]
    targets += [target for url in services if (target := target_of_url(url)) is not None]
    own = target_of_url(tools) if tools is not None else None
    doors: dict[tuple[str, int], dict[str, str]] = {}
    trusted: list[str] = []
    if own is not None and tools is not None:
        _place(own, urlsplit(tools).path, doors, trusted)
    for target in targets:
        _place(target, "", doors, trusted)
    port = PROXY_PORT
    while any(place[1] == port for place in doors):
        port += 1
    places = [(LOCALHOST, port), *doors]
    ports = ",".join(f"{address}/{number}" for address, number in places)
    return OwnNetwork(
        start={
            "hosts": [pattern for pattern in allowed if not is_endpoint(pattern)],
            "trusted": trusted,
            "doors": list(doors.values()),
        },
        words=[sys.executable, "-I", "-S", open_ports.__file__, str(PORTS_FD), ports],
        env=_env(port),
        readable=_hidden_parts((sys.prefix, sys.base_prefix, os.path.dirname(open_ports.__file__))),
    )


def _place(target: Target, path: str, doors: dict[tuple[str, int], dict[str, str]], trusted: list[str]) -> None:
    """Makes a target reachable: one on this machine through a port of the box, any other through the proxy. The first
    target of a port counts."""
    if not is_loopback(target.host):
        trusted.append(target.endpoint)
        return
    address = target.host if target.host[0].isdigit() or ":" in target.host else LOCALHOST
    doors.setdefault((address, target.port), {"target": target.endpoint, "path": path})


def _env(port: int) -> dict[str, str]:
    proxy = f"http://{LOCALHOST}:{port}"
    variables = {name: proxy for upper in PROXY_VARIABLES for name in (upper, upper.lower())}
    # Node.js itself reads the others only with the last one.
    return variables | {"NO_PROXY": DIRECT, "no_proxy": DIRECT, "NODE_USE_ENV_PROXY": "1"}


def _hidden_parts(paths: Sequence[str]) -> list[str]:
    """Returns the paths below a folder that is private in the box."""
    return [path for path in paths if os.path.realpath(path).startswith(tuple(f"{folder}/" for folder in TEMPORARY))]
