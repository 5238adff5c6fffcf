"""Starts the proxy of a strict box, and passes its questions to the server and the answers back.

The proxy (`bough.agents.network`) is a process of its own, so that nothing that a box sends reaches the keeper."""

import fcntl
import json
import os
import socket
import sys
from typing import Any

from bough.agents.keeper import files
from bough.agents.keeper.agent_process import IGNORED

PROGRAM = "bough.agents.network"
CONTROL_FD, PORTS_FD = 3, 4
"""The descriptors that the proxy inherits."""
READ = 64 * 1024
LOWEST_FD = 10
"""The number above which descriptors for the proxy are, so that none of them is overwritten before it is passed on."""
NO_SERVER = "It is not on the list of allowed hosts, and Bough's server does not run, so no person could be asked."


class NetworkProxy:
    """The proxy, seen by the keeper. `agent_fd` is the socket through which the box hands over its ports."""

    def __init__(self, folder: int, keeper_id: str, start: dict[str, Any]) -> None:
        control, proxy_end = socket.socketpair()
        ports, agent_end = socket.socketpair()
        log = os.open(files.NETWORK_LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600, dir_fd=folder)
        null = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        try:
            sources = [null, log, log, *(_raised(sock) for sock in (proxy_end, ports))]
            self.pid = os.posix_spawn(
                sys.executable,
                [sys.executable, "-I", "-m", PROGRAM],
                {files.MARK: keeper_id},
                file_actions=[(os.POSIX_SPAWN_DUP2, fd, number) for number, fd in enumerate(sources)],
                setsid=True,
                setsigmask=[],
                setsigdef=IGNORED,
            )
            for fd in sources[CONTROL_FD:]:
                os.close(fd)
        finally:
            os.close(null)
            os.close(log)
            proxy_end.close()
            ports.close()
        self.agent_fd = agent_end.detach()
        control.setblocking(False)
        self.sock = control
        self._received = bytearray()
        self._queued = bytearray()
        self.gone = False
        """Whether the proxy has ended, though the agent has not."""
        self.send(start)

    def send(self, message: dict[str, Any]) -> None:
        """Sends a message to the proxy, as soon as it reads."""
        self._queued += json.dumps(message).encode() + b"\n"
        self.pump()

    def pump(self) -> None:
        """Sends as much as the proxy reads now."""
        try:
            while self._queued:
                del self._queued[: self.sock.send(self._queued)]
        except BlockingIOError:
            return
        except OSError:
            self.gone = True
            self._queued.clear()

    def read(self) -> list[dict[str, Any]]:
        """Returns the messages that have arrived."""
        try:
            data = self.sock.recv(READ)
        except BlockingIOError:
            return []
        except OSError:
            data = b""
        if not data:
            self.gone = True
            return []
        self._received += data
        *lines, rest = bytes(self._received).split(b"\n")
        self._received = bytearray(rest)
        return [json.loads(line) for line in lines]


def _raised(sock: socket.socket) -> int:
    """Returns a copy of a socket with a number above those that the proxy gets."""
    return fcntl.fcntl(sock.fileno(), fcntl.F_DUPFD_CLOEXEC, LOWEST_FD)
