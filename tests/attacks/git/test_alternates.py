"""Attacks by `objects/info/alternates`: the folders in which git looks for objects besides its own. Only an unconfined
agent can write the file, and a confined one in a folder that it makes a repository itself."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from bough.git.run import GitFailed
from bough.git.working_copy.folder_state import state
from bough.git.working_copy.snapshot import take
from tests.api.error_responses import refused
from tests.api.worktree_helpers import commit, head
from tests.attacks.git.hostile_repositories import Place, fsmonitor, hooks
from tests.core.finish.finish_helpers import Work, start
from tests.support.repos import git, make_repo
from tests.support.server import Running


def borrowing(work: Work, other: Path) -> str:
    """Commits in the worktree with objects that only another repository has, and returns the commit."""
    objects = other / ".git" / "objects"
    (work.main / ".git" / "objects" / "info").mkdir(exist_ok=True)
    (work.main / ".git" / "objects" / "info" / "alternates").write_text(f"{objects}\n")
    commit(other, "borrowed.txt", "borrowed\n")
    tree = git(other, "rev-parse", "HEAD^{tree}").strip()
    sha = git(work.folder, "commit-tree", tree, "-p", "HEAD", "-m", "Borrow.").strip()
    git(work.folder, "reset", "--quiet", "--hard", sha)
    return sha


def content(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


async def test_borrowed_objects(server: Running, tmp_path: Path) -> None:
    """F1, F3, W2: Work whose objects are another repository's is committed, updated, merged and pushed like any other;
    Bough writes nothing there and runs nothing of its configuration. When the objects are gone, Bough says so, and what
    it merged can be undone."""
    work = await start(server)
    other = make_repo(tmp_path / "other")
    base = head(work.main)
    borrowing(work, other)
    mark = tmp_path / "ran"
    place = Place(other, other, other / ".git" / "config", other / ".git" / "hooks", mark)
    for attack in (fsmonitor, hooks):
        attack(place)
    before = content(other)
    (work.folder / "more.txt").write_text("more\n")
    await work.do("commit", message="More.")
    commit(work.main, "base.txt")
    moved = head(work.main)
    await work.do("update", how="merge")
    await work.do("merge")
    assert (work.main / "borrowed.txt").read_text() == "borrowed\n"
    await work.do("merge/undo")
    assert head(work.main) == moved != base
    await work.do("merge")
    assert content(other) == before
    assert place.ran() is None
    shutil.rmtree(other)
    await work.do("merge/undo")
    assert head(work.main) == moved
    answer = await server.client.http.post(f"/api/worktrees/{work.worktree['id']}/merge", json={})
    refused(answer, 409, "git_failed")
    assert head(work.main) == moved
    assert (await work.state())["worktreeId"] == work.worktree["id"]


def itself(file: Path) -> None:
    file.write_text(f"{file.parent.parent}\n" * 100)


def many(file: Path) -> None:
    file.write_text("".join(f"/proc/self/fd/{number}\n" for number in range(1000)))


def noise(file: Path) -> None:
    file.write_bytes(os.urandom(1_000_000))


async def test_alternates_that_lead_nowhere(server: Running) -> None:
    """F1, W2: Whatever is in the file, looks and merges answer."""
    work = await start(server)
    file = work.main / ".git" / "objects" / "info" / "alternates"
    file.parent.mkdir(exist_ok=True)
    for number, plant in enumerate((itself, many, noise)):
        commit(work.folder, f"{number}.txt")
        plant(file)
        assert (await work.state())["worktreeId"] == work.worktree["id"]
        await work.do("merge")
        file.unlink()
        assert (work.main / f"{number}.txt").exists()


@pytest.mark.parametrize("deep", [False, True])
async def test_very_many_alternates(tmp_path: Path, deep: bool) -> None:
    """S6: A repository that borrows from very many folders, also through others, does not keep git busy: no git call is
    made there, and the error names the file. One that borrows from a few works."""
    top = make_repo(tmp_path / "repo")
    file = top / ".git" / "objects" / "info" / "alternates"
    file.parent.mkdir(exist_ok=True)
    folders = [tmp_path / "many" / str(number) for number in range(40)]
    for folder in folders:
        (folder / "info").mkdir(parents=True)
    file.write_text("".join(f"{folder}\n" for folder in folders))
    assert (await state(str(top))).branch == "main"
    lines = [f"{tmp_path}/many/{number}/x\n" for number in range(100_000)]
    if deep:
        for number, folder in enumerate(folders):
            (folder / "info" / "alternates").write_text("".join(lines[number * 200 : number * 200 + 200]))
    else:
        file.write_text("".join(lines[:20_000]))
    with pytest.raises(GitFailed, match="objects/info/alternates leads to more than 5000 folders"):
        await take(str(top))
