"""Starts a keeper's process: detaches it, opens its socket and reports to the waiting server."""

import contextlib
import ctypes
import json
import os
import signal
import socket
import time
from collections.abc import Sequence
from typing import Any

from bough.agents.keeper import files, process_tree
from bough.agents.keeper.agent_process import IGNORED

PR_SET_CHILD_SUBREAPER = 36


def detach() -> None:
    """Leaves the server, so that the keeper outlives it, and ignores the signals that would end a server's child."""
    if os.fork():
        os._exit(0)  # The keeper becomes a child of init, which reaps it.
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)


def become_subreaper() -> None:
    """Makes all orphans among the descendants children of this process, so that it can end them."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "cannot become a subreaper")


def listen(folder: int) -> socket.socket:
    """Opens the socket in a keeper's folder."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    # A socket's path is limited to 108 bytes, and a data folder's may be longer. This path is always short.
    listener.bind(f"/proc/self/fd/{folder}/{files.SOCKET}")
    listener.listen(8)
    listener.setblocking(False)
    return listener


def kill_all(me: process_tree.Process) -> None:
    """Kills everything that was started so far, and waits until it is gone."""
    with contextlib.suppress(ChildProcessError):
        while True:
            process_tree.send_signal([process for process in process_tree.family(me) if process != me], signal.SIGKILL)
            os.waitpid(-1, 0)


def announce(here: int, version: int, program: process_tree.Process, command: Sequence[str]) -> bool:
    """Writes down which processes belong to a keeper, and reports the start. If that fails, no server could find the
    keeper or its program later, so neither may live: kills everything, reports the failure and returns False."""
    me = process_tree.find(os.getpid()) or process_tree.Process(os.getpid(), 0)
    about = {"version": version, "keeper": me, "agent": program, "command": command, "started": time.time()}
    try:
        files.write_json(here, files.KEEPER, about)
    except OSError as error:
        kill_all(me)
        report({"error": error.strerror})
        return False
    report({"pid": me.pid})
    return True


def report(outcome: dict[str, Any]) -> None:
    """Tells the waiting server the outcome of the start, and closes the pipe to it."""
    os.write(1, json.dumps(outcome).encode() + b"\n")
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    os.dup2(null, 0)
    os.dup2(null, 1)
    os.close(null)
