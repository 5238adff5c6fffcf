"""The hidden folder beside its target in which a clone grows: created, moved into place when it is complete, or removed
with every git process that still writes there."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import time

from bough.core.new_repos.open_folder import opened
from bough.errors import Busy, Conflict, Invalid

PREFIX = ".bough-clone-"
# Seconds for killed processes to be gone; only one whose disk does not respond needs longer.
GONE_WITHIN = 5.0
PAUSE = 0.05


def growing_folder(target: str, clone_id: str) -> str:
    """Returns where the clone with this id grows."""
    return os.path.join(os.path.dirname(target), PREFIX + clone_id)


def create(folder: str) -> None:
    """Creates the folder. Raises `Denied` if the one above it leads elsewhere by now."""
    above, name = os.path.split(folder)
    try:
        with opened(above) as descriptor:
            os.mkdir(name, dir_fd=descriptor)
    except OSError as error:
        raise Invalid("bad_path", f"Nothing can be created in {above}: {error.strerror}.") from error


def move(folder: str, target: str) -> None:
    """Makes the folder the target. Raises `Conflict` if something exists there by now."""
    above, name = os.path.split(target)
    try:
        with opened(above) as descriptor:
            if _is_there(name, descriptor):
                raise _taken(target)
            os.rename(os.path.basename(folder), name, src_dir_fd=descriptor, dst_dir_fd=descriptor)
    except OSError as error:
        if os.path.lexists(target):
            raise _taken(target) from error
        raise Invalid("bad_path", f"{target} cannot be created: {error.strerror}.") from error


def remove(folder: str) -> None:
    """Removes the folder, if it exists, after the processes that work in it. Raises `Busy` if that fails; then it is
    safe to try again."""
    _end_processes(folder)
    above, name = os.path.split(folder)
    try:
        with opened(above) as descriptor:
            if _is_there(name, descriptor):
                shutil.rmtree(name, dir_fd=descriptor)
    except FileNotFoundError:
        return
    except OSError as error:
        raise Busy("clone_not_removed", f"{folder} cannot be removed: {error.strerror}. Remove it by hand.") from error


def _is_there(name: str, descriptor: int) -> bool:
    try:
        os.stat(name, dir_fd=descriptor, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _taken(target: str) -> Conflict:
    return Conflict("path_exists", f"Something already exists at {target}. Choose another path.", path=target)


def _end_processes(folder: str) -> None:
    """Kills every process that works in the folder: git and its helpers may outlive the server that started them."""
    deadline = time.monotonic() + GONE_WITHIN
    while (working := _working_in(folder)) and time.monotonic() < deadline:
        for pid in working:
            _kill(pid, folder)
        time.sleep(PAUSE)


def _working_in(folder: str) -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdecimal() and _works_in(int(name), folder)]


def _works_in(pid: int, folder: str) -> bool:
    try:
        cwd = os.readlink(f"/proc/{pid}/cwd").removesuffix(" (deleted)")
    except OSError:
        return False
    return cwd == folder or cwd.startswith(folder + "/")


def _kill(pid: int, folder: str) -> None:
    with contextlib.suppress(OSError):
        handle = os.pidfd_open(pid)
        try:
            # Its number may have passed to another process.
            if _works_in(pid, folder):
                signal.pidfd_send_signal(handle, signal.SIGKILL)
        finally:
            os.close(handle)
