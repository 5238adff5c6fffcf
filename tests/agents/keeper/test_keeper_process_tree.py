"""Tests what is said of processes while `/proc` cannot be read."""

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from typing import Any

import pytest

from bough.agents.keeper import process_tree


@pytest.fixture
def child() -> Generator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process
        process.kill()


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.ENOMEM])
def test_a_process_does_not_die_of_missing_descriptors(
    child: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """T3: A process counts as alive while there are no file descriptors to look with, is not signalled unless it is
    certainly the same, and a family is never reported as smaller than it is."""
    process = process_tree.find(child.pid)
    assert process is not None

    def fail(*_args: Any, **_options: Any) -> None:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as exhausted:
        exhausted.setattr(process_tree, "open", fail, raising=False)
        assert process_tree.alive(process)
        assert process_tree.find(child.pid) is None
        process_tree.send_signal([process], signal.SIGKILL)
        for look in (lambda: process_tree.family(process), lambda: process_tree.marked(b"X=1")):
            with pytest.raises(OSError, match=os.strerror(number)):
                look()
    assert child.poll() is None
    assert process_tree.alive(process)
    child.kill()
    child.wait()
    assert not process_tree.alive(process)
    monkeypatch.setattr(process_tree, "open", fail, raising=False)
    assert not process_tree.alive(process)


def test_a_process_of_others_is_not_gone_by_accident(monkeypatch: pytest.MonkeyPatch) -> None:
    """T3: What the kernel hides from this user counts as gone, as before."""

    def refuse(*_args: Any, **_options: Any) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    me = process_tree.find(os.getpid())
    assert me is not None
    monkeypatch.setattr(process_tree, "open", refuse, raising=False)
    assert process_tree.find(os.getpid()) is None
    assert not process_tree.alive(me)
