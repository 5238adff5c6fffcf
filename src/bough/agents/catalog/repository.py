"""What a repository brings along for agents: files that would grant rights or run code, and instructions. What follows
from finding some is `start`'s and the core's."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

# A repository with more than this for one agent is not looked through to the end: what was seen stands for it.
MOST_FILES = 200
LONGEST_FILE = 4 * 1024 * 1024
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
                    if len(found) >= MOST_FILES:
                        return list(found)
    return list(found)


def digest(paths: Iterable[str]) -> str:
    """A fingerprint of files and what is in them."""
    total = hashlib.sha256()
    for path in paths:
        total.update(path.encode() + b"\0")
        try:
            with open(path, "rb") as file:
                total.update(hashlib.sha256(file.read(LONGEST_FILE)).digest())
        except OSError:
            total.update(b"unreadable")
    return total.hexdigest()


def read_instructions(cwd: str, names: Sequence[str]) -> str:
    """The instructions of a repository, the most general first, as one text."""
    parts: list[str] = []
    left = LONGEST_INSTRUCTIONS
    for folder in reversed(_repository(Path(cwd)) or [Path(cwd)]) if names else ():
        for name in names:
            try:
                text = (folder / name).read_text("utf-8", errors="replace").strip()
            except OSError:
                continue
            if text and left > 0:
                parts.append(f"Instructions from {folder / name}:\n\n{text[:left]}")
                left -= len(text)
                break
    return "\n\n".join(parts)


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
