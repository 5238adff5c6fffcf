"""Tells whether the node that runs an agent's program is too old for it, for errors of agents that do not start.

Only the server's own node is ever run: the one on the server's PATH. A session's variables and its folder, which an
agent may have written, are not searched."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from bough.agents.catalog.entry import CatalogEntry
from bough.agents.catalog.find_program import HIGHEST_PACKAGE

ASK_WITHIN = 10.0
"""Seconds for node to print its version."""
_SHEBANG = re.compile(rb"#!\s*\S*(/env(\s+-S)?\s+(\S+=\S+\s+)*|/)node\b")
_AT_LEAST = re.compile(r"(?:>=|\^|~)?\s*v?(\d+(?:\.\d+)*)")


def node_advice(entry: CatalogEntry, program: str, cwd: str, own_env: Mapping[str, str]) -> str:
    """Returns a sentence about the node that an agent's program needs, or an empty text if that is not the problem, or
    cannot be told: the session has a PATH of its own."""
    if "PATH" in own_env or not _runs_on_node(program):
        return ""
    needed = _needed(program)
    about = f"{entry.title} runs on Node.js"
    node = server_node(cwd)
    if node is None:
        return f"{about}, but the server finds no `node` on its PATH. Install Node.js {needed or '22'} or newer."
    installed = _version(node, os.stat(node).st_mtime_ns)
    if not needed or not installed or _numbers(installed) >= _numbers(needed):
        return ""
    return f"{about} {needed} or newer, but {node} is version {installed}. Install a newer Node.js."


def server_node(cwd: str) -> str | None:
    """Returns the path of the server's node; none that is found in a session's folder, or by a relative path."""
    inside = os.path.realpath(cwd)
    folders = [
        folder
        for folder in os.environ.get("PATH", os.defpath).split(os.pathsep)
        if os.path.isabs(folder) and not _is_below(os.path.realpath(folder), inside)
    ]
    node = shutil.which("node", path=os.pathsep.join(folders)) if folders else None
    return None if node is None or _is_below(os.path.realpath(node), inside) else node


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def _runs_on_node(program: str) -> bool:
    try:
        with open(program, "rb") as file:
            return _SHEBANG.match(file.readline(200)) is not None
    except OSError:
        return False


def _needed(program: str) -> str:
    """Returns the oldest node that the program's package accepts, or an empty text."""
    folder = Path(os.path.realpath(program)).parent
    for parent in [folder, *folder.parents][:HIGHEST_PACKAGE]:
        try:
            about: Any = msgspec.json.decode((parent / "package.json").read_bytes(), type=dict[str, Any])
            range_text = str(about["engines"]["node"])
        except (OSError, msgspec.MsgspecError, KeyError, TypeError):
            continue
        # Of several alternatives, the oldest counts.
        bounds = [match[1] for part in range_text.split("||") if (match := _AT_LEAST.match(part.strip()))]
        return min(bounds, key=_numbers, default="")
    return ""


@functools.lru_cache(8)
def _version(node: str, changed: int) -> str:
    """Returns the version that node prints; `changed` makes an update count."""
    try:
        answer = subprocess.run(
            [node, "--version"],
            capture_output=True,
            text=True,
            timeout=ASK_WITHIN,
            check=True,
            stdin=subprocess.DEVNULL,
            cwd="/",
            env={"PATH": os.defpath},
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    match = re.fullmatch(r"v?(\d+(\.\d+)*).*", answer.stdout.strip())
    return match[1] if match else ""


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
