"""Finds out whether a repository borrows objects from too many other folders: git opens each of them in every call."""

from __future__ import annotations

import os

from bough.git.paths import read_start

MOST_FOLDERS = 5000
"""Nobody borrows from so many. Git opens them within a second; with 100,000, each of its calls takes half a minute."""
LARGEST_FILE = 1024 * 1024


def borrows_too_much(common: str) -> bool:
    """Returns whether a repository names too many folders of objects, itself or through those that it names."""
    start = os.path.join(common, "objects")
    known, new = {start}, [start]
    while new:
        folder = new.pop()
        content = read_start(os.path.join(folder, "info", "alternates"), LARGEST_FILE + 1)
        if content is None:
            continue
        if len(content) > LARGEST_FILE:
            return True
        for line in content.split(b"\n"):
            path = os.path.normpath(os.path.join(folder, os.fsdecode(line)))
            if line and not line.startswith(b"#") and path not in known:
                known.add(path)
                new.append(path)
            if len(known) > MOST_FOLDERS:
                return True
    return False
