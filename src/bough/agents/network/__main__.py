"""Runs the proxy of one box: `python -I -m bough.agents.network`, as the keeper does.

It inherits two sockets: one to the keeper, and one through which `open_ports` hands over the ports of the box. It ends
when the keeper does."""

import asyncio
import json
import os
import resource
import signal
import socket
import sys
from typing import Any

from bough.agents.network.control import LINE_LIMIT, ControlConnection, doors_of, handle
from bough.agents.network.gate import HostGate
from bough.agents.network.proxy import LocalService, Proxy

CONTROL_FD, PORTS_FD = 3, 4
MOST_PORTS = 64
MOST_FILES = 4096
"""Open files of the proxy, if the machine allows that."""
MOST_FAILURES = 100
"""Unexpected errors that are logged; an agent could fill the disk with more."""


def main() -> None:
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = MOST_FILES if hard == resource.RLIM_INFINITY else min(MOST_FILES, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    asyncio.run(_run_to_exit(socket.socket(fileno=CONTROL_FD), socket.socket(fileno=PORTS_FD)))


async def _run_to_exit(control_socket: socket.socket, ports: socket.socket) -> None:
    asyncio.get_running_loop().set_exception_handler(UnexpectedErrors().log)
    await run(control_socket, ports)
    # Without waiting for threads that still resolve names.
    os._exit(0)


class UnexpectedErrors:
    """Logs errors that nobody expected, but not without end."""

    def __init__(self) -> None:
        self._logged = 0

    def log(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Writes an error to the log, which is standard error."""
        self._logged += 1
        if self._logged <= MOST_FAILURES:
            print(f"{context.get('message')}: {context.get('exception')!r}", file=sys.stderr, flush=True)


async def run(control_socket: socket.socket, ports: socket.socket) -> None:
    """Serves until the keeper closes its socket."""
    reader, writer = await asyncio.open_unix_connection(sock=control_socket, limit=LINE_LIMIT)
    control = ControlConnection(reader, writer)
    start = await control.receive()
    if start is None:
        return
    gate = HostGate(start["hosts"], start["trusted"], control.ask, start.get("services", ()))
    proxy = Proxy(gate, control.note)
    opening = asyncio.create_task(open_all(proxy, ports, [None, *doors_of(start)]))
    try:
        while (message := await control.receive()) is not None:
            handle(control, proxy, message)
    finally:
        opening.cancel()
        await proxy.close()


async def open_all(proxy: Proxy, ports: socket.socket, doors: list[LocalService | None]) -> list[asyncio.Server]:
    """Serves the ports that the box hands over, then lets the agent start. Returns the servers."""
    with ports:
        opened, listeners = await receive_ports(ports)
        servers = [await proxy.listen(listener, doors[n]) for n, listener in zip(opened, listeners, strict=True)]
        if servers:
            ports.setblocking(True)
            ports.sendall(b"+")
    return servers


async def receive_ports(ports: socket.socket) -> tuple[list[int], list[socket.socket]]:
    """Returns the listening sockets of the box, with their numbers in the list of its ports."""
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    ports.setblocking(False)
    loop.add_reader(ports, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(ports)
    data, descriptors, _, _ = socket.recv_fds(ports, 4096, MOST_PORTS)
    if not data:
        return [], []  # The box has ended before its agent started.
    listeners = [socket.socket(fileno=descriptor) for descriptor in descriptors]
    for listener in listeners:
        listener.setblocking(False)
    return json.loads(data), listeners


if __name__ == "__main__":
    main()
