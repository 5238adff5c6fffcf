"""Runs the keeper of a terminal: `python -I -m bough.agents.pty_keeper FOLDER`, as `pty_client` does."""

import os
import sys

from bough.agents.keeper import files, startup
from bough.agents.pty_keeper.main_loop import TerminalLoop
from bough.agents.pty_keeper.protocol import VERSION
from bough.agents.pty_keeper.shell import Shell


def main(folder: str) -> None:
    """Detaches, starts the shell, reports that on stdout, and serves viewers until the shell has ended."""
    startup.detach()
    here = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    start = files.read_start(here)
    startup.become_subreaper()
    listener = startup.listen(here)
    start["env"][files.MARK] = start["id"]
    try:
        shell = Shell(start)
    except OSError as error:
        startup.report({"error": error.strerror})
        return
    keeps_output = start.get("keeps_output", False)
    loop = TerminalLoop(here, listener, shell, start["key_hash"], start.get("idle_limit"), keeps_output)
    command = start["command"]
    del start
    if startup.announce(here, VERSION, shell.process, command):
        loop.run()


if __name__ == "__main__":
    main(sys.argv[1])
