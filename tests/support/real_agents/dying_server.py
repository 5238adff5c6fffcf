"""A `bough` that dies between a deed that an agent has called one of its tools for and the answer: `DIES=inside` before
it has noted that the deed is done, `DIES=after` when it has. Unlike with `crashing`, its keepers and agents live on."""

from __future__ import annotations

import os

from bough.main import main
from bough.storage.sqlite import SqliteBackend
from tests.support.crashing_server import crash_in

DIES = "DIES"
MODULE = "tests.support.real_agents.dying_server"
END = "end"
"""The query by which the outcome of a call is noted."""

if __name__ == "__main__":
    crash_in(SqliteBackend, os.environ[DIES], END)
    main()
