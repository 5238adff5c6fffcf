"""Finds out whether bubblewrap can confine an agent on this machine, and why not."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from bough.agents.sandbox.bwrap_arguments import BASE, OWN_NETWORK
from bough.search_path import find_own_program

TRY_WITHIN = 10.0
"""Seconds for the trial run, which takes milliseconds."""
TRY_AGAIN = 30.0
"""Seconds after which a failed trial is repeated: a person may have installed bubblewrap."""
APPARMOR = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns"
USER_NAMESPACES = ("/proc/sys/user/max_user_namespaces", "/proc/sys/kernel/unprivileged_userns_clone")
CONTAINER_MARKS = ("/.dockerenv", "/run/.containerenv")


@dataclass(frozen=True)
class Availability:
    """The path of `bwrap`, or the reason why it cannot be used; and the reason why it cannot give a box a network of
    its own, if it cannot."""

    program: str | None
    reason: str = ""
    network_reason: str = ""


class SandboxProbe:
    """Remembers the result of the trial run. Safe to use from threads."""

    def __init__(self, look: Callable[[], Availability] | None = None) -> None:
        self._look = look or detect
        self._lock = threading.Lock()
        self._known: Availability | None = None
        self._tried = 0.0

    def find(self) -> Availability:
        """Returns whether agents can be confined. Repeats a failed trial after a while."""
        with self._lock:
            stale = self._known is None or (self._known.program is None and time.monotonic() >= self._tried + TRY_AGAIN)
            if self._known is None or stale:
                self._known, self._tried = self._look(), time.monotonic()
            return self._known


def detect() -> Availability:
    """Runs a program in an empty sandbox with its own network; if that fails, in one without."""
    program = find_own_program("bwrap")
    if program is None:
        where = ", also inside this container" if in_container() else ""
        return Availability(None, f"bubblewrap is not installed. Install the package bubblewrap{where}.")
    try:
        network_error = _try(program, OWN_NETWORK)
        if network_error is None:
            return Availability(program)
        failure = _try(program)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Availability(None, f"bubblewrap does not run: {error}.")
    if failure is None:
        reason = f"bubblewrap cannot create a network for the sandbox here: {network_error or 'it gave no reason'}"
        return Availability(program, network_reason=reason)
    return Availability(None, explain(failure))


def _try(program: str, *words: str) -> str | None:
    """Runs a program in a sandbox. Returns the last line of the error if that fails."""
    command = [program, *BASE, *words, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"]
    trial = subprocess.run([*command, "--", "true"], stdin=subprocess.DEVNULL, capture_output=True, timeout=TRY_WITHIN)
    return None if trial.returncode == 0 else trial.stderr.decode(errors="replace").strip().rpartition("\n")[2]


def explain(error: str) -> str:
    """Returns the probable reason for bubblewrap's error, and what to do about it."""
    if _number(APPARMOR) == 1:
        return (
            "AppArmor forbids user namespaces to ordinary programs. Add an AppArmor profile that allows `userns` to "
            f"bwrap, or set kernel.apparmor_restrict_unprivileged_userns=0. ({error})"
        )
    for path in USER_NAMESPACES:
        if _number(path) == 0:
            name = path.removeprefix("/proc/sys/").replace("/", ".")
            return f"User namespaces are switched off on this machine: {name} is 0. ({error})"
    if in_container():
        return (
            "This container forbids new namespaces. Allow them (for Docker: --security-opt seccomp=unconfined "
            f"--security-opt systempaths=unconfined), or confine the container itself. ({error})"
        )
    return f"bubblewrap cannot start a program here: {error or 'it gave no reason'}"


def in_container() -> bool:
    """Returns whether this machine seems to be a container."""
    return bool(os.environ.get("container")) or any(os.path.exists(path) for path in CONTAINER_MARKS)  # noqa: SIM112


def _number(path: str) -> int | None:
    try:
        with open(path) as file:
            return int(file.read())
    except (OSError, ValueError):
        return None
