"""Tests how one git process is started and given up, and which links in a git folder stop it."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bough.git import process, worktrees
from bough.git.process import GitFailed
from bough.git.run import git
from bough.git.safe import landlock, opened_paths
from bough.git.safe.configured_programs import ConfiguredRepository, find_repository
from tests.support.eventually import eventually
from tests.support.repos import make_repo


async def test_a_disk_that_does_not_respond_stops_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """O2: The event loop continues although the start of git hangs, and the call ends with its limit."""
    repo, back = str(make_repo(tmp_path / "repo")), threading.Event()
    start: Any = process._in_limits  # pyright: ignore[reportPrivateUsage]

    def slow(*arguments: Any) -> Any:
        back.wait()
        return start(*arguments)

    monkeypatch.setattr(process, "_in_limits", slow)
    monkeypatch.setattr(landlock, "version", lambda: landlock.OLDEST)
    monkeypatch.setattr("bough.git.run.GRACE", 0.05)
    try:
        with pytest.raises(GitFailed, match="took longer"):
            await git(repo, "rev-parse", "HEAD", timeout=0.1)
    finally:
        back.set()


async def test_a_persons_own_links_stop_nothing(tmp_path: Path) -> None:
    """W3: The lock that an editor puts beside a commit message, and a link that git does not write, are no attack."""
    repo = make_repo(tmp_path / "repo")
    (repo / ".git" / ".#COMMIT_EDITMSG").symlink_to("ada@host.1")
    (repo / ".git" / "notes").symlink_to(tmp_path)
    await git(str(repo), "update-ref", "refs/bough/heron", "HEAD")
    (repo / ".git" / "refs" / "heads" / "evil").symlink_to(tmp_path / "victim")
    with pytest.raises(GitFailed, match="is a link"):
        await git(str(repo), "update-ref", "refs/bough/other", "HEAD")
    assert len(await worktrees.list_worktrees(str(repo))) == 1


@pytest.mark.skipif(landlock.version() == 0, reason="The kernel has no Landlock.")
def test_a_path_that_became_a_link_is_only_closed(tmp_path: Path) -> None:
    """S6: A link in place of a folder that git may write opens nothing, and breaks nothing either."""
    (tmp_path / "open").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    rights = {str(tmp_path / name): landlock.EVERYTHING for name in ("open", "link", "missing")}
    assert _writable(tmp_path, rights) == ["open"]


def _writable(folder: Path, rights: Mapping[str, int]) -> list[str]:
    """Returns the folders that a thread with these rights can write."""
    names: list[str] = []

    def work() -> None:
        landlock.enter(rights)
        for name in ("open", "elsewhere"):
            try:
                os.close(os.open(folder / name / "file", os.O_WRONLY | os.O_CREAT))
            except PermissionError:
                continue
            names.append(name)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return names


async def test_a_hanging_look_for_the_repository_ends_with_its_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """O2: A disk that hangs before git is started takes neither longer than the limit nor the threads of others."""
    repo, other, back = str(make_repo(tmp_path / "repo")), str(make_repo(tmp_path / "other")), threading.Event()

    def slow(cwd: str) -> ConfiguredRepository | None:
        if cwd == repo:
            back.wait()
        return find_repository(cwd)

    monkeypatch.setattr("bough.git.run.find_repository", slow)
    try:
        for _ in range(40):
            with pytest.raises(GitFailed, match="respond") as failure:
                await git(repo, "status", timeout=0.05)
            assert failure.value.code == "git_timeout"
        assert "main" in await git(other, "status")
    finally:
        back.set()

    async def responds() -> bool:
        try:
            return "main" in await git(repo, "status")
        except GitFailed:
            return False

    await eventually(responds)


def test_a_dead_folder_of_the_settings_holds_up_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """O2: A folder of `sandbox_write` on a disk that does not respond is left out; the others are opened once."""
    back, real = threading.Event(), os.path.realpath
    (tmp_path / "good").mkdir()

    def slow(path: Any) -> Any:
        if str(path).endswith("dead"):
            back.wait()
        return real(path)

    monkeypatch.setattr("bough.git.safe.opened_paths.os.path.realpath", slow)
    try:
        paths = [str(tmp_path / name) for name in ("dead", "good", "missing")]
        opened_paths.open_all(paths, within=3)
        assert list(opened_paths.opened()) == [str(tmp_path / "good")]
    finally:
        back.set()
        opened_paths.open_all([])


@pytest.mark.skipif(landlock.version() == 0, reason="The kernel has no Landlock.")
async def test_git_works_on_file_systems_without_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """O2: Where the kernel does not find its rules again, git runs without them, and links are still refused."""
    repo, known = make_repo(tmp_path / "repo"), dict[int, bool]()
    assert landlock.works_at(str(repo))
    monkeypatch.setattr(landlock, "_works", known)

    def add_nothing(*_: object) -> None:
        return None

    monkeypatch.setattr(landlock, "_add_rule", add_nothing)
    assert not landlock.works_at(str(repo))
    await git(str(repo), "update-ref", "refs/bough/heron", "HEAD")
    (repo / ".git" / "objects" / "aa").symlink_to(tmp_path)
    with pytest.raises(GitFailed, match="is a link"):
        await git(str(repo), "hash-object", "-w", "README.md")
