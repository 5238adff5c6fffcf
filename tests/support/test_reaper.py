"""Tests that nothing outlives the tests that started it."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from tests.support.eventually import eventually
from tests.support.processes import communicated
from tests.support.reaper import MARK

# Starts processes like a test does, detached and without cleaning up, and then ends in the given way.
TEST = """
import os, signal, subprocess, sys
from pathlib import Path
from tests.support.reaper import MARK, reaping

folder, mark, how = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
detached = {"start_new_session": True, "stdout": subprocess.DEVNULL, "stdin": subprocess.DEVNULL}
sleep = [sys.executable, "-c", "import time; time.sleep(600)"]
with reaping(folder, mark):
    processes = [
        subprocess.Popen(sleep, env=os.environ | {MARK: mark}, **detached),
        subprocess.Popen([*sleep, f"{folder}/data"], env={}, **detached),
        subprocess.Popen(sleep, env={}, cwd=folder, **detached),
        subprocess.Popen(sleep, env={"HOME": f"{folder}/home"}, **detached),
    ]
    print(*(process.pid for process in processes), flush=True)
    if how == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    raise SystemExit
"""


def _runs(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


@pytest.mark.parametrize("how", ["ended", "killed"])
async def test_what_tests_started_ends_with_them(tmp_path: Path, how: str) -> None:
    """Servers, keepers and agents of tests end with the pytest process, also if that is killed; others go on."""
    folder = tmp_path / "run-1"
    folder.mkdir()
    (tmp_path / "run-10").mkdir()
    sleep = (sys.executable, "-c", "import time; time.sleep(600)")
    bystander = await asyncio.create_subprocess_exec(*sleep, f"{tmp_path}/run-10/data", env={MARK: "another"})
    try:
        # Its own name for the folder is no reason to end the process that has it in its command.
        arguments = (str(folder), f"mark-{os.getpid()}", how)
        test = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", TEST, *arguments), stdout=asyncio.subprocess.PIPE
        )
        output, _ = await communicated(test)
        assert test.returncode == (-signal.SIGKILL if how == "killed" else 0)
        pids = [int(word) for word in output.split()]
        assert len(pids) == 4
        await eventually(lambda: not any(_runs(pid) for pid in pids), "all have ended")
        assert bystander.returncode is None
    finally:
        bystander.kill()
        await bystander.wait()
