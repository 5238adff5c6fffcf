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


def find_files(cwd: str, patterns: Sequence[str]) -> list[str]:
    """Files that match one of the globs, in the folder or in one above it up to the repository's own."""
    found: dict[str, None] = {}
    for folder in _folders(Path(cwd)) if patterns else ():
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
    for folder in reversed(list(_folders(Path(cwd)))) if names else ():
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


def _folders(cwd: Path) -> Iterable[Path]:
    """The folder and those above it up to the root of its repository; only the folder if it is in none."""
    above = [cwd, *cwd.parents]
    root = next((place for place in above if (place / ".git").exists()), cwd)
    for place in above:
        yield place
        if place == root:
            return


def _files(path: Path) -> Iterable[Path]:
    if path.is_dir() and not path.is_symlink():
        for folder, folders, names in os.walk(path):
            folders.sort()
            for name in sorted(names):
                yield Path(folder, name)
    elif path.exists() or path.is_symlink():
        yield path
