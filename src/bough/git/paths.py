"""Answers small questions about paths from the file system alone."""

from __future__ import annotations

import os
from pathlib import Path


def real(path: str) -> str:
    """Returns the path with all links resolved."""
    return os.path.realpath(path)


def is_folder(path: str) -> bool:
    return os.path.isdir(path)


def is_there(*parts: str) -> bool:
    """Tells whether anything exists there, including a broken link."""
    return os.path.lexists(os.path.join(*parts))


def below(path: str, folder: str) -> bool:
    """Tells whether a path is inside a folder after links are resolved."""
    return Path(real(folder)) in Path(real(path)).parents


def relative(path: str, top: str) -> str:
    return os.path.relpath(path, top)


def quoted_path(path: str) -> str:
    """Quotes a path for git's lists of paths in variables."""
    escaped = path.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
