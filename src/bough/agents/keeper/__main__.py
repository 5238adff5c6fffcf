"""Runs a keeper: `python -I -m bough.agents.keeper FOLDER`, as `start_keeper` does.

It detaches itself from the server, starts the agent and enters the main loop."""

import os
import sys
from typing import Any

from bough.agents.keeper import files, kernel_doors, startup
from bough.agents.keeper.agent_process import AgentProcess
from bough.agents.keeper.frames import VERSION
from bough.agents.keeper.journal import Journal
from bough.agents.keeper.main_loop import KeeperLoop
from bough.agents.keeper.network import NetworkProxy


def main(folder: str) -> None:
    """Detaches, starts the agent, reports that on stdout, and serves until the agent has ended."""
    startup.detach()
    here = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    start = files.read_start(here)
    startup.become_subreaper()
    listener = startup.listen(here)
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
        startup.report({"error": error.strerror})
        return
    command = start["command"]
    del start
    loop = KeeperLoop(here, listener, journal, agent, key_hash, proxy)
    if startup.announce(here, VERSION, agent.process, command):
        loop.run()


if __name__ == "__main__":
    main(sys.argv[1])
