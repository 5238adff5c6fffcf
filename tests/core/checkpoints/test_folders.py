"""Tests what is remembered about the folders that checkpoints are taken of."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from bough.core.checkpoints import folders
from bough.core.checkpoints.folders import Folders
from tests.support.repos import git, make_repo


def test_only_the_folders_used_last_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """W4: A server that has worked in many worktrees forgets the scans of the oldest."""
    monkeypatch.setattr(folders, "MOST_FOLDERS", 3)
    remembered = Folders()
    for number in range(10):
        remembered.mark_slow(f"/{number}")
        # Used again and again, so it is never the oldest.
        remembered.mark_slow("/first")
    assert len(remembered) == 3
    assert [name for name in ("/first", "/7", "/8", "/9") if remembered.is_slow(name)] == ["/first", "/8", "/9"]


def test_a_folder_in_use_is_not_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """W4: Two turns in one folder share its locks, however many other folders were used in between."""
    monkeypatch.setattr(folders, "MOST_FOLDERS", 1)
    remembered = Folders()
    with remembered.use("/mine") as mine:
        for number in range(5):
            remembered.mark_slow(f"/{number}")
        with remembered.use("/mine") as again:
            assert again is mine
    assert len(remembered) == 1


async def test_a_turn_below_a_working_copy_waits_for_its_gate(tmp_path: Path) -> None:
    """F1, W4: While a whole working copy is written, no turn starts in a folder below its top; one in a worktree inside
    of it does."""
    top = make_repo(tmp_path / "repo")
    (top / "docs").mkdir()
    git(top, "worktree", "add", "--quiet", "-b", "inner", str(top / "inner"))
    remembered = Folders()
    with remembered.use(str(top)) as folder:
        async with folder.gate:
            await remembered.pass_gates(str(top / "inner"))
            below = asyncio.create_task(remembered.pass_gates(str(top / "docs")))
            done, _ = await asyncio.wait((below,), timeout=0.2)
            assert not done
        await below
