"""Checks what the machine must offer: Linux with /proc, and a recent git. `bough serve` and `bough doctor` call it."""

from __future__ import annotations

import os
import re
import subprocess
import sys

from bough.errors import Invalid

# The first version whose worktree commands do all that Bough needs.
OLDEST_GIT = (2, 38)
GIT_WITHIN = 10.0
INSTALL_GIT = "Install git {} or newer; git repositories and worktrees need it.".format(
    ".".join(str(number) for number in OLDEST_GIT)
)


def check_platform() -> None:
    """Raises `Invalid` unless this is Linux with /proc: keepers own and end the processes of agents through its kernel
    interfaces."""
    if not sys.platform.startswith("linux"):
        raise Invalid(
            "unsupported_platform",
            f"The server runs on Linux, not on {sys.platform}. Run it in a container or virtual machine, on Windows in "
            "WSL 2; other commands reach it with --url.",
        )
    if not os.path.isdir("/proc/self/fd"):
        raise Invalid("unsupported_platform", "The server needs /proc, which is not mounted here.")


def git_version() -> str | None:
    """Returns what `git --version` prints, or None if git cannot be run."""
    try:
        result = subprocess.run(["git", "--version"], capture_output=True, text=True, timeout=GIT_WITHIN, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return result.stdout.strip()


def is_old_git(version: str) -> bool:
    """Returns whether a version as git prints it is older than Bough needs."""
    numbers = re.match(r"git version (\d+)\.(\d+)", version)
    return numbers is None or (int(numbers[1]), int(numbers[2])) < OLDEST_GIT


def git_problem() -> str | None:
    """Returns what is wrong with git on this machine, and what to do about it; None if nothing is."""
    version = git_version()
    if version is None:
        return f"Cannot run git. {INSTALL_GIT}"
    return f"{version} is too old. {INSTALL_GIT}" if is_old_git(version) else None
