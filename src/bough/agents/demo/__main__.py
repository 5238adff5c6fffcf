"""Runs the demo agent from the command line."""

import argparse
import asyncio
import os
import sys
from pathlib import Path

from bough.agents.acp_server.program import serve
from bough.agents.demo.capabilities import SWITCHES, Features
from bough.agents.demo.chat import chat
from bough.agents.demo.server import DemoAgent
from bough.agents.demo.state import open_store

DEFAULT_HOME = "~/.local/share/bough-demo"


def _features(text: str) -> Features:
    try:
        return Features(frozenset(name.strip() for name in text.split(",") if name.strip()))
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def main(argv: list[str] | None = None) -> int:
    """Runs the agent on stdin and stdout. Returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="bough demo-agent",
        description="An ACP agent without a model, on stdin and stdout: it follows directives in the prompt.",
        epilog="--without can switch off: " + "; ".join(f"{name} ({text})" for name, text in SWITCHES.items()),
    )
    parser.add_argument(
        "--without",
        type=_features,
        default=Features(),
        metavar="NAMES",
        help="capabilities to switch off, separated by commas",
    )
    parser.add_argument(
        "--home",
        type=Path,
        default=Path(os.environ.get("BOUGH_DEMO_HOME") or DEFAULT_HOME).expanduser(),
        metavar="DIR",
        help=f"folder of the session files (default: BOUGH_DEMO_HOME, else {DEFAULT_HOME})",
    )
    parser.add_argument("--chat", action="store_true", help="have a conversation in the terminal, instead of ACP")
    parser.add_argument(
        "--resume", metavar="ID", help="continue this conversation in the terminal; each line of input is a prompt"
    )
    parser.add_argument(
        "--prompt",
        action="append",
        default=[],
        metavar="TEXT",
        help="with --chat or --resume: send this prompt, then exit",
    )
    options = parser.parse_args(argv)
    if options.chat or options.resume is not None:
        return asyncio.run(chat(options.home, options.resume, os.getcwd(), options.prompt))
    asyncio.run(serve(lambda connection: DemoAgent(connection, open_store(options.home), options.without)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
