"""The entry point of `bough`. It hands the command line what only the top may know: how a whole server is built."""

from __future__ import annotations

import sys


def main() -> None:
    """Runs one command; the demo agent goes first, since it must start quickly."""
    if sys.argv[1:2] == ["demo-agent"]:
        from bough.agents.demo.__main__ import main as demo_agent

        sys.exit(demo_agent(sys.argv[2:]))
    from bough.api.cli.commands import run
    from bough.app import running

    sys.exit(run(running))
