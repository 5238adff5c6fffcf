"""Tests the program between Codex's adapter and Codex, with a stand-in for Codex on the PATH."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.eventually import eventually

LONGEST = 10
"""Seconds after which a program that should have ended counts as hanging."""

CODEX = """#!/bin/sh
echo $$ > "$PLACE/pid"
while read -r line; do
    case "$line" in
        fail) echo "out of luck" >&2; exit 7 ;;
        die) kill -KILL $$ ;;
        *) echo "$line" ;;
    esac
done
echo over > "$PLACE/over"
"""


@pytest.fixture
def shim(tmp_path: Path):
    """Starts the program with its input open, as the adapter does, and ends it after the test."""
    program = tmp_path / "codex"
    program.write_text(CODEX)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    process = subprocess.Popen(
        [sys.executable, "-m", "bough.agents.shims.codex", "app-server"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "PLACE": str(tmp_path)},
    )
    yield process
    process.kill()
    process.communicate()


def write(process: subprocess.Popen[bytes], line: bytes) -> None:
    """Writes a line to the program and leaves its input open."""
    assert process.stdin is not None
    process.stdin.write(line + b"\n")
    process.stdin.flush()


def test_folders_are_untrusted(shim: subprocess.Popen[bytes]) -> None:
    """P1: Codex never hears that a folder is trusted."""
    out, _ = shim.communicate(b'{"trust_level": "trusted"}\n', LONGEST)
    assert out == b'{"trust_level":"untrusted"}\n'


def test_it_ends_with_its_program(shim: subprocess.Popen[bytes]) -> None:
    """O2: If Codex ends, its exit code and last words reach the adapter at once, though the input is still open."""
    write(shim, b"fail")
    assert shim.wait(LONGEST) == 7
    assert shim.stderr is not None
    assert shim.stderr.read() == b"out of luck\n"


def test_it_dies_like_its_program(shim: subprocess.Popen[bytes]) -> None:
    """O2: If a signal ends Codex, the adapter sees the same signal."""
    write(shim, b"die")
    assert shim.wait(LONGEST) == -signal.SIGKILL


async def test_its_program_ends_with_it(shim: subprocess.Popen[bytes], tmp_path: Path) -> None:
    """T3: If the program itself is killed, Codex reads the end of its input and ends too."""
    write(shim, b"hello")
    assert shim.stdout is not None
    assert shim.stdout.readline() == b"hello\n"
    shim.kill()
    await eventually((tmp_path / "over").exists, "Codex has ended")


async def test_signals_reach_its_program(shim: subprocess.Popen[bytes], tmp_path: Path) -> None:
    """T3: A request to terminate ends Codex, and then the program."""
    await eventually((tmp_path / "pid").exists, "Codex has started")
    shim.terminate()
    assert shim.wait(LONGEST) == -signal.SIGTERM
