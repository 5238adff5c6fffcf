"""Tests that changes of a preparation are left out of a commit's files, and nothing else is."""

from __future__ import annotations

import shutil
from pathlib import Path

from bough.git.finish.own_changes import Preparation, own_changes
from bough.git.working_copy.snapshot import take
from tests.support.repos import git, make_repo


def tree(top: Path, sha: str) -> dict[str, str]:
    """Returns the files of a tree with their contents."""
    names = git(top, "ls-tree", "-r", "-z", "--name-only", sha).split("\0")[:-1]
    return {name: git(top, "cat-file", "blob", f"{sha}:{name}") for name in names}


async def snapshot(top: Path) -> str:
    return (await take(str(top))).sha


async def test_files_and_folders_of_one_name(tmp_path: Path) -> None:
    """B6: A file that the preparation made a folder returns, unless the work uses that folder; a file that the work put
    in the place of a folder stays. Names may be odd."""
    top = make_repo(tmp_path / "repo")
    for name in ("a", "b", "odd\nname"):
        (top / name).write_text("old")
    (top / "folder").mkdir()
    (top / "folder" / "inner").write_text("old")
    created = await snapshot(top)
    shutil.rmtree(top / "folder")
    for name in ("a", "b"):
        (top / name).unlink()
        (top / name).mkdir()
        (top / name / "made").write_text("made")
    (top / "odd\nname").write_text("made")
    prepared = Preparation(created, await snapshot(top))
    (top / "b" / "own").write_text("own")
    (top / "folder").write_text("own")
    before = git(top, "status", "--porcelain")
    files = tree(top, await own_changes(str(top), prepared, await snapshot(top)))
    files.pop("README.md")
    assert files == {"a": "old", "b/own": "own", "folder": "own", "odd\nname": "old"}
    assert git(top, "status", "--porcelain") == before and not list((top / ".git").glob("bough-index-*"))


async def test_a_bare_repository(tmp_path: Path) -> None:
    """B6: Works without a working copy, for worktrees that are gone."""
    top = make_repo(tmp_path / "repo")
    created = await snapshot(top)
    (top / "made").write_text("made")
    prepared = Preparation(created, await snapshot(top))
    (top / "own").write_text("own")
    files = await snapshot(top)
    for ref in (prepared.begun, files):
        git(top, "branch", f"kept-{ref}", ref)
    bare = tmp_path / "bare"
    bare.mkdir()
    git(tmp_path, "clone", "--quiet", "--bare", str(top), str(bare / "data"))
    (bare / ".git").write_text("gitdir: data\n")
    names = tree(bare, await own_changes(str(bare), prepared, files))
    assert sorted(names) == ["README.md", "own"]


async def test_nothing_to_leave_out(tmp_path: Path) -> None:
    """B6: Without a preparation, or if the work changed all that it made, the files are returned as they are."""
    top = make_repo(tmp_path / "repo")
    created = await snapshot(top)
    (top / "made").write_text("made")
    begun = await snapshot(top)
    assert await own_changes(str(top), Preparation(begun, begun), begun) == begun
    (top / "made").write_text("own")
    files = await snapshot(top)
    assert await own_changes(str(top), Preparation(created, begun), files) == files
