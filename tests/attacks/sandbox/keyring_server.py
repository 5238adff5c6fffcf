"""Runs `bough` in a login with a key of its own, as a desktop starts programs: `… keyring_server serve …`."""

from __future__ import annotations

import ctypes
import runpy
import sys

from bough.agents.keeper.kernel_doors import JOIN_SESSION_KEYRING, KEYCTL, MACHINE

ADD_KEY = {"x86_64": 248, "aarch64": 217}
SESSION = ctypes.c_int(-3)
NAME, VALUE = b"bough-test", b"heron"


def main() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    joined = libc.syscall(KEYCTL[MACHINE], ctypes.c_int(JOIN_SESSION_KEYRING), None)
    added = libc.syscall(ADD_KEY[MACHINE], b"user", NAME, VALUE, ctypes.c_size_t(len(VALUE)), SESSION)
    if joined < 0 or added < 0:
        sys.exit("The kernel keeps no keys here.")
    runpy.run_module("bough", run_name="__main__")


if __name__ == "__main__":
    main()
