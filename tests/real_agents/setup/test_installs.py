"""Tests installing the real agents' packages."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

from bough.agents.catalog import load_catalog
from tests.real_agents.helpers.measurements_table import Record

# npm alone would try for minutes; on a loaded machine it takes seconds to start.
PATIENCE = 60.0


def test_an_install_without_network(agent: str, place: Path, record: Record) -> None:
    """L4: If npm's registry cannot be reached, installing an agent fails within seconds, in one sentence."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    registry = {"npm_config_registry": f"http://127.0.0.1:{port}", "npm_config_cache": str(place / "npm-cache")}
    env = os.environ | registry | {"BOUGH_DATA": str(place / "data")}
    began = time.monotonic()
    command = [sys.executable, "-m", "bough", "agents", "install", agent]
    failed = subprocess.run(command, env=env, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert failed.returncode == 1 and time.monotonic() - began < PATIENCE
    title = load_catalog(place / "data").get(agent).title
    assert f"{title} was not installed, because npm cannot reach its registry (ECONNREFUSED at " in failed.stderr
    assert not (place / "data/npm" / agent).exists()
    record("install without network", "fails in one sentence")
