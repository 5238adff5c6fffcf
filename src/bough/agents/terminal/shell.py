"""Chooses the shell for a command, builds its environment, and reads the state that it leaves for the next command.

Each command runs in a fresh shell. When the shell ends, unless it is killed or replaced by `exec`, it writes its
working directory and its exported variables to a file that only it and this agent know. Nothing of that goes through
an inherited file descriptor or the output, so a process that the command leaves running cannot delay or print it.
"""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Mapping

import msgspec

from bough.agents.keeper.files import MARK as KEEPER_MARK

# Variables of Bough, which hold paths and tokens, are hidden from commands.
HIDDEN = "BOUGH_"
# The ports of the worktree are for its own programs (Y4).
PORTS = "BOUGH_PORT"
SHELL_SETTING = "BOUGH_TERMINAL_SHELL"
# Marks a command and all processes that it starts, so that they can be found again. Real terminals set it too.
MARK = "TERM_SESSION_ID"
# A shell sets these itself each time.
_OWN = {"_", "SHLVL", "PWD", MARK}
# Bytes of exported variables that are kept: far more than anyone exports, far less than would hurt.
STATE_LIMIT = 256 * 1024

# All on one line, so that `set -v` in a command prints nothing more. The output of `set -x` is discarded here.
# The command is expanded once, as an argument of eval, and `shift` removes it from the positional parameters before it
# runs. The name of the variable begins with the hidden prefix, so that it is not passed on under `set -a`.
_SAVE = "command pwd -P || :; command printf '\\0'; {env} -0"
_TRAP = "{{ case ${{BOUGH_STATUS+x}} in x) ;; *) {save} >|{file} ;; esac; }} 2>/dev/null"
_SCRIPT = (
    "unset {mark}; trap {trap} EXIT; "
    'eval "shift; $1"; '
    "{{ BOUGH_STATUS=$?; set +evx; {{ {save}; }} >|{file}; }} 2>/dev/null; exit $BOUGH_STATUS"
)


class ShellState(msgspec.Struct):
    """The working directory of a shell at its end, and how its exports differ from the base environment."""

    cwd: str
    set: dict[str, str]
    unset: list[str]

    @property
    def too_large(self) -> bool:
        """Whether the exports are more than is kept."""
        return sum(len(name) + len(value) for name, value in self.set.items()) > STATE_LIMIT


def find_shell(environ: Mapping[str, str]) -> str:
    """Returns the configured shell, else bash, else the system's. Each must be a POSIX shell."""
    return environ.get(SHELL_SETTING) or shutil.which("bash", path=environ.get("PATH")) or "/bin/sh"


def arguments(shell: str, command: str, state_file: str) -> list[str]:
    """Returns the program and its arguments, of which the unchanged command is one."""
    env = shlex.quote(shutil.which("env", path=os.defpath) or "/usr/bin/env")
    file = shlex.quote(state_file)
    save = _SAVE.format(env=env)
    trap = shlex.quote(_TRAP.format(save="{ " + save + "; }", file=file))
    script = _SCRIPT.format(mark=KEEPER_MARK, trap=trap, save=save, file=file)
    return [shell, "-c", script, os.path.basename(shell), command]


def _is_hidden(name: str) -> bool:
    return name.startswith(HIDDEN) and not name.startswith(PORTS)


def base_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Returns the environment of a shell before anything is exported."""
    inherited = {name: value for name, value in environ.items() if not _is_hidden(name) and name not in _OWN}
    return inherited | {"TERM": "dumb"}


def environment(
    environ: Mapping[str, str], exported: Mapping[str, str], unset: list[str], *, cwd: str, mark: str
) -> dict[str, str]:
    """Returns the environment of the next command."""
    env = {name: value for name, value in base_environment(environ).items() if name not in unset}
    env |= {name: value for name, value in exported.items() if not name.startswith(HIDDEN)}
    # A shell shows this path, links included, as long as it leads to its working directory.
    env |= {"PWD": cwd, MARK: mark}
    if KEEPER_MARK in environ:
        # The keeper's sweep finds the shell by it. The script unsets it before the command can see it.
        env[KEEPER_MARK] = environ[KEEPER_MARK]
    return env


def read_state(data: bytes, environ: Mapping[str, str]) -> ShellState | None:
    """Returns the state that a shell wrote at its end, or None if it is incomplete or is not text."""
    cwd, zero, rest = data.partition(b"\0")
    if not zero or not rest.endswith(b"\0"):
        return None
    after = dict(_variable(entry) for entry in rest[:-1].split(b"\0"))
    base = base_environment(environ)
    exported = {
        name: value
        for name, value in after.items()
        if base.get(name) != value and name not in _OWN and not name.startswith(HIDDEN) and _is_text(name + value)
    }
    folder = _shown_folder(os.fsdecode(cwd.removesuffix(b"\n")), after.get("PWD", ""))
    if not _is_text(folder):
        return None
    return ShellState(folder, exported, [name for name in base if name not in after])


def _variable(entry: bytes) -> tuple[str, str]:
    name, _, value = entry.partition(b"=")
    return os.fsdecode(name), os.fsdecode(value)


def _is_text(text: str) -> bool:
    """Tells whether a text can be stored as JSON. File names and variables need not be UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _shown_folder(physical: str, logical: str) -> str:
    """Returns the path that the shell shows, links included, if it leads there; else the real path."""
    try:
        if os.path.isabs(logical) and (not physical or os.path.samefile(physical, logical)):
            return logical
    except OSError:
        pass
    return physical or logical
