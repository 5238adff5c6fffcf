"""Runs a keeper: `python -I -m bough.agents.keeper FOLDER`, as `start_keeper` does.

It detaches itself from the server, starts the agent and enters the main loop."""

import contextlib
import ctypes
import json
import os
import signal
import socket
import sys
import time
from typing import Any

from bough.agents.keeper import files, kernel_doors, process_tree
from bough.agents.keeper.agent_process import IGNORED, AgentProcess
from bough.agents.keeper.frames import VERSION
from bough.agents.keeper.journal import Journal
from bough.agents.keeper.main_loop import KeeperLoop
from bough.agents.keeper.network import NetworkProxy

PR_SET_CHILD_SUBREAPER = 36


def main(folder: str) -> None:
    """Detaches, starts the agent, reports that on stdout, and serves until the agent has ended."""
    if os.fork():
        os._exit(0)  # The keeper becomes a child of init, which reaps it.
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    here = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    start = files.read_start(here)
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "cannot become a subreaper")
    listener = _listen(here)
    journal = Journal(here)
    start["env"][files.MARK] = start["id"]
    key_hash = start.pop("key_hash", None)
    network: dict[str, Any] | None = start.pop("network", None)
    start["filter"] = network.pop("filter", None) if network is not None else None
    try:
        proxy = NetworkProxy(here, start["id"], network) if network is not None else None
        if start.get("box"):
            kernel_doors.close(start["box"][0])
        agent = AgentProcess(start, journal, proxy.agent_fd if proxy is not None else None)
    except OSError as error:
        _report({"error": error.strerror})
        return
    me = process_tree.find(os.getpid()) or process_tree.Process(os.getpid(), 0)
    about = {
        "version": VERSION,
        "keeper": me,
        "agent": agent.process,
        "command": start["command"],
        "started": time.time(),
    }
    del start
    loop = KeeperLoop(here, listener, journal, agent, key_hash, proxy)
    try:
        files.write_json(here, files.KEEPER, about)
    except OSError as error:  # No server could find this keeper or its agent later, so neither may live.
        _kill_all(me)
        _report({"error": error.strerror})
        return
    _report({"pid": me.pid})
    loop.run()


def _listen(folder: int) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    # A socket's path is limited to 108 bytes, and a data folder's may be longer. This path is always short.
    listener.bind(f"/proc/self/fd/{folder}/{files.SOCKET}")
    listener.listen(8)
    listener.setblocking(False)
    return listener


def _kill_all(me: process_tree.Process) -> None:
    """Kills everything that the agent has started so far, and waits until it is gone."""
    with contextlib.suppress(ChildProcessError):
        while True:
            process_tree.send_signal([process for process in process_tree.family(me) if process != me], signal.SIGKILL)
            os.waitpid(-1, 0)


def _report(outcome: dict[str, Any]) -> None:
    """Tells the waiting server the outcome of the start, and closes the pipe to it."""
    os.write(1, json.dumps(outcome).encode() + b"\n")
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    os.dup2(null, 0)
    os.dup2(null, 1)
    os.close(null)


if __name__ == "__main__":
    main(sys.argv[1])
