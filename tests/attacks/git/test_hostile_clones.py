"""Attacks on clones: by repositories that name programs, by folders that are cloned, and by agents that change folders
meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest

from bough.core.new_repos import growing_folder
from bough.errors import BoughError
from tests.api.rest.repos.test_clones import ended, start
from tests.api.worktree_helpers import commit
from tests.support.repos import git, make_repo
from tests.support.server import Running


async def test_a_hostile_repository_is_cloned_without_harm(
    server: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R7, S10: Neither the filters and hooks that a person has at home, nor submodules and links of the repository, run
    or write anything outside of the clone."""
    mark, home = tmp_path / "ran", tmp_path / "home"
    hooks = home / "template" / "hooks"
    hooks.mkdir(parents=True)
    (hooks / "post-checkout").write_text(f"#!/bin/sh\ntouch {mark}\n")
    (hooks / "post-checkout").chmod(0o755)
    (home / ".gitconfig").write_text(
        f'[filter "own"]\n\tsmudge = touch {mark}; cat\n\tprocess = touch {mark}\n'
        f"[init]\n\ttemplateDir = {home / 'template'}\n[submodule]\n\trecurse = true\n"
        f"[protocol]\n\tallow = always\n[core]\n\thooksPath = {hooks}\n\tfsmonitor = touch {mark}\n"
    )
    source = make_repo(tmp_path / "elsewhere")
    commit(source, ".gitattributes", "* filter=own\n")
    commit(source, ".gitmodules", f'[submodule "s"]\n\tpath = s\n\turl = ext::sh -c "touch {mark}"\n')
    git(source, "update-index", "--add", "--cacheinfo", f"160000,{git(source, 'rev-parse', 'HEAD').strip()},s")
    (source / "out").symlink_to(tmp_path / "target")
    git(source, "add", "out")
    git(source, "commit", "--quiet", "--message", "Add a submodule and a link.")
    monkeypatch.setenv("HOME", str(home))
    done = await ended(server.client, await start(server.client, source, path="a"))
    assert (done["state"], done["error"]) == ("done", None)
    assert (server.root / "a" / ".gitattributes").read_text() == "* filter=own\n"
    assert list((server.root / "a" / "s").iterdir()) == []
    assert not mark.exists()
    assert not (tmp_path / "target").exists()
    assert not (server.root / "a" / ".git" / "hooks").exists()
    report = await server.client.get(f"/api/repos/{done['repoId']}/git")
    assert report["allowed"] is None


async def test_a_folder_that_is_cloned_runs_nothing(server: Running, tmp_path: Path) -> None:
    """R7, S10: The configuration of a folder that is cloned from names programs, which do not run."""
    mark = tmp_path / "ran"
    source = server.repo("evil")
    (source / ".git" / "objects" / "info").mkdir(exist_ok=True)
    (source / ".git" / "objects" / "info" / "alternates").write_text(f"{server.root}/evil/.git/objects\n")
    for name, value in (
        ("core.alternateRefsCommand", f"touch {mark}"),
        ("core.fsmonitor", f"touch {mark}"),
        ("uploadpack.packObjectsHook", f"touch {mark}"),
        ("extensions.partialClone", "origin"),
        ("remote.origin.url", f"ext::touch {mark}"),
    ):
        git(source, "config", name, value)
    await ended(server.client, await start(server.client, source, path="copy"))
    assert not mark.exists()


def test_a_clone_does_not_follow_a_swapped_folder(tmp_path: Path) -> None:
    """R7, W3: A clone is neither begun, moved nor removed through a link that an agent has put in the place of the
    folder above it."""
    above, outside = tmp_path / "above", tmp_path / "outside"
    target = str(above / "clone")
    folder = growing_folder.growing_folder(target, "1")
    for path in (above, outside):
        path.mkdir()
    growing_folder.create(folder)
    above.rename(tmp_path / "moved")
    above.symlink_to(outside)
    (outside / ".bough-clone-1").mkdir()
    with pytest.raises(BoughError):
        growing_folder.create(growing_folder.growing_folder(target, "2"))
    with pytest.raises(BoughError):
        growing_folder.move(folder, target)
    with pytest.raises(BoughError):
        growing_folder.remove(folder)
    assert [path.name for path in outside.iterdir()] == [".bough-clone-1"]
    # What grows may have become a link itself.
    above.unlink()
    (tmp_path / "moved").rename(above)
    (above / ".bough-clone-1").rmdir()
    (above / ".bough-clone-1").symlink_to(outside)
    with pytest.raises(BoughError):
        growing_folder.remove(folder)
    assert (outside / ".bough-clone-1").is_dir()
