"""Answers small questions about paths from the file system alone."""

from __future__ import annotations

import contextlib
import os
import stat
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


def read_start(path: str, limit: int) -> bytes | None:
    """Returns the first `limit` bytes of a regular file, or None for anything else. Never waits, not even if somebody
    puts a pipe in the file's place meanwhile."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except (OSError, ValueError):
        return None
    try:
        return os.read(file, limit) if stat.S_ISREG(os.fstat(file).st_mode) else None
    except OSError:
        return None
    finally:
        os.close(file)


def open_folder(top: str | os.PathLike[str], path: str, *, create: int | None = None) -> int:
    """Opens a folder below another one, to reach what is in it. Follows no link below `top`, whatever an agent that
    works there does meanwhile: raises `NotADirectoryError` for one. With the mode `create`, creates missing folders."""
    flags = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
    folder = os.open(top, flags)
    for name in path.split("/") if path else ():
        try:
            if create is not None:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(name, create, dir_fd=folder)
            inner = os.open(name, flags | os.O_NOFOLLOW, dir_fd=folder)
        finally:
            os.close(folder)
        folder = inner
    return folder


def relative(path: str, top: str) -> str:
    return os.path.relpath(path, top)


def quoted(text: str) -> str:
    """Quotes a path or another value for git's lists of paths in variables and for its configuration."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
