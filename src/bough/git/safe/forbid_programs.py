"""Forbids git to start programs. A thread that enters the guard can still start git, but git cannot fork, so that no
configuration, however it got there and whenever it changes, makes it run a hook, filter or transport."""

from __future__ import annotations

import ctypes
import os
import platform
import struct
import subprocess
import sys
import threading
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from bough.search_path import safe_lists

PR_SET_NO_NEW_PRIVS = 38
PR_SET_SECCOMP = 22
SECCOMP_MODE_FILTER = 2
ALLOW = 0x7FFF0000
FAIL = 0x00050000
EPERM, ENOSYS = 1, 38
CLONE_VM = 0x100
CLONE3 = 435
# Where the kernel puts the number of the system call, the architecture and the low half of the first argument.
NUMBER, ARCHITECTURE, FIRST_ARGUMENT = 0, 4, 16
# Instructions of the classic packet filter: load a word, jump if equal, if at least or if a bit is set, return.
LOAD, EQUAL, AT_LEAST, BIT_SET, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
# On x86-64, numbers from here on belong to a second set of system calls.
SECOND_SET = 0x40000000
# For asking git its version.
WITHIN = 10


class ExecCallNumbers:
    """One architecture's name for the kernel and its numbers for starting processes."""

    def __init__(self, architecture: int, clone: int, fork: int) -> None:
        self.architecture = architecture
        self.clone = clone
        self.fork = fork


# 64-bit ARM has no system call `fork`; -1 never matches.
MACHINES = {
    "x86_64": ExecCallNumbers(0xC000003E, 56, 57),
    "aarch64": ExecCallNumbers(0xC00000B7, 220, 0xFFFFFFFF),
}


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def program(machine: ExecCallNumbers) -> bytes:
    """Returns the filter. Git forks with copied memory, which fails here. Python starts git with shared memory (vfork),
    and git's own threads share memory too, so that both work."""
    steps = [
        (LOAD, 0, 0, ARCHITECTURE),
        (EQUAL, 0, 8, machine.architecture),
        (LOAD, 0, 0, NUMBER),
        # The C library then falls back to `clone`, whose flags a filter can read.
        (EQUAL, 7, 0, CLONE3),
        (EQUAL, 2, 0, machine.clone),
        (EQUAL, 4, 0, machine.fork),
        (AT_LEAST, 3, 2, SECOND_SET),
        (LOAD, 0, 0, FIRST_ARGUMENT),
        (BIT_SET, 0, 1, CLONE_VM),
        (RETURN, 0, 0, ALLOW),
        (RETURN, 0, 0, FAIL | EPERM),
        (RETURN, 0, 0, FAIL | ENOSYS),
    ]
    return b"".join(struct.pack("=HBBI", *step) for step in steps)


def enter() -> None:
    """Guards the current thread and everything it starts, for good. Raises `OSError` where the kernel does not."""
    libc: Any = ctypes.CDLL(None, use_errno=True)
    code = program(MACHINES[platform.machine()])
    filter_ = _Program(len(code) // 8, code)
    for arguments in (
        (PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
        (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(filter_), 0, 0),
    ):
        if libc.prctl(*arguments) != 0:
            raise OSError(ctypes.get_errno(), "The kernel does not restrict this thread.")


@lru_cache(1)
def reason_missing() -> str | None:
    """Returns why the guard cannot be used on this machine, or None. Tries it once, in a thread of its own."""
    if not sys.platform.startswith("linux") or platform.machine() not in MACHINES:
        return f"there is none for {sys.platform} on {platform.machine()}"
    reasons: list[str | None] = []
    trial = threading.Thread(target=lambda: reasons.append(_try()), name="bough-git-guard")
    trial.start()
    trial.join()
    return reasons[0] if reasons else "it could not be tried"


def _try() -> str | None:
    try:
        enter()
        if _runs("--version") != 0:
            return "git does not run under it"
        if _runs("-c", "alias.bough-guard=!exit 0", "bough-guard") == 0:
            return "git started a program in spite of it"
    except (OSError, subprocess.SubprocessError) as error:
        return str(error)
    return None


def _runs(*arguments: str, env: Mapping[str, str] | None = None) -> int:
    quiet = subprocess.DEVNULL
    command = ["git", *arguments]
    return subprocess.run(
        command,
        cwd="/",
        env=safe_lists(os.environ if env is None else env),
        stdin=quiet,
        stdout=quiet,
        stderr=quiet,
        timeout=WITHIN,
        check=False,
    ).returncode
