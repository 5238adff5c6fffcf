"""Copies a SQLite database file, and removes copies that were left unfinished."""

from __future__ import annotations

import itertools
import re
from contextlib import suppress
from datetime import UTC, datetime
from glob import escape
from pathlib import Path

from bough.storage.sqlite_tx import connect

# The end of the name of an unfinished copy, and of SQLite's own files beside it.
_PARTIAL = re.compile(r"-\d{8}T\d{6}(-\d+)?\.part(-journal|-wal|-shm)?$")


def remove_partial_copies(path: Path) -> None:
    """Removes the copies that a killed process left incomplete. Only the holder of the server's lock makes
    copies."""
    for part in path.parent.glob(f"{escape(path.name)}.*.part*"):
        if _PARTIAL.search(part.name):
            with suppress(OSError):
                part.unlink()


def copy(path: Path, label: str) -> Path:
    """Copies the file beside itself with SQLite's own backup, and returns the copy."""
    stem = f"{path.name}.{label}-{datetime.now(UTC):%Y%m%dT%H%M%S}"
    target = path.with_name(f"{stem}.bak")
    for number in itertools.count(2):
        if not target.exists():
            break
        target = path.with_name(f"{stem}-{number}.bak")
    # Only a complete copy gets its final name.
    part = target.with_suffix(".part")
    source = connect(path, read_only=True)
    backup = connect(part)
    try:
        source.backup(backup)
    finally:
        backup.close()
        source.close()
    return part.rename(target)
