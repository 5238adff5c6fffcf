"""Builds the filter that leaves a strict box the usual kinds of sockets. Others, such as those between a virtual
machine and its host, do not belong to the network of a box, so that its own network does not keep them out."""

from __future__ import annotations

import errno
import platform
import struct
from typing import NamedTuple

ALLOW = 0x7FFF0000
FAIL = 0x00050000
# Unix, IPv4, IPv6, and the kernel's own messages about interfaces.
FAMILIES = (1, 2, 10, 16)
IO_URING_SETUP = 425
"""It creates sockets without the call that is filtered. Programs do without it where it is missing."""
# Where the kernel puts the number of the system call, the architecture and the low half of the first argument.
NUMBER, ARCHITECTURE, FIRST_ARGUMENT = 0, 4, 16
# Instructions of the classic packet filter: load a word, jump if equal or if at least, return.
LOAD, EQUAL, AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06
# On x86-64, numbers from here on belong to a second set of system calls.
SECOND_SET = 0x40000000


class SocketCallNumbers(NamedTuple):
    """One architecture's name for the kernel, its calls that create sockets, and those of its 32-bit programs."""

    architecture: int
    creating: tuple[int, ...]
    creating_32: tuple[int, ...]


MACHINES = {
    "x86_64": SocketCallNumbers(0xC000003E, (41, 53), (102, 359, 360)),
    "aarch64": SocketCallNumbers(0xC00000B7, (198, 199), (102, 281, 288)),
}


def socket_filter(machine: str | None = None) -> bytes | None:
    """Returns the filter as `bwrap --seccomp` takes it; None for an unknown architecture. 32-bit programs get no
    sockets, because their arguments cannot be read."""
    about = MACHINES.get(machine or platform.machine())
    if about is None:
        return None
    # The blocks are built from the end, since jumps lead forward and are counted from the next instruction.
    steps = [(RETURN, 0, 0, ALLOW), (RETURN, 0, 0, FAIL | errno.ENOSYS)]
    for number in (IO_URING_SETUP, *about.creating_32):
        steps.insert(0, (EQUAL, len(steps) - 1, 0, number))
    steps.insert(0, (LOAD, 0, 0, NUMBER))
    other = len(steps)
    steps.insert(0, (RETURN, 0, 0, FAIL | errno.EAFNOSUPPORT))
    for family in FAMILIES:
        steps.insert(0, (EQUAL, len(steps) - 2, 0, family))
    steps.insert(0, (LOAD, 0, 0, FIRST_ARGUMENT))
    checked = len(steps)
    # From here on, a call that creates no socket is allowed.
    steps.insert(0, (EQUAL, 0, len(steps) - 2, about.creating[0]))
    for number in about.creating[1:]:
        steps.insert(0, (EQUAL, len(steps) - checked, 0, number))
    steps.insert(0, (EQUAL, len(steps) - 1, 0, IO_URING_SETUP))
    steps.insert(0, (AT_LEAST, len(steps) - 1, 0, SECOND_SET))
    steps.insert(0, (LOAD, 0, 0, NUMBER))
    steps.insert(0, (EQUAL, 0, len(steps) - other, about.architecture))
    steps.insert(0, (LOAD, 0, 0, ARCHITECTURE))
    return b"".join(struct.pack("=HBBI", *step) for step in steps)
