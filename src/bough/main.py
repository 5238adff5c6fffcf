"""The entry point of `bough`. It passes the command line the function that builds a whole server."""

from __future__ import annotations

import sys
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bough.core.services import Services
    from bough.settings import Settings


def main() -> None:
    """Runs one command. The demo agent takes a shortcut because it must start quickly."""
    if sys.argv[1:2] == ["demo-agent"]:
        from bough.agents.demo.__main__ import main as demo_agent

        sys.exit(demo_agent(sys.argv[2:]))
    from bough.api.cli.main import run

    sys.exit(run(_running))


def _running(settings: Settings, address: str | None = None) -> AbstractAsyncContextManager[Services]:
    """Runs a whole server. It is imported only here, because most commands only call one."""
    from bough.app import running

    return running(settings, address)
