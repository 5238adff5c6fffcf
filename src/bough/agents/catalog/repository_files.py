"""Finds the files in a repository that would give agents rights or run code, and reads its instructions for agents."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path

from bough.agents.sandbox.git_layout import is_git_folder

# Bytes that are read of a repository's files for one agent. Beyond that, files are compared by size and time.
MOST_BYTES = 256 * 1024 * 1024
PIECE = 1024 * 1024
LONGEST_INSTRUCTIONS = 64 * 1024


def find_files(cwd: str, patterns: Sequence[str], *, beyond: bool = False) -> list[str]:
    """Returns the files that match one of the globs, in the folder or in one above it.

    The search stops at the root of the repository. With `beyond`, for agents that look further, or outside a
    repository, it stops below the user's home folder.
    """
    matches: dict[str, None] = {}
    repository = [] if beyond else _repository(Path(cwd))
    for folder in (repository or _above(Path(cwd))) if patterns else ():
        for pattern in patterns:
            for path in sorted(folder.glob(pattern)):
                for file in _files(path):
                    matches[str(file)] = None
    return list(matches)


def digest(paths: Iterable[str]) -> str:
    """Returns a fingerprint of files and their contents."""
    total = hashlib.sha256()
    left = MOST_BYTES
    for path in paths:
        total.update(path.encode("utf-8", "surrogateescape") + b"\0")
        try:
            about = os.stat(path)
            # Reading anything but a regular file might never end.
            if not stat.S_ISREG(about.st_mode) or about.st_size > left:
                total.update(f"{about.st_mode} {about.st_size} {about.st_mtime_ns}".encode())
                continue
            left -= about.st_size
            with open(path, "rb") as file:
                while piece := file.read(PIECE):
                    total.update(piece)
        except OSError:
            total.update(b"unreadable")
    return total.hexdigest()


def read_instructions(cwd: str, names: Sequence[str]) -> str:
    """Returns the instructions of a repository as one text, the most general first.

    Does not follow links out of the repository, since files there were not written for agents.
    """
    parts: list[str] = []
    left = LONGEST_INSTRUCTIONS
    folders = _repository(Path(cwd)) or [Path(cwd)]
    for folder in reversed(folders) if names else ():
        for name in names:
            text = _text_inside(folders[-1], folder / name)
            if text and left > 0:
                parts.append(f"Instructions from {folder / name}:\n\n{text[:left]}")
                left -= len(text)
                break
    return "\n\n".join(parts)


def _text_inside(root: Path, path: Path) -> str:
    real = Path(os.path.realpath(path))
    try:
        if not real.is_relative_to(os.path.realpath(root)) or not real.is_file():
            return ""
        with real.open("rb") as file:
            return file.read(LONGEST_INSTRUCTIONS).decode("utf-8", "replace").strip()
    except OSError:
        return ""


def _repository(cwd: Path) -> list[Path]:
    """Returns the folder and those above it up to the root of its repository; nothing outside a repository."""
    above = [cwd, *cwd.parents]
    for number, folder in enumerate(above):
        dot_git = folder / ".git"
        if dot_git.is_file() or is_git_folder(dot_git):
            return above[: number + 1]
    return []


def _above(cwd: Path) -> Iterable[Path]:
    """Yields the folder and those above it, up to but excluding the home folder, whose settings are the user's own."""
    home = Path.home()
    for folder in (cwd, *cwd.parents):
        if folder in (home, *home.parents):
            return
        yield folder


def _files(path: Path) -> Iterable[Path]:
    """Yields all files below a folder. Follows links, since agents do, but visits no folder twice."""
    if not path.is_dir():
        if path.exists() or path.is_symlink():
            yield path
        return
    seen: set[str] = set()
    for folder, folders, names in os.walk(path, followlinks=True):
        real = os.path.realpath(folder)
        if real in seen:
            folders.clear()
            continue
        seen.add(real)
        folders.sort()
        for name in sorted(names):
            yield Path(folder, name)
