"""Tests that `bough agents login` runs each real agent's own login in the terminal."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time
from pathlib import Path

from tests.real_agents.helpers.measurements_table import Record
from tests.support.real_agents.homes import Home
from tests.support.real_agents.packages import AGENTS

# The words of each agent's login.
WORDS = {
    "claude-code": "claude.com/",
    "codex": "auth.openai.com/",
    "gemini": "Gemini CLI",
    "opencode": "Add credential",
    "copilot": "github.com/login",
    "qwen": "Qwen",
}
WITHIN = 150.0
TERMINAL_SIZE = (40, 120)
_ESCAPES = re.compile(rb"\x1b\[[0-9;?]*[a-zA-Z]")


def test_a_login(agent: str, home: Home, place: Path, record: Record) -> None:
    """R1, O1: An agent that only Bough has installed, whose programs are not on the PATH, shows its own login, also
    where a variable says that nobody sits at the terminal."""
    installed = place / "data/npm" / agent
    installed.parent.mkdir(parents=True)
    installed.symlink_to(AGENTS / agent)
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    path = [str(home.folder / "bin"), *(folder for folder in folders if not (Path(folder) / agent).exists())]
    keyless = {name: value for name, value in home.env.items() if "_KEY" not in name and "_URL" not in name}
    env = os.environ | keyless | {"PATH": os.pathsep.join(path), "TERM": "xterm", "BOUGH_DATA": str(place / "data")}
    env |= {"CI": "true"}
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(sys.executable, [sys.executable, "-m", "bough", "agents", "login", agent], env)
    try:
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", *TERMINAL_SIZE, 0, 0))
        _read_until(terminal, WORDS[agent])
    finally:
        # The terminal's group is that of the command and of the login that it runs; they may have ended by themselves.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(terminal)
    record("`bough agents login`", "runs the agent's own login")


def _read_until(terminal: int, words: str) -> None:
    """Reads what a terminal shows until the words are there; a failure quotes everything that it showed."""
    output = b""
    until = time.monotonic() + WITHIN
    while words.encode() not in _ESCAPES.sub(b"", output):
        readable, _, _ = select.select([terminal], [], [], max(until - time.monotonic(), 0))
        assert readable, f"no {words!r} within {WITHIN:.0f} s: {output.decode(errors='replace')}"
        try:
            output += os.read(terminal, 65536)
        except OSError as error:
            # So ends a terminal whose last program has ended.
            raise AssertionError(f"the login ended by itself: {output.decode(errors='replace')}") from error
