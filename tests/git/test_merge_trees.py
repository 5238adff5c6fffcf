"""Tests merges that are computed as objects only."""

from __future__ import annotations

from pathlib import Path

import pytest

from bough.errors import Conflict
from bough.git.finish.merge import identity
from bough.git.finish.merge_trees import merge_trees, rebase
from tests.support.repos import git, make_repo


def split_folder(top: Path) -> None:
    """Creates `split`, which moves the files of a folder to two others, and `main`, which adds one to it."""
    (top / "dir").mkdir()
    for number in range(1, 5):
        (top / "dir" / f"{number}.txt").write_text("".join(f"{number} {line}\n" for line in range(20)))
    git(top, "add", "--all")
    git(top, "commit", "--quiet", "-m", "Four files.")
    git(top, "checkout", "--quiet", "-b", "split")
    for name, folder in (("1", "x"), ("2", "x"), ("3", "y"), ("4", "y")):
        (top / folder).mkdir(exist_ok=True)
        git(top, "mv", f"dir/{name}.txt", f"{folder}/{name}.txt")
    git(top, "commit", "--quiet", "-m", "Split.")
    git(top, "checkout", "--quiet", "main")
    (top / "dir" / "new.txt").write_text("new\n")
    git(top, "add", "--all")
    git(top, "commit", "--quiet", "-m", "New file.")


async def test_a_conflict_without_a_file_is_a_conflict(tmp_path: Path) -> None:
    """F2, F3: If one side splits a folder and the other adds a file to it, git reports a conflict that is in no file;
    neither a merge nor a rebase takes that for clean."""
    top = make_repo(tmp_path / "repo")
    split_folder(top)
    with pytest.raises(Conflict) as refusal:
        await merge_trees(str(top), "main", "split")
    assert (refusal.value.code, refusal.value.details["files"]) == ("merge_conflict", [])
    assert "Unclear where to rename dir to" in refusal.value.message
    with pytest.raises(Conflict) as refusal:
        await rebase(str(top), "split", "main", await identity(str(top)))
    assert refusal.value.code == "merge_conflict"


async def test_clean_merges_and_conflicts_in_files(tmp_path: Path) -> None:
    """F2, F3: A clean merge has no entries; a conflict lists the sides of each file, and its messages are no files."""
    top = make_repo(tmp_path / "repo")
    git(top, "checkout", "--quiet", "-b", "other")
    (top / "README.md").write_text("other\n")
    git(top, "commit", "--quiet", "-am", "Other.")
    assert (await merge_trees(str(top), "main", "other")).entries == ()
    git(top, "checkout", "--quiet", "main")
    (top / "README.md").write_text("main\n")
    git(top, "commit", "--quiet", "-am", "Main.")
    merged = await merge_trees(str(top), "main", "other")
    assert merged.conflicts == ["README.md"] and [entry.stage for entry in merged.entries] == ["1", "2", "3"]
