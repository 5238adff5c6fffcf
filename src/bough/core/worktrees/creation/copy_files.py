"""Copies ignored files of a repository's folder into a new worktree. Agents may work in both, so every folder is opened
without following links: one could lead to what is hidden from them, or to where they must not write."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Generator, Sequence

from bough.errors import Invalid
from bough.git.paths import open_folder

LARGEST_COPY = 256 * 1024 * 1024
MOST_COPIES = 20_000
BLOCK = 1024 * 1024
_GONE = (FileNotFoundError, NotADirectoryError)
"""Raised by opening a folder that is missing, or a link by now."""


def copy_files(source: str, target: str, names: Sequence[str]) -> None:
    """Copies files with their modes and times, links as links. Existing files stay, and so does whatever is in the way.
    Raises `Invalid` if there is too much to copy."""
    size = sum(_size(source, name) for name in names)
    if size > LARGEST_COPY or len(names) > MOST_COPIES:
        raise Invalid(
            "copy_too_large",
            f"{len(names)} ignored files with {size} bytes match; the limit is {MOST_COPIES} with {LARGEST_COPY} bytes "
            "are copied; none was. Choose narrower globs.",
        )
    left = LARGEST_COPY
    for name in names:
        left -= _copy(source, target, name, left)


def _size(source: str, name: str) -> int:
    try:
        with _opened(source, name, None) as (folder, base):
            return os.lstat(base, dir_fd=folder).st_size
    except _GONE:
        return 0


def _copy(source: str, target: str, name: str, most: int) -> int:
    """Copies one file and returns its size. Raises `Invalid` if it has grown beyond `most` bytes meanwhile."""
    try:
        with _opened(source, name, None) as (old, base), _opened(target, name, 0o777) as (new, _):
            about = os.lstat(base, dir_fd=old)
            if stat.S_ISLNK(about.st_mode):
                os.symlink(os.readlink(base, dir_fd=old), base, dir_fd=new)
            elif stat.S_ISREG(about.st_mode):
                return _copy_content(old, new, base, most)
    except (*_GONE, FileExistsError):
        pass
    return 0


def _copy_content(old: int, new: int, base: str, most: int) -> int:
    reading = os.open(base, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=old)
    with open(reading, "rb", buffering=0) as file:
        about = os.fstat(reading)
        if not stat.S_ISREG(about.st_mode):
            return 0
        writing = os.open(base, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=new)
        with open(writing, "wb", buffering=0) as copy:
            copied = 0
            while block := file.read(BLOCK):
                copied += len(block)
                if copied > most:
                    raise Invalid("copy_too_large", "The ignored files grew while they were copied. Try again.")
                copy.write(block)
            os.fchmod(writing, stat.S_IMODE(about.st_mode))
            os.utime(writing, ns=(about.st_atime_ns, about.st_mtime_ns))
    return copied


@contextlib.contextmanager
def _opened(top: str, name: str, create: int | None) -> Generator[tuple[int, str]]:
    """Opens the folder of a file, and returns it with the file's own name."""
    above, _, base = name.rpartition("/")
    folder = open_folder(top, above, create=create)
    try:
        yield folder, base
    finally:
        os.close(folder)
