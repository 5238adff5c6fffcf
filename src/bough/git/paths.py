"""Answers small questions about paths from the file system alone."""

from __future__ import annotations

import os
from pathlib import Path


def real(path: str) -> str:
    """The path with every link followed."""
    return os.path.realpath(path)


def is_folder(path: str) -> bool:
    return os.path.isdir(path)


def is_there(*parts: str) -> bool:
    """Whether anything is there, a link to nowhere included."""
    return os.path.lexists(os.path.join(*parts))


def below(path: str, folder: str) -> bool:
    """Whether a path lies inside of a folder, links followed."""
    return Path(real(folder)) in Path(real(path)).parents


def relative(path: str, top: str) -> str:
    return os.path.relpath(path, top)
