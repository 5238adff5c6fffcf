"""Runs Bough's command line with a server that starts agents itself, without keepers: `python -m
bench.floors.without_keepers …`. It is the floor that keepers are measured against."""

from __future__ import annotations

import sys

from bough.api.cli.main import run
from bough.app import running
from tests.support.agents_without_keepers import Processes

if __name__ == "__main__":
    sys.exit(run(lambda settings, address: running(settings, address, Processes())))
