"""Runs a `bough` of a later version, whose database has one more migration, to test upgrades during running turns."""

from __future__ import annotations

import functools
import shutil
import tempfile
from pathlib import Path

import bough

VERSION = "99.0.0"
bough.__version__ = VERSION

from bough.main import main  # noqa: E402 - whoever asks for the version must find the new one
from bough.storage import migrate  # noqa: E402

NEXT = len(migrate.read_folder(migrate.FOLDER)) + 1


def add_migration(folder: Path) -> None:
    """Copies all migrations and adds one."""
    shutil.copytree(migrate.FOLDER, folder, dirs_exist_ok=True)
    (folder / f"{NEXT:04}_tomorrow.up.sql").write_text("CREATE TABLE tomorrow (id TEXT PRIMARY KEY);\n")
    (folder / f"{NEXT:04}_tomorrow.down.sql").write_text("DROP TABLE tomorrow;\n")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        add_migration(Path(name))
        migrate.upgrade = functools.partial(migrate.upgrade, folder=Path(name))
        main()
