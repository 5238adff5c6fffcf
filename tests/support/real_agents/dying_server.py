"""Runs a `bough` that dies between carrying out an agent's tool call and answering it: with `DIES=inside` before it
records that the call is done, with `DIES=after` right after. Unlike with `crashing_server`, its keepers and agents live
on."""

from __future__ import annotations

import os

from bough.main import main
from bough.storage.sqlite import SqliteBackend
from tests.support.faults.crashing_server import crash_in

DIES = "DIES"
MODULE = "tests.support.real_agents.dying_server"
END = "end"
"""The query that records the outcome of a call."""

if __name__ == "__main__":
    crash_in(SqliteBackend, os.environ[DIES], END)
    main()
