"""Creates the data folder and refuses one that other users could read or change: it holds the server's token, the
database, and the programs that agents are started with."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from bough.errors import Invalid

OTHERS = stat.S_IRWXG | stat.S_IRWXO
OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
# What a server has written into a folder; without these, it holds no secret yet.
SECRETS = ("token", "server.json", "bough.db", "keepers")
# Files and folders that must be as private as the folder itself, for example after they were restored from a copy.
PRIVATE = ("token", "server.json", "bough.db", "keepers", "keepers/server.key")


def prepare(data: Path) -> None:
    """Creates the folder if it is missing; raises `Invalid` with the command that corrects an unsafe one."""
    if data.is_symlink():
        raise _unsafe(f"The data folder {data} is a symbolic link. Give the folder itself: --data {data.resolve()}")
    data.mkdir(parents=True, exist_ok=True, mode=0o700)
    _check_owner(data)
    if _mode(data) & OTHERS:
        if _mode(data) & OTHERS_WRITE and any(data.iterdir()):
            raise _unsafe(
                f"Other users can change the data folder {data}. Check its contents, then run: chmod 700 {data}"
            )
        if any((data / name).exists() for name in SECRETS):
            raise _unsafe(f"Other users can read the data folder {data}. Run: chmod 700 {data}")
        data.chmod(0o700)
    for name in PRIVATE:
        _check_private(data / name)


def _check_private(path: Path) -> None:
    if path.is_symlink():
        raise _unsafe(f"{path} is a symbolic link. Replace it with what it leads to, or remove it: rm {path}")
    if not path.exists():
        return
    _check_owner(path)
    if _mode(path) & OTHERS:
        right = "700" if path.is_dir() else "600"
        raise _unsafe(
            f"Other users can read or change {path}. Run: chmod {right} {path}"
            + (" — and then bough token rotate, because they may know the token." if path.name == "token" else "")
        )


def _check_owner(path: Path) -> None:
    # Root may run a server on a folder of another user, such as a mounted volume.
    if os.geteuid() not in (0, path.stat().st_uid):
        raise _unsafe(f"{path} belongs to another user. Run the server as that user, or choose a folder with --data.")


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def _unsafe(message: str) -> Invalid:
    return Invalid("unsafe_data_folder", message)
