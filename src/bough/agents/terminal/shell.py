"""Owns the shell that a command is given to: which one, in which environment, and what it leaves for the next command.
It leaves starting, watching and ending it to `command`.

A command runs in a fresh shell. At its end, by whichever way short of a kill or an `exec`, the shell writes where it
stands and what it exports to a file that only the two of us know; nothing of that goes through an open file or the
output, so whatever the command leaves running cannot hold it up, and cannot print it.
"""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Mapping

import msgspec

from bough.agents.keeper.files import MARK as KEEPER_MARK

# Of Bough nothing is shown to a command: neither paths nor tokens.
HIDDEN = "BOUGH_"
SHELL_SETTING = "BOUGH_TERMINAL_SHELL"
# By this a command and all that it starts are known again, wherever they hide; terminals set it, so nobody wonders.
MARK = "TERM_SESSION_ID"
# A shell sets these anew each time.
_OWN = {"_", "SHLVL", "PWD", MARK}
# Far more than anybody exports, far less than would hurt.
STATE_LIMIT = 256 * 1024

# All on one line, so that `set -v` in a command has nothing more to print; output of `set -x` goes nowhere here.
# The command is expanded once, as an argument of eval, and `shift` takes it from the positional parameters before any
# of it runs. The variable begins like those that are never passed on, in case of `set -a`.
_SAVE = "command pwd -P || :; command printf '\\0'; {env} -0"
_TRAP = "{{ case ${{BOUGH_STATUS+x}} in x) ;; *) {save} >|{file} ;; esac; }} 2>/dev/null"
_SCRIPT = (
    "unset {mark}; trap {trap} EXIT; "
    'eval "shift; $1"; '
    "{{ BOUGH_STATUS=$?; set +evx; {{ {save}; }} >|{file}; }} 2>/dev/null; exit $BOUGH_STATUS"
)


class Left(msgspec.Struct):
    """What a shell has left: where it stood, and how its exports differ from what it would have been given anyway."""

    cwd: str
    set: dict[str, str]
    unset: list[str]

    @property
    def too_large(self) -> bool:
        return sum(len(name) + len(value) for name, value in self.set.items()) > STATE_LIMIT


def find_shell(environ: Mapping[str, str]) -> str:
    """Returns the shell: the one that is set, else bash, else the system's; each must know POSIX's language."""
    return environ.get(SHELL_SETTING) or shutil.which("bash", path=environ.get("PATH")) or "/bin/sh"


def arguments(shell: str, command: str, state_file: str) -> list[str]:
    """Returns the program and its arguments; the command is one of them, to the letter."""
    env = shlex.quote(shutil.which("env", path=os.defpath) or "/usr/bin/env")
    file = shlex.quote(state_file)
    save = _SAVE.format(env=env)
    trap = shlex.quote(_TRAP.format(save="{ " + save + "; }", file=file))
    script = _SCRIPT.format(mark=KEEPER_MARK, trap=trap, save=save, file=file)
    return [shell, "-c", script, os.path.basename(shell), command]


def base_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Returns what a shell is given when nothing was exported yet."""
    kept = {name: value for name, value in environ.items() if not name.startswith(HIDDEN) and name not in _OWN}
    return kept | {"TERM": "dumb"}


def environment(
    environ: Mapping[str, str], changed: Mapping[str, str], gone: list[str], *, cwd: str, mark: str
) -> dict[str, str]:
    """Returns the environment of the next command."""
    env = {name: value for name, value in base_environment(environ).items() if name not in gone}
    env |= {name: value for name, value in changed.items() if not name.startswith(HIDDEN)}
    # A shell shows the way by which it came as long as this leads to where it stands.
    env |= {"PWD": cwd, MARK: mark}
    if KEEPER_MARK in environ:
        # So that the keeper's sweep finds the shell; the script takes it away before the command sees it.
        env[KEEPER_MARK] = environ[KEEPER_MARK]
    return env


def read_left(data: bytes, environ: Mapping[str, str]) -> Left | None:
    """Returns what a shell has written at its end, if it is whole and can be kept as text."""
    cwd, zero, rest = data.partition(b"\0")
    if not zero or not rest.endswith(b"\0"):
        return None
    after = dict(_variable(entry) for entry in rest[:-1].split(b"\0"))
    base = base_environment(environ)
    changed = {
        name: value
        for name, value in after.items()
        if base.get(name) != value and name not in _OWN and not name.startswith(HIDDEN) and _is_text(name + value)
    }
    place = _place(os.fsdecode(cwd.removesuffix(b"\n")), after.get("PWD", ""))
    if not _is_text(place):
        return None
    return Left(place, changed, [name for name in base if name not in after])


def _variable(entry: bytes) -> tuple[str, str]:
    name, _, value = entry.partition(b"=")
    return os.fsdecode(name), os.fsdecode(value)


def _is_text(text: str) -> bool:
    """Whether it can be kept in a line of JSON; names of files and values of variables need not be UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _place(physical: str, logical: str) -> str:
    """Returns the way by which the shell came, if it leads there, as shells show it; else the real path."""
    try:
        if os.path.isabs(logical) and (not physical or os.path.samefile(physical, logical)):
            return logical
    except OSError:
        pass
    return physical or logical
