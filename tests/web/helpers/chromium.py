"""Finds Chromium on this machine. `python -m tests.web.helpers.chromium` exits with 0 if there is one, and installs
Debian's package if there is none and it may."""

from __future__ import annotations

import os
import shutil
import sys

from tests.support import debian

VARIABLE = "BOUGH_CHROMIUM"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MISSING = f"There is no Chromium here: install one, or name it with {VARIABLE}=/path/to/chromium."


def find() -> str | None:
    """Returns the path of the browser: the one that was configured, or else the first of the usual ones."""
    named = os.environ.get(VARIABLE)
    if named:
        return shutil.which(named)
    return next((program for name in NAMES if (program := shutil.which(name))), None)


def arguments() -> list[str]:
    """Returns arguments for root, under whom its sandbox does not work, and for containers with little shared
    memory."""
    flags = ["--disable-dev-shm-usage", "--disable-gpu", "--force-color-profile=srgb", "--font-render-hinting=none"]
    return [*flags, "--no-sandbox"] if os.geteuid() == 0 else flags


def main() -> int:
    if find() is None and not os.environ.get(VARIABLE) and debian.may_install():
        print("Installing Chromium …")
        debian.install("chromium")
    if find() is None:
        print(MISSING)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
