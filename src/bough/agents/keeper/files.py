"""Reads and writes the small files in a keeper's folder."""

import json
import os
import time
from typing import Any

KEEPER, START, EXIT, SOCKET = "keeper.json", "start.json", "exit.json", "socket"
NETWORK_LOG = "network.log"
MARK = "BOUGH_KEEPER"
"""The variable in the agent's environment by which its processes are found if the keeper is dead."""
START_LIMIT = 10.0
"""Seconds after which a requested start is no longer carried out, because no server waits for it anymore."""


def write_json(folder: int, name: str, content: dict[str, Any]) -> None:
    """Writes a file atomically, readable only by its owner."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(name + ".new", flags, 0o600, dir_fd=folder), "wb") as file:
        file.write(json.dumps(content).encode())
    os.rename(name + ".new", name, src_dir_fd=folder, dst_dir_fd=folder)


def read_start(folder: int) -> dict[str, Any]:
    """Reads and deletes the file with the start, which holds secrets. Raises TimeoutError if it is too old."""
    with open(os.open(START, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder), "rb") as file:
        age = time.time() - os.fstat(file.fileno()).st_mtime
        start = json.load(file)
    os.unlink(START, dir_fd=folder)
    if age > START_LIMIT:
        raise TimeoutError(f"this start was requested {age:.0f} s ago")
    return start
