"""Checks again that a folder, and the git folder it belongs to, are inside the workspace root (W3). Both were checked
when they became known, but an agent may have replaced one by a link since."""

from __future__ import annotations

import os
from pathlib import Path

import structlog

from bough.errors import Denied
from bough.git.paths import read_start

log = structlog.get_logger("bough.security")

# A `.git` file holds one path.
_LONGEST_LINK = 8192


def check_workspace(root: Path, data: Path, folder: str) -> None:
    """Raises `Denied` and logs it if a folder leads anywhere else by now, or its git folder outside the root or into
    Bough's data folder. `folder` was resolved when it became known. One that is gone leads nowhere and is accepted."""
    inside, private = os.path.realpath(root), os.path.realpath(data)
    for path in (folder, *git_folders(folder, inside)):
        if "\0" in path:
            log.warning("path_escape", given=path, resolved=None, root=inside)
            raise Denied(
                "path_outside_root",
                f"The .git file of {folder} names a path with a NUL character. Nothing was done there; put the file "
                "back first.",
            )
        real = os.path.realpath(path)
        if _within(real, inside) and not _within(real, private):
            if path == folder:
                check_unswapped(folder, real)
            continue
        log.warning("path_escape", given=path, resolved=real, root=inside)
        if real == os.path.normpath(path) and not _within(real, private):
            # It did not move: the server was started with another root.
            raise Denied(
                "path_outside_root",
                f"The folder {path} is outside the workspace root {inside}. Start the server with another "
                "--workspace-root to allow it.",
            )
        where = f"Bough's data folder {private}" if _within(real, private) else f"outside the workspace root {inside}"
        raise Denied(
            "path_outside_root",
            f"The folder {path} now leads to {real}, {where}. Nothing was done there; put the folder back first.",
        )


def check_unswapped(folder: str, real: str) -> None:
    """Raises `Denied` and logs it if a folder that was resolved before is reached through a link now. The home folder
    is a usual workspace root, so that such a link could lead to its keys."""
    if real != os.path.normpath(folder):
        log.warning("path_swapped", given=folder, resolved=real)
        raise Denied(
            "path_outside_root",
            f"The folder {folder} now leads to {real}. Nothing was done there; put the folder back first. If you moved "
            "it yourself, work in its new place.",
        )


def git_folders(folder: str, root: str) -> list[str]:
    """Returns the git folder that a folder belongs to and the one it shares with other worktrees, without running
    git; empty for a plain folder."""
    here = Path(os.path.realpath(folder))
    for candidate in (here, *here.parents):
        entry = candidate / ".git"
        try:
            if entry.is_dir():
                return [str(entry)]
            if entry.is_file():
                own = os.path.join(candidate, _line(entry).removeprefix("gitdir:").strip())
                shared = Path(own) / "commondir"
                return [own, os.path.join(own, _line(shared))] if shared.is_file() else [own]
        except (OSError, ValueError):
            return [str(entry)]
        if str(candidate) == root:
            break
    return []


def _line(file: Path) -> str:
    content = read_start(str(file), _LONGEST_LINK)
    if content is None:
        raise OSError(f"{file} cannot be read as a file")
    return os.fsdecode(content).strip()


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
