"""Limits what git can write, through Landlock, a part of the kernel. A repository's files can be links to anywhere, and
git follows them; under Landlock it can write nothing outside the folders of its repository."""

from __future__ import annotations

import contextlib
import ctypes
import os
import stat
import struct
import sys
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
"""System calls, with the same numbers on all machines."""
ASK_VERSION = 1
RULE_BENEATH = 1
PR_SET_NO_NEW_PRIVS = 38
# The first version that lets a file move to another folder.
OLDEST = 2
FIRST_WITH_TRUNCATE = 3

WRITE_FILE = 1 << 1
REMOVE_DIR = 1 << 4
TRUNCATE = 1 << 14
# Removing and creating files, folders, links and pipes, and moving them to other folders.
_CHANGE_FOLDERS = sum(1 << bit for bit in range(4, 14))
EVERYTHING = WRITE_FILE | _CHANGE_FOLDERS | TRUNCATE
_OF_FILES = WRITE_FILE | TRUNCATE


@lru_cache(1)
def version() -> int:
    """Returns the kernel's version of Landlock; 0 if there is none that we can use."""
    if not sys.platform.startswith("linux"):
        return 0
    known = int(_libc().syscall(CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint(ASK_VERSION)))
    return known if known >= OLDEST else 0


def enter(rights: Mapping[str, int]) -> None:
    """Limits the current thread and everything it starts, for good, to these rights below these real paths. Skips
    paths that are missing or have become links. Raises `OSError` if the kernel refuses."""
    handled = EVERYTHING if version() >= FIRST_WITH_TRUNCATE else EVERYTHING & ~TRUNCATE
    libc = _libc()
    rules = _checked(libc.syscall(CREATE_RULESET, ctypes.byref(_bytes("=Q", handled)), ctypes.c_size_t(8), 0))
    try:
        for path, right in rights.items():
            # A path without a rule is only closed.
            with contextlib.suppress(OSError):
                _add(libc, rules, path, right & handled)
        _checked(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        _checked(libc.syscall(RESTRICT_SELF, rules, 0))
    finally:
        os.close(rules)


def _add(libc: Any, rules: int, path: str, right: int) -> None:
    place = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        kind = os.fstat(place).st_mode
        # Somebody may have put a link in its place, or in place of a folder above it.
        if not stat.S_ISLNK(kind) and os.readlink(f"/proc/self/fd/{place}") == path:
            allowed = right if stat.S_ISDIR(kind) else right & _OF_FILES
            rule = _bytes("=Qi", allowed, place)
            _checked(libc.syscall(ADD_RULE, rules, RULE_BENEATH, ctypes.byref(rule), 0))
    finally:
        os.close(place)


def _bytes(form: str, *values: int) -> ctypes.Array[ctypes.c_char]:
    return ctypes.create_string_buffer(struct.pack(form, *values))


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"The kernel does not limit this thread: {os.strerror(number)}")
    return result


@lru_cache(1)
def _libc() -> Any:
    return ctypes.CDLL(None, use_errno=True)
