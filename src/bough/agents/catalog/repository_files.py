"""What a repository brings along for agents: files that would grant rights or run code, and instructions. What follows
from finding some is `start`'s and the core's."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path

# Of what a repository brings for one agent so much is read; what is beyond is told apart by its size and time.
MOST_BYTES = 256 * 1024 * 1024
PIECE = 1024 * 1024
LONGEST_INSTRUCTIONS = 64 * 1024


def find_files(cwd: str, patterns: Sequence[str], *, beyond: bool = False) -> list[str]:
    """Files that match one of the globs, in the folder or in one above it: up to the repository's own if there is one
    and the agent stops there, else as far up as what is not the user's own."""
    found: dict[str, None] = {}
    repository = [] if beyond else _repository(Path(cwd))
    for folder in (repository or _above(Path(cwd))) if patterns else ():
        for pattern in patterns:
            for path in sorted(folder.glob(pattern)):
                for file in _files(path):
                    found[str(file)] = None
    return list(found)


def digest(paths: Iterable[str]) -> str:
    """A fingerprint of files and what is in them."""
    total = hashlib.sha256()
    left = MOST_BYTES
    for path in paths:
        total.update(path.encode("utf-8", "surrogateescape") + b"\0")
        try:
            about = os.stat(path)
            # Anything but a plain file could be read for ever.
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
    """The instructions of a repository, the most general first, as one text. A link that leads out of the repository is
    not followed: what lies there was not written for agents to read."""
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
    """The folder and those above it up to the root of its repository; none if it is in none."""
    above = [cwd, *cwd.parents]
    for number, place in enumerate(above):
        if (place / ".git").exists():
            return above[: number + 1]
    return []


def _above(cwd: Path) -> Iterable[Path]:
    """The folder and those above it, but for the home folder and what is above that: settings there are the user's."""
    home = Path.home()
    for place in (cwd, *cwd.parents):
        if place in (home, *home.parents):
            return
        yield place


def _files(path: Path) -> Iterable[Path]:
    """All files below a folder; links are followed, since agents do, but no folder is walked twice."""
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
