"""Tests how repositories below the workspace root are found, and how folders are listed: quickly, inside the root, and
without following links."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from bough.core.new_repos import find, folders
from bough.core.new_repos.find import find_repos
from tests.api.error_responses import refused
from tests.support.repos import git, make_repo
from tests.support.server import Running

FOLDERS = 10_000


async def test_repositories_are_found(server: Running, tmp_path: Path) -> None:
    """R8: Repositories are found at any depth, the last used first, with their branch; not those in hidden folders,
    folders of packages or behind links, and neither worktrees nor what is inside a repository."""
    root, client = server.root, server.client
    near, far = make_repo(root / "near"), make_repo(root / "a" / "b" / "far")
    git(far, "switch", "--quiet", "--create", "topic/x")
    git(near, "worktree", "add", "--quiet", str(root / "tree"))
    for path in (".hidden/r", "node_modules/r", "near/inner", "a/vendor/r"):
        make_repo(root / path)
    outside = make_repo(tmp_path / "outside")
    (root / "link").symlink_to(outside.parent)
    os.mkdir(os.path.join(os.fsencode(root), b"bad\xff"))
    os.utime(near / ".git" / "index", (1_000_000_000, 1_000_000_000))
    os.utime(near / ".git" / "HEAD", (1_000_000_000, 1_000_000_000))
    os.utime(far / ".git" / "HEAD", (9e10, 9e10))
    known = await client.repo(near)
    answer = await client.get("/api/workspace/repos")
    assert (answer["root"], answer["complete"]) == (str(root), True)
    assert [(repo["folder"], repo["branch"], repo["repoId"]) for repo in answer["repos"]] == [
        ("a/b/far", "topic/x", None),
        ("near", "main", known["id"]),
    ]
    assert answer["repos"][1]["usedAt"] == "2001-09-09T01:46:40.000000Z"
    # A root that is a repository itself does not end the walk.
    make_repo(root)
    below = {repo["folder"] for repo in (await client.get("/api/workspace/repos"))["repos"]}
    assert below == {"", "a/b/far", "near"}


def test_many_folders_are_walked_quickly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """R8: Ten thousand folders take a moment of processor time; the wall clock of a loaded machine says nothing."""
    monkeypatch.setattr(find, "WITHIN", 600.0)
    for number in range(FOLDERS // 100):
        for inner in range(99):
            os.makedirs(tmp_path / f"{number}" / f"{inner}")
    make_repo(tmp_path / "99" / "98" / "deep")
    began = time.thread_time()
    answer = find_repos(str(tmp_path), "/nowhere")
    took = time.thread_time() - began
    assert ([repo.name for repo in answer.repos], answer.complete) == (["deep"], True)
    assert took < 3


def test_the_walk_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """R8: A walk that would take too long is cut off and says so; near repositories are found first."""
    make_repo(tmp_path / "z")
    make_repo(tmp_path / "a" / "b" / "c")
    monkeypatch.setattr(find, "MOST_FOLDERS", 3)
    answer = find_repos(str(tmp_path), "/nowhere")
    assert ([repo.name for repo in answer.repos], answer.complete) == (["z"], False)
    monkeypatch.setattr(find, "MOST_FOLDERS", 100)
    monkeypatch.setattr(find, "MOST_DEPTH", 2)
    assert [repo.name for repo in find_repos(str(tmp_path), "/nowhere").repos] == ["z"]
    monkeypatch.setattr(find, "WITHIN", -1.0)
    assert find_repos(str(tmp_path), "/nowhere") == find.FoundRepos(str(tmp_path), [], complete=False)


async def test_folders_are_listed(server: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """R8, W3: Folders are listed by name below the root, never outside of it or through a link, and never Bough's
    own."""
    root, client = server.root, server.client
    repo = await client.repo(make_repo(root / "Beta"))
    for name in ("alpha/inner", ".hidden", "alpha/.git"):
        (root / name).mkdir(parents=True)
    (root / "file").touch()
    (root / "link").symlink_to(tmp_path)
    answer = await client.get("/api/workspace/folders")
    assert (answer["path"], answer["parent"], answer["more"]) == (str(root), None, False)
    assert [(entry["name"], entry["isGit"], entry["repoId"]) for entry in answer["folders"]] == [
        ("alpha", True, None),
        ("Beta", True, repo["id"]),
    ]
    inner = await client.get("/api/workspace/folders", params={"path": str(root / "alpha")})
    assert (inner["parent"], inner["isGit"], [entry["name"] for entry in inner["folders"]]) == (
        *(str(root), True),
        ["inner"],
    )
    for path in (tmp_path, root / "link", root / "alpha" / ".." / "..", "/etc", server.data):
        refused(await client.http.get("/api/workspace/folders", params={"path": str(path)}), 403)
    refused(await client.http.get("/api/workspace/folders", params={"path": str(root / "none")}), 400, "path_missing")
    refused(await client.http.get("/api/workspace/folders", params={"path": "alpha"}), 400, "path_not_absolute")
    monkeypatch.setattr(folders, "MOST_LISTED", 1)
    cut = await client.get("/api/workspace/folders")
    assert (len(cut["folders"]), cut["more"]) == (1, True)


def test_a_folder_that_becomes_a_link_is_not_listed(tmp_path: Path) -> None:
    """R8, W3: A folder that an agent replaces by a link after it was checked is not read."""
    secret = tmp_path / "secret"
    (secret / "keys").mkdir(parents=True)
    (tmp_path / "a").symlink_to(secret)
    with pytest.raises(OSError, match=r"link|Not a directory"):
        folders._listed(str(tmp_path / "a"), "/nowhere")  # pyright: ignore[reportPrivateUsage]
    assert find_repos(str(tmp_path), "/nowhere").repos == []
