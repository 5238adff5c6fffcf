"""Tells whether an agent is logged in, which variables hold its keys, and which command logs a person in."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from bough.agents.catalog.entry import CatalogEntry
from bough.agents.catalog.find_program import hint, npm_folder
from bough.errors import Invalid

# Variables with which build machines say that nobody sits at the terminal; some logins then ask nothing and fail.
UNATTENDED = frozenset({"CI", "CONTINUOUS_INTEGRATION", "GITHUB_ACTIONS"})
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
QUOTED = re.compile(r"[\"']([A-Za-z_][A-Za-z0-9_]*)[\"']")


def is_set_up(entry: CatalogEntry) -> bool | None:
    """Returns whether a key or an account for the agent is visible; None if that cannot be seen from outside."""
    login = entry.login
    if not login.env and not login.files and not login.contents:
        return None
    if any(os.environ.get(name) for name in login.env):
        return True
    if any(os.path.exists(_path(file)) for file in login.files):
        return True
    return any(_holds(_path(file), patterns) for file, patterns in login.contents.items())


def own_variables(entry: CatalogEntry) -> list[str]:
    """Returns the names and patterns of the server's variables that an agent inherits besides the usual ones, because
    its catalog file or the user's settings for it name them."""
    login = entry.login
    paths = (*login.files, *login.contents, *login.named_in, *entry.sandbox.write, *entry.sandbox.protect)
    names = [*entry.inherit, *key_variables(entry), *login.also, *entry.sandbox.host_variables]
    names += [path[1:].partition("/")[0] for path in paths if path.startswith("$")]
    names += [name for start in entry.start.values() for name in start.json_env]
    names += [name for trigger, needed in login.also.items() if os.environ.get(trigger) for name in needed]
    if entry.home is not None and entry.home.variable:
        names.append(entry.home.variable)
    return names


def key_variables(entry: CatalogEntry) -> list[str]:
    """Returns the variables that may hold an agent's keys: those that its file lists, and those that the user's
    settings name."""
    named = [_named_variables(_path(file), patterns) for file, patterns in entry.login.named_in.items()]
    return [*entry.login.env, *(name for names in named for name in names)]


def _named_variables(file: Path, patterns: list[str]) -> list[str]:
    """Returns the names of variables that a settings file contains."""
    text = _text(file)
    matches = (match.groupdict() for pattern in patterns for match in re.finditer(pattern, text))
    return [name for groups in matches for name in _names(groups.get("variable") or "")]


def _names(text: str) -> list[str]:
    """Returns the name of a variable, or all that a text holds in quotes."""
    return [text] if VARIABLE.fullmatch(text) else QUOTED.findall(text)


def _path(text: str) -> Path:
    return Path(os.path.expanduser(os.path.expandvars(text)))


def _holds(file: Path, patterns: list[str]) -> bool:
    """Tells whether a file can be read and one of the patterns matches in it."""
    text = _text(file)
    return bool(text) and any(re.search(pattern, text) for pattern in patterns)


def _text(file: Path) -> str:
    """Returns the text of a file, or an empty one if the file cannot be read."""
    try:
        return file.read_text("utf-8", "replace")
    except OSError:
        return ""


def login_command(entry: CatalogEntry, data: Path) -> tuple[list[str], dict[str, str]]:
    """Returns the command that logs a person in, and its environment, in which the programs of the agent's package are
    on the PATH and no variable says that nobody sits at the terminal. Raises `Invalid` if there is none, or the agent
    is not installed."""
    login = entry.login
    if not login.command:
        reason = f"has no command to log in. {login.how}" if login.how else "needs no login."
        raise Invalid("no_login", f"{entry.title} {reason}", agent=entry.name)
    own = npm_folder(data, entry) / "node_modules" / ".bin"
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), str(own)])
    program = shutil.which(login.command[0], path=path)
    if program is not None:
        command = [program, *login.command[1:]]
    elif entry.package is not None and (npx := shutil.which("npx")) is not None:
        command = [npx, "--yes", "--package", entry.package.pinned, "--", *login.command]
    else:
        raise Invalid(
            "agent_missing",
            f"{entry.title} cannot be logged in: its command {login.command[0]!r} was not found.{hint(entry)}",
            agent=entry.name,
        )
    env = {name: value for name, value in os.environ.items() if name not in UNATTENDED}
    return command, env | {"PATH": path}
