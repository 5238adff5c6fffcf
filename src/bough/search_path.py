"""Leaves folders that agents can write out of the lists in which programs and libraries are looked up.

Bough runs git and the sandbox itself outside of every box, and git in the repository's folder. A relative or empty
entry of PATH would lead into that folder, and an entry inside a working copy to what an agent has put there.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from functools import lru_cache

LISTS = ("PATH", "LD_LIBRARY_PATH", "PYTHONPATH")
"""Variables that list folders of programs, libraries and modules."""


def find_own_program(name: str) -> str | None:
    """Returns the path of a program that Bough runs outside of boxes, or None."""
    return shutil.which(name, path=safe_entries(os.environ.get("PATH", os.defpath)) or os.defpath)


def safe_lists(environ: Mapping[str, str]) -> dict[str, str]:
    """Returns variables without the entries that lead into folders of agents."""
    safe = dict(environ)
    for name in LISTS:
        if name in safe:
            entries = safe_entries(safe.pop(name))
            if entries or name == "PATH":
                safe[name] = entries or os.defpath
    return safe


@lru_cache(maxsize=16)
def safe_entries(value: str) -> str:
    """Returns a list of folders without relative ones and without those in working copies. The home folder itself may
    be one."""
    home = os.path.realpath(os.path.expanduser("~"))
    entries = (entry for entry in value.split(os.pathsep) if os.path.isabs(entry))
    return os.pathsep.join(entry for entry in entries if not _in_working_copy(os.path.realpath(entry), home))


def _in_working_copy(folder: str, home: str) -> bool:
    while not f"{home}/".startswith(f"{folder.rstrip('/')}/"):
        if os.path.lexists(os.path.join(folder, ".git")):
            return True
        folder = os.path.dirname(folder)
    return False
