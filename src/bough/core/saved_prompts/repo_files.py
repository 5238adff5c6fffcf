"""Reads the prompts that a repository offers: `.bough/prompts/NAME.md` in its folder or in a worktree. They are data
that anybody who can commit may have written; links are not followed."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Generator

import msgspec

from bough.core.saved_prompts.requests import LONGEST_TEXT, is_name
from bough.model.values.visible import visible

FOLDER = (".bough", "prompts")
SUFFIX = ".md"
MOST_FILES = 100
_OPEN = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW


class OfferedPrompt(msgspec.Struct, rename="camel"):
    """A prompt to insert. `path` is the file of a repository that offers it; null for one that the person saved."""

    name: str
    text: str
    path: str | None = None


def read_prompts(folder: str) -> list[OfferedPrompt]:
    """Returns the prompts in a folder by name. Skips files that are too large, no text, or oddly named."""
    prompts: list[OfferedPrompt] = []
    try:
        with (
            _opened(folder, os.O_DIRECTORY) as top,
            _opened(FOLDER[0], os.O_DIRECTORY, top) as middle,
            _opened(FOLDER[1], os.O_DIRECTORY, middle) as inner,
        ):
            for name in _names(inner):
                text = _text(name, inner)
                if text:
                    prompts.append(OfferedPrompt(name.removesuffix(SUFFIX), text, "/".join((*FOLDER, name))))
    except OSError:
        return prompts
    return prompts


def _names(descriptor: int) -> list[str]:
    with os.scandir(descriptor) as entries:
        names = [entry.name for entry in entries if entry.name.endswith(SUFFIX)]
    return sorted(name for name in names if is_name(name.removesuffix(SUFFIX)))[:MOST_FILES]


def _text(name: str, folder: int) -> str | None:
    """Returns the text of a file with its hidden characters made visible: a person reads it before it is sent."""
    try:
        with _opened(name, 0, folder) as descriptor:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return None
            content = os.read(descriptor, LONGEST_TEXT + 1)
    except OSError:
        return None
    if len(content) > LONGEST_TEXT:
        return None
    try:
        return visible(content.decode().replace("\r\n", "\n").strip())
    except UnicodeDecodeError:
        return None


@contextlib.contextmanager
def _opened(name: str, flags: int, above: int | None = None) -> Generator[int]:
    descriptor = os.open(name, _OPEN | flags, dir_fd=above)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
