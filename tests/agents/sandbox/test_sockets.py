"""Tests which sockets of other programs a strict box must hide."""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path

import pytest

from bough.agents.sandbox.box_paths import BoxRequest, gather
from bough.agents.sandbox.sockets import bound_sockets


@pytest.fixture
def folder() -> Generator[Path]:
    """A folder outside of those that are private in every box."""
    with tempfile.TemporaryDirectory(dir=os.path.expanduser("~")) as name:
        yield Path(name)


def test_bound_sockets_are_found(folder: Path) -> None:
    """S6: By their real path; not abstract ones, and none that is gone."""
    (folder / "link").symlink_to(folder)
    with (
        socket.socket(socket.AF_UNIX) as listener,
        socket.socket(socket.AF_UNIX) as gone,
        socket.socket(socket.AF_UNIX) as bare,
    ):
        listener.bind(str(folder / "link" / "with space.sock"))
        gone.bind(str(folder / "gone.sock"))
        (folder / "gone.sock").unlink()
        bare.bind(f"\0{folder}/abstract")
        sockets = [path for path in bound_sockets() if path.startswith(str(folder))]
    assert sockets == [str(folder / "with space.sock")]
    assert bound_sockets("/missing") == []


def test_a_strict_box_hides_them(folder: Path, tmp_path: Path) -> None:
    """S6: Only in the profile strict, and not in the session's folder."""
    work = folder / "work"
    work.mkdir()
    request = BoxRequest(
        cwd=str(work), read_only=False, data=tmp_path / "data", env={"HOME": str(tmp_path)}, command=[]
    )
    strict = replace(request, own_network=True)
    with socket.socket(socket.AF_UNIX) as outer, socket.socket(socket.AF_UNIX) as inner:
        outer.bind(str(folder / "outer.sock"))
        inner.bind(str(work / "inner.sock"))
        hidden = [path for path in gather(strict).hidden_files if path.startswith(str(folder))]
        assert hidden == [str(folder / "outer.sock")]
        assert not [path for path in gather(request).hidden_files if path.startswith(str(folder))]
