"""Closes two ways out of a box that no mount and no namespace of its own closes: sockets with an abstract name, which
belong to the network that the box shares (those of desktops, where programs type and click), and the keys that the
kernel keeps for a person's login.

What a process gives up here, all that it starts later lack as well. So the keeper gives it up itself, before it starts
the box and after it has started the proxy."""

import contextlib
import ctypes
import os
import platform
import stat
import struct

CREATE_RULESET, RESTRICT_SELF = 444, 446
"""System calls of Landlock, with the same numbers on all machines."""
ASK_VERSION = 1
FIRST_WITH_SCOPES = 6
"""The version of Landlock that Linux 6.12 brought."""
SCOPE_ABSTRACT_SOCKETS = 1
PR_SET_NO_NEW_PRIVS = 38
MACHINE = platform.machine()
KEYCTL = {"x86_64": 250, "aarch64": 219}
JOIN_SESSION_KEYRING = 1


def close(box: str) -> None:
    """Gives up both, as far as the kernel lets a process do so. `box` is the program that builds the box."""
    with contextlib.suppress(OSError):
        _leave_keys()
    with contextlib.suppress(OSError):
        # A program that gains rights when it starts could not do so afterwards.
        if not os.stat(box).st_mode & stat.S_ISUID:
            _leave_abstract_sockets()


def closes_sockets() -> bool:
    """Returns whether the kernel keeps a box from sockets with an abstract name."""
    with contextlib.suppress(OSError):
        return _call(CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint(ASK_VERSION)) >= FIRST_WITH_SCOPES
    return False


def _leave_abstract_sockets() -> None:
    if not closes_sockets():
        return
    # No rights to files or ports are handled: those remain what the box makes them.
    rights = ctypes.create_string_buffer(struct.pack("=QQQ", 0, 0, SCOPE_ABSTRACT_SOCKETS), 24)
    rules = _call(CREATE_RULESET, ctypes.byref(rights), ctypes.c_size_t(24), ctypes.c_uint(0))
    try:
        _checked(_libc().prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        _call(RESTRICT_SELF, rules, ctypes.c_uint(0))
    finally:
        os.close(rules)


def _leave_keys() -> None:
    """Gets a new, empty keyring, in place of the one that the login of the server's user has."""
    number = KEYCTL.get(MACHINE)
    if number is not None:
        _call(number, ctypes.c_int(JOIN_SESSION_KEYRING), None)


def _call(number: int, *arguments: object) -> int:
    return _checked(_libc().syscall(number, *arguments))


def _checked(result: int) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
