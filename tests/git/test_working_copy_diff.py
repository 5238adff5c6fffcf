"""Tests the comparison of a working copy with a commit."""

from __future__ import annotations

from pathlib import Path

import pytest

from bough.git.working_copy import diff as working_copy_diff
from tests.support.repos import git, make_repo


async def test_a_file_that_appears_during_the_scan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """W4: An agent may create files meanwhile."""
    top = make_repo(tmp_path / "repo")
    look = working_copy_diff.scan

    async def create_and_scan(path: str, settings: tuple[str, ...]) -> object:
        (top / "late").write_text("late\n")
        return await look(path, settings)

    monkeypatch.setattr(working_copy_diff, "scan", create_and_scan)
    compared = await working_copy_diff.diff(str(top), "HEAD")
    assert [file.path for file in compared.files] == ["late"]


async def test_a_folder_inside_the_working_copy(tmp_path: Path) -> None:
    """W4: All changes count, also above the folder, and large untracked files are only named."""
    top = make_repo(tmp_path / "repo")
    inner = top / "inner"
    inner.mkdir()
    (inner / "old").write_text("old\n")
    git(top, "add", "--all")
    git(top, "commit", "--quiet", "--message", "Old.")
    (inner / "old").unlink()
    (inner / "new").write_text("new\n")
    (inner / "large").write_bytes(bytes(working_copy_diff.LARGEST_UNTRACKED + 1))
    (top / "README.md").write_text("other\n")
    compared = await working_copy_diff.diff(str(inner), "HEAD")
    states = {file.path: (file.status, file.untracked) for file in compared.files}
    assert states == {
        "README.md": ("modified", False),
        "inner/old": ("deleted", False),
        "inner/new": ("added", True),
        "inner/large": ("added", True),
    }
    assert compared.truncated and git(top, "status", "--porcelain", "--untracked-files=no").split() == [
        *("M", "README.md"),
        *("D", "inner/old"),
    ]
