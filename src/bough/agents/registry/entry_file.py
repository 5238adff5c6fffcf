"""Writes the catalog file of an agent from a registry. The file says that nothing was measured."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from pathlib import Path

from bough.agents.catalog.find_program import programs_folder
from bough.agents.registry.read_entry import RegistryAgent

HEAD = """# Added from the entry of an agent registry by `bough agents add`. `bough agents remove {name}` removes it.
# Nothing here was measured: Bough knows neither the agent's modes nor its quirks. What it asks about is decided by the
# session's mode; what it does without asking is limited only by the sandbox.
"""


def catalog_text(agent: RegistryAgent, data: Path) -> str:
    """Returns the text of a catalog file. Checked texts have no control characters, so JSON's strings are TOML's."""
    command, install = agent.command, f"Install {agent.command[0]} and put it on the PATH of the server."
    if agent.distribution == "binary":
        folder = programs_folder(data, agent.id)
        checksum = f" Its sha256 must be {agent.sha256}." if agent.sha256 else ""
        install = f"Download {agent.archive} and unpack it into {folder}.{checksum}"
        command = [str(folder / agent.command[0]), *agent.command[1:]]
    fields = {
        "title": agent.name,
        "description": f"{agent.description} Added from a registry; not measured by Bough.",
        "command": command,
        "install": install,
        "default-mode": "ask",
    }
    registry = {
        "id": agent.id,
        "version": agent.version,
        "distribution": agent.distribution,
        "license": agent.license,
        "repository": agent.repository,
    }
    lines = [HEAD.format(name=agent.id), *(_line(name, value) for name, value in fields.items())]
    lines += ["\n[registry]", *(_line(name, value) for name, value in registry.items())]
    if agent.env:
        lines += ["\n[env]", *(_line(name, value) for name, value in agent.env.items())]
    return "\n".join(lines) + "\n"


def write_file(path: Path, text: str) -> None:
    """Writes a file that is complete or absent, also after a crash."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle, temporary = tempfile.mkstemp(prefix=f".{path.stem}.", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def _line(name: str, value: str | list[str]) -> str:
    return f"{name} = {json.dumps(value, ensure_ascii=False)}"
