"""Looks for protected paths in everything that a tool use names: its files, its command, and the arguments of a tool of
an MCP server."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from bough.agents.file_name_patterns import folded
from bough.core.policy import protected_paths
from bough.core.policy.patterns import too_many_commands
from bough.core.policy.protected_paths import FOR_AGENTS, TO_READ, ProtectionContext, absolute, resolved
from bough.core.policy.shell.paths import shell_paths
from bough.model.tool import Protection, ToolKind

# Kinds that only read the files they name.
READS = ("read", "search")
# How many protected paths are told; one is enough to ask.
MOST_TOLD = 50
# The cost of a check grows with the number of names in a path.
LONGEST_PATH = 4096
MOST_NAMES = 256
TOO_LONG = "a path too long to be checked"
_NEXT_NAME = re.compile(r"/+([\w.-]*)")


class NamedPaths(NamedTuple):
    """Everything in a tool use that may name a path."""

    kind: ToolKind
    # Absolute, as spelled and resolved.
    paths: tuple[str, ...]
    # Those that are moved or deleted with everything inside.
    folders: tuple[str, ...] = ()
    # Texts among the arguments of a tool that nothing else is known about.
    strings: tuple[str, ...] = ()
    command: str | None = None


def protections(context: ProtectionContext, named: NamedPaths) -> tuple[tuple[Protection, ...], bool]:
    """Returns the protected paths that a tool use names, and whether its command is too long to be read."""
    hits = [_touched(context, path, writes=named.kind not in READS) for path in named.paths]
    hits += [protected_paths.removed(folder, context) for folder in named.folders]
    for text in named.strings:
        hits += [_touched(context, path, writes=True) for path in _spellings(absolute(context.cwd, text))]
    is_unread = False
    if named.command is not None:
        if holds_path(named.command, context.data):
            hits.append(Protection(context.data, protected_paths.DATA, never=True))
        paths = shell_paths(named.command, context.cwd, _variables(context))
        is_unread = paths is None or too_many_commands(named.command)
        for spelled in paths or ():
            for path in _spellings(spelled.path):
                hits.append(_touched(context, path, writes=spelled.writes))
                if spelled.removes:
                    hits.append(protected_paths.removed(path, context))
    unique = dict.fromkeys(hit for hit in hits if hit is not None)
    # What nobody may allow comes first.
    return tuple(sorted(unique, key=lambda hit: not hit.never)[:MOST_TOLD]), is_unread


def holds_path(text: str, folder: str) -> bool:
    """Tells whether a text holds a folder's path literally, also inside code that no shell reads. Names that only begin
    alike do not count, nor do the parts of the data folder that agents work with."""
    text, folder, start = folded(text), folded(folder), 0
    while (start := text.find(folder, start)) >= 0:
        start += len(folder)
        name = _NEXT_NAME.match(text, start)
        if name is not None and name[1] not in (*FOR_AGENTS, TO_READ):
            return True
        following = text[start : start + 1]
        if name is None and not (following.isalnum() or following in ("-", "_", ".")):
            return True
    return False


def _touched(context: ProtectionContext, path: str, *, writes: bool) -> Protection | None:
    if len(path) > LONGEST_PATH or path.count("/") > MOST_NAMES:
        if protected_paths.is_inside_data(path, context.data, to_read=not writes):
            return Protection(path[:LONGEST_PATH], protected_paths.DATA, never=True)
        return Protection(path[:LONGEST_PATH], TOO_LONG)
    protection = protected_paths.read(path, context)
    if protection is not None or not writes:
        return protection
    return protected_paths.written(path, context)


def _spellings(path: str) -> tuple[str, ...]:
    """Returns a path as spelled and where it leads."""
    return tuple(dict.fromkeys((path, resolved(path))))


def _variables(context: ProtectionContext) -> dict[str, str]:
    """Returns the variables by which commands name protected context."""
    return {
        "HOME": context.home,
        "XDG_DATA_HOME": os.environ.get("XDG_DATA_HOME") or f"{context.home}/.local/share",
        "XDG_CONFIG_HOME": os.environ.get("XDG_CONFIG_HOME") or f"{context.home}/.config",
        "BOUGH_DATA": context.data,
        "PWD": context.cwd,
    }
