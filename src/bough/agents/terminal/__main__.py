"""Runs the terminal agent from the command line."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from pathlib import Path

from bough.agents.acp_server.program import serve
from bough.agents.terminal.server import TerminalAgent
from bough.agents.terminal.state import open_store

DEFAULT_HOME = "~/.local/share/bough-terminal"


def main(argv: list[str] | None = None) -> int:
    """Runs the agent on stdin and stdout. Returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m bough.agents.terminal",
        description="An ACP agent on stdin and stdout whose prompts are shell commands.",
    )
    parser.add_argument(
        "--home",
        type=Path,
        default=Path(os.environ.get("BOUGH_TERMINAL_HOME") or DEFAULT_HOME).expanduser(),
        metavar="DIR",
        help=f"folder of the session files (default: BOUGH_TERMINAL_HOME, else {DEFAULT_HOME})",
    )
    options = parser.parse_args(argv)
    asyncio.run(serve(lambda connection: TerminalAgent(connection, open_store(options.home))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
