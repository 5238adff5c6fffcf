"""Owns the demo agent as a process: its command line, its start, and its end by end of input or by a signal.
It leaves everything in between to the server.
"""

import argparse
import asyncio
import os
import signal
import sys
from pathlib import Path

from bough.agents.demo.features import SWITCHES, Features
from bough.agents.demo.rpc import Connection
from bough.agents.demo.server import Agent
from bough.agents.demo.store import Home

DEFAULT_HOME = "~/.local/share/bough-demo"


def _features(text: str) -> Features:
    try:
        return Features(frozenset(name.strip() for name in text.split(",") if name.strip()))
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


async def serve(home: Path, features: Features) -> None:
    """Serves the client on stdin and stdout until it closes them, or until SIGTERM or SIGINT."""
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    connection = Connection(sys.stdin.fileno(), sys.stdout.fileno())
    agent = Agent(connection, Home(home), features)

    async def listen() -> None:
        async for message in connection.messages():
            agent.receive(message)
        stopped.set()

    listening = asyncio.create_task(listen())
    await stopped.wait()
    listening.cancel()
    await agent.stop()
    connection.output.flush()


def main(argv: list[str] | None = None) -> int:
    """Runs the agent on stdin and stdout; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="bough demo-agent",
        description="An ACP agent without a model, on stdin and stdout: it follows directives in the prompt.",
        epilog="What --without can switch off: " + "; ".join(f"{name} ({text})" for name, text in SWITCHES.items()),
    )
    parser.add_argument(
        "--without",
        type=_features,
        default=Features(),
        metavar="NAMES",
        help="capabilities to switch off, with commas between them",
    )
    parser.add_argument(
        "--home",
        type=Path,
        default=Path(os.environ.get("BOUGH_DEMO_HOME") or DEFAULT_HOME).expanduser(),
        metavar="DIR",
        help=f"where sessions are kept (BOUGH_DEMO_HOME, else {DEFAULT_HOME})",
    )
    options = parser.parse_args(argv)
    asyncio.run(serve(options.home, options.without))
    return 0


if __name__ == "__main__":
    sys.exit(main())
