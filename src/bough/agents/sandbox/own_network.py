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
from bough.agents.network.hosts import HostAndPort, is_endpoint, is_loopback, parse_target, target_of_url
from bough.agents.sandbox.socket_filter import socket_filter
from bough.errors import AgentFailed

LOCALHOST = "127.0.0.1"
PROXY_PORT = 47128
"""The port of the proxy inside the box; the next one if a door needs it."""
MOST_DOORS = 60
"""Services of this machine that a box can reach; each needs a port of the box, which are handed over in one message."""
PROXY_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
DIRECT = "localhost,127.0.0.1"
"""Hosts that programs reach without the proxy: the box itself, with its doors. No IPv6 address: some programs cannot
read one here."""
TEMPORARY = ("/tmp", "/var/tmp")

Doors = dict[tuple[str, int], dict[str, str]]
"""The doors of a box, by their address and port in the box."""


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
    # The address of Bough's own tools inside the box.
    tools: str | None = None


def plan(patterns: Iterable[str], services: Iterable[str], tools: str | None) -> OwnNetwork:
    """Plans a network. `patterns` are the allowed hosts; `services` the addresses (URLs) of servers that a person has
    configured; `tools` is the address of Bough's own tools. Raises `AgentFailed` if there are too many services."""
    allowed = list(dict.fromkeys(patterns))
    servers = service_patterns(services)
    doors: Doors = {}
    inside = _open_tools(tools, doors) if tools is not None else None
    own = {door["target"] for door in doors.values()}
    trusted: list[str] = []
    for endpoint in dict.fromkeys(pattern for pattern in (*allowed, *servers) if is_endpoint(pattern)):
        # Of Bough itself, nothing but the path of its tools is open, whoever lists it.
        if endpoint not in own:
            _place(parse_target(endpoint), doors, trusted)
    if len(doors) > MOST_DOORS:
        raise AgentFailed(
            "too_many_services",
            f"The strict sandbox can open at most {MOST_DOORS} services of this machine; {len(doors)} are listed.",
        )
    code = socket_filter()
    port = PROXY_PORT
    while any(place[1] == port for place in doors):
        port += 1
    places = [(LOCALHOST, port), *doors]
    ports = ",".join(f"{address}/{number}" for address, number in places)
    return OwnNetwork(
        start={
            "hosts": [pattern for pattern in allowed if not is_endpoint(pattern)],
            "services": [pattern for pattern in servers if not is_endpoint(pattern)],
            "trusted": trusted,
            "doors": list(doors.values()),
            # For the box, not the proxy: the keeper takes it out.
            "filter": code.hex() if code is not None else None,
        },
        words=[sys.executable, "-I", "-S", open_ports.__file__, str(PORTS_FD), ports],
        env=_env(port),
        readable=_hidden_parts((sys.prefix, sys.base_prefix, os.path.dirname(open_ports.__file__))),
        tools=inside,
    )


def service_patterns(urls: Iterable[str]) -> list[str]:
    """Returns the patterns that open servers by their URLs. A name is not trusted more than any other allowed one: its
    owner could point it anywhere."""
    targets = (target_of_url(url) for url in urls)
    return list(dict.fromkeys(target.endpoint for target in targets if target is not None))


def _open_tools(url: str, doors: Doors) -> str | None:
    """Opens Bough's own tools at their path, on the box's loopback wherever the server listens. Returns their address
    in the box; None if only an encrypted connection leads there, in which a path cannot be told from others."""
    parts, target = urlsplit(url), target_of_url(url)
    if target is None or parts.scheme != "http":
        return None
    doors[LOCALHOST, target.port] = {"target": target.endpoint, "path": parts.path}
    return f"http://{LOCALHOST}:{target.port}{parts.path}"


def _place(target: HostAndPort, doors: Doors, trusted: list[str]) -> None:
    """Makes an endpoint reachable: one on this machine through a port of the box, any other through the proxy. The
    first target of a port counts."""
    if not is_loopback(target.host):
        trusted.append(target.endpoint)
        return
    if ":" in target.host:
        # Programs cannot be told to reach this address without the proxy, so that both ways are open.
        trusted.append(target.endpoint)
    address = target.host if target.host[0].isdigit() or ":" in target.host else LOCALHOST
    doors.setdefault((address, target.port), {"target": target.endpoint, "path": ""})


def _env(port: int) -> dict[str, str]:
    proxy = f"http://{LOCALHOST}:{port}"
    variables = {name: proxy for upper in PROXY_VARIABLES for name in (upper, upper.lower())}
    # Node.js itself reads the others only with the last one.
    return variables | {"NO_PROXY": DIRECT, "no_proxy": DIRECT, "NODE_USE_ENV_PROXY": "1"}


def _hidden_parts(paths: Sequence[str]) -> list[str]:
    """Returns the paths below a folder that is private in the box."""
    return [path for path in paths if os.path.realpath(path).startswith(tuple(f"{folder}/" for folder in TEMPORARY))]
