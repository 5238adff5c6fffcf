"""Installs Debian's packages of programs that tests need, where that is allowed: as root on a machine with apt-get."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

# An archive that does not answer must not hold up the tests that need nothing from it.
OPTIONS = ("Acquire::Retries=0", "Acquire::http::Timeout=15", "DPkg::Lock::Timeout=60")
WITHIN = 600.0
"""Seconds for one step; a browser is large."""


def may_install() -> bool:
    return os.geteuid() == 0 and shutil.which("apt-get") is not None


def install(package: str) -> bool:
    """Installs a package, also where no list of packages was fetched yet. Shows apt's output only if it fails."""
    adding = ("install", "--yes", "--no-install-recommends", package)
    if _run(*adding) is None:
        return True
    error = _run("update") or _run(*adding)
    if error is not None:
        print(error, file=sys.stderr)
    return error is None


def _run(*step: str) -> str | None:
    """Returns the end of the error, or None."""
    options = [word for option in OPTIONS for word in ("--option", option)]
    env = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    try:
        done = subprocess.run(
            ["apt-get", "--quiet", *options, *step],
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=WITHIN,
        )
    except subprocess.TimeoutExpired:
        return f"apt-get {step[0]} took longer than {WITHIN:.0f} seconds."
    return None if done.returncode == 0 else done.stderr[-2000:] or f"apt-get {step[0]} failed."
