"""Limits what git can write, through Landlock, a part of the kernel. A repository's files can be links to anywhere, and
git follows them; under Landlock it can write nothing outside the folders of its repository."""

from __future__ import annotations

import contextlib
import ctypes
import os
import stat
import struct
import sys
import threading
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import structlog

log = structlog.get_logger("bough.git")

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
"""System calls, with the same numbers on all machines."""
ASK_VERSION = 1
RULE_BENEATH = 1
PR_SET_NO_NEW_PRIVS = 38
# The first version that lets a file move to another folder.
OLDEST = 2
FIRST_WITH_TRUNCATE = 3

WRITE_FILE = 1 << 1
READ_DIR = 1 << 3
REMOVE_DIR = 1 << 4
TRUNCATE = 1 << 14
# Removing and creating files, folders, links and pipes, and moving them to other folders.
_CHANGE_FOLDERS = sum(1 << bit for bit in range(4, 14))
EVERYTHING = WRITE_FILE | _CHANGE_FOLDERS | TRUNCATE
_OF_FILES = WRITE_FILE | TRUNCATE
TURNS = 20
"""How often a file system must refuse an allowed path before we do without limits there."""

# By file system.
_works: dict[int, bool] = {}


@lru_cache(1)
def version() -> int:
    """Returns the kernel's version of Landlock; 0 if there is none that we can use."""
    # Without /proc, nothing tells whether a path has become a link.
    if not sys.platform.startswith("linux") or not os.path.isdir("/proc/self/fd"):
        return 0
    known = int(_libc().syscall(CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint(ASK_VERSION)))
    return known if known >= OLDEST else 0


def works_at(folder: str) -> bool:
    """Returns whether the kernel finds its rules again on the file system of a folder. Some, such as 9p without a
    cache, give a file another identity at each look: nothing there could be written anymore. Tried once for each file
    system."""
    try:
        device = os.stat(folder).st_dev
    except OSError:
        return True
    if device not in _works:
        _works[device] = _tried(folder)
        if not _works[device]:
            log.warning("git_limits_missing", folder=folder, reason="The file system does not support Landlock.")
    return _works[device]


def _tried(folder: str) -> bool:
    """Opens a folder under a rule that allows it, and without one, in turns. Only if every turn fails with the rule and
    none without, the file system is the reason: an agent could change the folder's permissions meanwhile."""
    return not all(not _opens_with_rule(folder) and _opens(folder) for _ in range(TURNS))


def _opens(folder: str) -> bool:
    try:
        os.close(os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
    except OSError:
        return False
    return True


def _opens_with_rule(folder: str) -> bool:
    result: list[bool] = []

    def work() -> None:
        try:
            _restrict(READ_DIR, {folder: READ_DIR}, {})
        except OSError:
            result.append(True)
            return
        result.append(_opens(folder))

    # A limited thread stays so.
    thread = threading.Thread(target=work, name="bough-git-limits")
    thread.start()
    thread.join()
    return result == [True]


def enter(rights: Mapping[str, int], opened: Mapping[str, int] = MappingProxyType({})) -> None:
    """Limits the current thread and everything it starts, for good, to these rights below these real paths, and to all
    rights below folders that are open. Skips paths that are missing or have become links. Raises `OSError` if the
    kernel refuses."""
    handled = EVERYTHING if version() >= FIRST_WITH_TRUNCATE else EVERYTHING & ~TRUNCATE
    _restrict(handled, rights, opened)


def _restrict(handled: int, rights: Mapping[str, int], opened: Mapping[str, int]) -> None:
    libc = _libc()
    rules = _checked(libc.syscall(CREATE_RULESET, ctypes.byref(_bytes("=Q", handled)), ctypes.c_size_t(8), 0))
    try:
        # A path without a rule is only closed.
        for path, right in rights.items():
            with contextlib.suppress(OSError):
                _add(libc, rules, path, right & handled)
        for descriptor in opened.values():
            with contextlib.suppress(OSError):
                _add_rule(libc, rules, descriptor, handled)
        _checked(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        _checked(libc.syscall(RESTRICT_SELF, rules, 0))
    finally:
        os.close(rules)


def _add(libc: Any, rules: int, path: str, right: int) -> None:
    descriptor = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        # Somebody may have put a link in its place, or in place of a folder above it.
        if os.readlink(f"/proc/self/fd/{descriptor}") == path:
            _add_rule(libc, rules, descriptor, right)
    finally:
        os.close(descriptor)


def _add_rule(libc: Any, rules: int, descriptor: int, right: int) -> None:
    kind = os.fstat(descriptor).st_mode
    if stat.S_ISLNK(kind):
        return
    allowed = right if stat.S_ISDIR(kind) else right & _OF_FILES
    rule = _bytes("=Qi", allowed, descriptor)
    _checked(libc.syscall(ADD_RULE, rules, RULE_BENEATH, ctypes.byref(rule), 0))


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
