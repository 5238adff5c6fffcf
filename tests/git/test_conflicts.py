"""Tests leaving a merge in conflict: a kill between any two steps loses nothing, and an abort puts everything back."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from bough.errors import Conflict
from bough.git import run
from bough.git.finish import conflicts
from bough.git.finish.commit import commit, plan_commit
from bough.git.finish.conflicts import abort_conflict, leave_in_conflict
from bough.git.finish.merge_trees import MergedTree, merge_trees
from bough.git.working_copy.snapshot import WorkingCopy, working_copy
from tests.support.repos import git

STEPS = 5


class Killed(BaseException):
    """Stands for the end of the process."""


class Torn:
    """A repository whose branches `main` and `other` changed the same file; `other` adds, changes and removes more."""

    def __init__(self, path: Path) -> None:
        self.path = path
        git(path, "init", "--quiet", "--initial-branch=main")
        self.head = self._commit(**{"both.txt": "start\n", "changed.txt": "old\n", "removed.txt": "r\n"})
        git(path, "checkout", "--quiet", "-b", "other")
        (path / "removed.txt").unlink()
        self.theirs = self._commit(**{"both.txt": "theirs\n", "changed.txt": "new\n", "added.txt": "a\n"})
        git(path, "checkout", "--quiet", "main")
        self.head = self._commit(**{"both.txt": "ours\n"})

    def _commit(self, **files: str) -> str:
        for name, text in files.items():
            (self.path / name).write_text(text)
        git(self.path, "add", "--all")
        git(self.path, "commit", "--quiet", "-m", "Change.")
        return git(self.path, "rev-parse", "HEAD").strip()

    async def merged(self) -> tuple[WorkingCopy, MergedTree]:
        return await working_copy(str(self.path)), await merge_trees(str(self.path), self.head, self.theirs)

    async def leave(self, monkeypatch: pytest.MonkeyPatch, steps: int | None = None) -> tuple[WorkingCopy, MergedTree]:
        """Leaves the merge in conflict, and is killed after so many git commands."""
        where, merged = await self.merged()
        begun = 0

        async def counting(*arguments: Any, **options: Any) -> str:
            nonlocal begun
            if begun == steps:
                raise Killed
            begun += 1
            return await run.git(*arguments, **options)

        with monkeypatch.context() as patch:
            patch.setattr(conflicts, "git", counting)
            if steps is None:
                await leave_in_conflict(where, self.head, self.theirs, merged, "Merge other.")
                assert begun == STEPS
            else:
                with pytest.raises(Killed):
                    await leave_in_conflict(where, self.head, self.theirs, merged, "Merge other.")
        return where, merged

    def status(self) -> str:
        return git(self.path, "status", "--porcelain", "--untracked-files=all")


@pytest.fixture
def torn(tmp_path: Path) -> Torn:
    return Torn(tmp_path)


async def test_a_merge_is_left_in_conflict(torn: Torn, monkeypatch: pytest.MonkeyPatch) -> None:
    """F2: The files, the index and the note are as after `git merge`."""
    where, _ = await torn.leave(monkeypatch)
    assert torn.status() == "A  added.txt\nUU both.txt\nM  changed.txt\nD  removed.txt\n"
    assert "<<<<<<<" in (torn.path / "both.txt").read_text()
    assert git(torn.path, "rev-parse", "MERGE_HEAD").strip() == torn.theirs
    git(torn.path, "merge", "--abort")
    assert torn.status() == "" and "MERGE_MSG" not in os.listdir(where.git_dir)


@pytest.mark.parametrize("steps", range(STEPS))
async def test_a_kill_drops_no_change_and_commits_no_marker(
    torn: Torn, monkeypatch: pytest.MonkeyPatch, steps: int
) -> None:
    """F2: Wherever the server is killed while it leaves a merge in conflict, markers cannot be committed, and no commit
    counts as the merge without all changes of the other side."""
    await torn.leave(monkeypatch, steps)
    with pytest.raises(Conflict) as refusal:
        await plan_commit(str(torn.path), None)
    assert refusal.value.code == ("files_in_conflict" if steps > 1 else "nothing_to_commit")
    (torn.path / "both.txt").write_text("both\n")
    git(torn.path, "add", "both.txt")
    sha = await commit(await plan_commit(str(torn.path), None), "Resolved.")
    # It is no merge, so nothing of the other side is lost for the next one.
    assert git(torn.path, "rev-list", "--parents", "-1", sha).split()[1:] == [torn.head]
    later = await merge_trees(str(torn.path), sha, torn.theirs)
    assert git(torn.path, "show", f"{later.tree}:changed.txt") == "new\n"
    assert git(torn.path, "show", f"{later.tree}:added.txt") == "a\n"


@pytest.mark.parametrize("steps", [*range(STEPS), None])
async def test_an_abort_puts_everything_back(torn: Torn, monkeypatch: pytest.MonkeyPatch, steps: int | None) -> None:
    """F2: After a failure at any step, an abort leaves the files, the index and the branch as they were."""
    where, merged = await torn.leave(monkeypatch, steps)
    await abort_conflict(where, torn.head, merged)
    assert torn.status() == "" and not (torn.path / "added.txt").exists()
    assert (torn.path / "both.txt").read_text() == "ours\n"
    assert not {"MERGE_HEAD", "MERGE_MSG", "index.lock"} & {*os.listdir(where.git_dir)}


async def test_an_index_that_is_locked_is_named(torn: Torn, monkeypatch: pytest.MonkeyPatch) -> None:
    """F2: If another git command holds the index, the error names the lock, and the abort still works afterwards."""
    where, merged = await torn.merged()
    lock = torn.path / ".git" / "index.lock"

    async def locking(*arguments: Any, **options: Any) -> str:
        answer = await run.git(*arguments, **options)
        if "read-tree" in arguments:
            lock.touch()
        return answer

    with monkeypatch.context() as patch, pytest.raises(Conflict) as refusal:
        patch.setattr(conflicts, "git", locking)
        await leave_in_conflict(where, torn.head, torn.theirs, merged, "Merge other.")
    assert refusal.value.code == "index_locked" and str(lock) in refusal.value.message
    lock.unlink()
    await abort_conflict(where, torn.head, merged)
    assert torn.status() == ""
