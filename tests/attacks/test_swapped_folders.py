"""Tries to lead the server out of the workspace by replacing a folder after it was checked."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from bough.agents.sandbox.box_paths import BoxRequest, gather
from bough.errors import Denied
from bough.git.safe.location import find
from bough.git.workspace import check_workspace, git_folders
from tests.support.client import Json
from tests.support.eventually import eventually
from tests.support.mcp.tool_server import tool_server
from tests.support.repos import git, make_repo
from tests.support.server import Running, serving


def outside(tmp_path: Path) -> Path:
    """Returns a repository that is outside the workspace root."""
    return make_repo(tmp_path / "outside")


def swap(folder: Path, target: Path) -> None:
    folder.rename(folder.with_name(f"{folder.name}-before"))
    folder.symlink_to(target)


async def refused(server: Running, method: str, path: str, body: Json | None = None) -> None:
    answer = await server.client.http.request(method, path, json=body)
    error: dict[str, Any] = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (403, "path_outside_root"), answer.text


async def test_a_folder_that_became_a_link(tmp_path: Path) -> None:
    """W3: Prompts, restores and new sessions check the folder again."""
    target = outside(tmp_path)
    async with serving(tmp_path) as server:
        folder = server.repo()
        repo = await server.client.repo(folder)
        session = await server.client.session(repo["id"], agent="demo", permissionMode="acceptEdits")
        task = await server.client.ask(session["id"], "[[write a.txt x]]")
        before = sorted(path.name for path in target.iterdir())
        swap(folder, target)
        await refused(server, "POST", f"/api/sessions/{session['id']}/prompt", {"text": "[[write b.txt x]]"})
        await refused(server, "POST", f"/api/tasks/{task['id']}/restore", {"moment": "before"})
        await refused(server, "POST", "/api/sessions", {"repoId": repo["id"], "agent": "demo"})
        assert sorted(path.name for path in target.iterdir()) == before


@pytest.mark.parametrize("part", ["", "sub"])
async def test_a_folder_that_became_a_link_inside_the_workspace(tmp_path: Path, part: str) -> None:
    """W3, S6: A folder leads nowhere else, also not inside the workspace, which is the home folder by default: a link
    to its keys, or to another project, would put these into the agent's sandbox."""
    async with serving(tmp_path) as server:
        folder = server.repo()
        (folder / "sub").mkdir()
        other = make_repo(folder.parent / "other")
        repo = await server.client.repo(folder)
        fields = {"agent": "demo", "permissionMode": "acceptEdits", "folder": part or None}
        session = await server.client.session(repo["id"], **fields)
        task = await server.client.ask(session["id"], "[[write a.txt x]]")
        before = sorted(path.name for path in other.iterdir())
        swap(folder / part, other)
        await refused(server, "POST", f"/api/sessions/{session['id']}/prompt", {"text": "[[write b.txt x]]"})
        await refused(server, "POST", f"/api/tasks/{task['id']}/restore", {"moment": "before"})
        assert sorted(path.name for path in other.iterdir()) == before


def test_another_workspace_root_is_named(tmp_path: Path) -> None:
    """W3: A folder that stays where it was, outside another root than before, is not said to have moved."""
    folder, root = outside(tmp_path), tmp_path / "root"
    root.mkdir()
    with pytest.raises(Denied, match="--workspace-root to allow it") as denied:
        check_workspace(root, tmp_path / "data", str(folder))
    assert "leads to" not in denied.value.message


def test_a_box_is_not_built_around_a_link(tmp_path: Path) -> None:
    """W3, S6: A folder that is swapped after the last check is not opened either."""
    keys = tmp_path / "keys"
    keys.mkdir()
    cwd = make_repo(tmp_path / "repo") / "sub"
    cwd.symlink_to(keys)
    with pytest.raises(Denied, match="leads to"):
        gather(BoxRequest(cwd=str(cwd), read_only=False, data=tmp_path / "data", env={}, command=[]))


async def test_a_turn_that_was_queued_before_the_swap(tmp_path: Path) -> None:
    """W3: A turn checks the folder when it starts, not only when its prompt is queued."""
    target = outside(tmp_path)
    async with serving(tmp_path) as server:
        folder = server.repo()
        repo = await server.client.repo(folder)
        session = await server.client.session(repo["id"], agent="demo", permissionMode="acceptEdits")
        running = await server.client.prompt(session["id"], "[[hang]]")
        await server.client.wait_task(running, "running")
        task = await server.client.prompt(session["id"], "[[write b.txt x]]")
        swap(folder, target)
        await server.client.post(f"/api/sessions/{session['id']}/stop", {})
        await server.client.wait_task(running, "cancelled")
        await server.client.post(f"/api/sessions/{session['id']}/resume", {})
        ended = await server.client.wait_task(task, "failed")
        assert "outside the workspace root" in str(ended)
        assert not (target / "b.txt").exists()


async def test_a_worktree_that_became_a_link(tmp_path: Path) -> None:
    """W3: A removal does not follow a link out of the workspace, also with force."""
    target = outside(tmp_path)
    async with serving(tmp_path) as server:
        repo = await server.client.repo(server.repo())
        worktree = await server.client.post("/api/worktrees", {"repoId": repo["id"], "branch": "side"})
        swap(Path(worktree["path"]), target)
        for query in ("", "?force=true"):
            await refused(server, "DELETE", f"/api/worktrees/{worktree['id']}{query}")
        assert (target / ".git").exists()


@pytest.mark.parametrize("sort", ["link", "file", "common"])
def test_the_git_folder_counts_too(tmp_path: Path, sort: str) -> None:
    """W3: A `.git` that leads outside, by a link or by its content, is refused."""
    root, data = tmp_path / "root", tmp_path / "data"
    folder = root / "repo" / "sub"
    folder.mkdir(parents=True)
    check_workspace(root, data, str(folder))
    target, entry = outside(tmp_path) / ".git", root / "repo" / ".git"
    if sort == "link":
        entry.symlink_to(target)
    elif sort == "file":
        entry.write_text(f"gitdir: {target}\n")
    else:
        (root / "own").mkdir()
        (root / "own" / "commondir").write_text(f"{target}\n")
        entry.write_text("gitdir: ../own\n")
    assert git_folders(str(folder), str(root))
    with pytest.raises(Denied, match="outside the workspace root"):
        check_workspace(root, data, str(folder))


@pytest.mark.parametrize("name", [".git", "commondir"])
def test_a_nul_in_a_git_file(tmp_path: Path, name: str) -> None:
    """W3: A path with a NUL character is refused as a session's folder, and ends where git ends it."""
    root, own = tmp_path / "root", tmp_path / "root" / "own"
    folder = root / "repo"
    folder.mkdir(parents=True)
    target = make_repo(root / "other") / ".git"
    own.mkdir()
    (own / "HEAD").write_text("ref: refs/heads/main\n")
    if name == ".git":
        (folder / ".git").write_text(f"gitdir: {target}\0more\n")
    else:
        (own / "commondir").write_text(f"{target}\0more\n")
        (folder / ".git").write_text("gitdir: ../own\n")
    with pytest.raises(Denied, match="NUL"):
        check_workspace(root, tmp_path / "data", str(folder))
    location = find(str(folder))
    assert location is not None and location.common == str(target)
    assert git(folder, "rev-parse", "--path-format=absolute", "--git-common-dir").rstrip("\n") == str(target)


@pytest.mark.parametrize("name", [".git", "commondir"])
def test_a_pipe_where_a_git_file_was(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """W3: A pipe that takes a file's place after a look at it makes nobody wait."""
    folder = tmp_path / "repo"
    folder.mkdir()
    if name == ".git":
        os.mkfifo(folder / ".git")
    else:
        (folder / ".git").write_text("gitdir: own\n")
        (folder / "own").mkdir()
        os.mkfifo(folder / "own" / "commondir")

    def is_file(_: object) -> bool:
        return True

    monkeypatch.setattr(os.path, "isfile", is_file)
    monkeypatch.setattr(Path, "is_file", is_file)
    check_workspace(tmp_path, tmp_path / "data", str(folder))
    assert find(str(folder)) is None


def test_the_data_folder_counts_too(tmp_path: Path) -> None:
    """W3: A folder that became a link into Bough's data folder is refused."""
    (tmp_path / "data").mkdir()
    (tmp_path / "repo").symlink_to(tmp_path / "data")
    with pytest.raises(Denied, match="data folder"):
        check_workspace(tmp_path, tmp_path / "data", str(tmp_path / "repo"))


async def test_a_link_that_moves_while_a_person_decides(tmp_path: Path) -> None:
    """W3, 5d: A new session works in the folder that a person was asked about, or not at all."""
    async with tool_server(tmp_path) as place:
        shown, private = place.server.root / "shown", place.server.root / "private"
        shown.mkdir()
        private.mkdir()
        link = place.server.root / "link"
        link.symlink_to(shown)
        agent = await place.root("default")
        approval = await place.asked(agent, "create_session", name="x", workingDir=str(link))
        assert str(shown) in approval["reason"]
        link.unlink()
        link.symlink_to(private)
        await place.decide(approval["id"])

        async def carried_out() -> Json | None:
            calls: list[Json] = (await place.client.get(f"/api/sessions/{agent.id}/calls"))["calls"]
            return calls[0] if calls[0]["outcome"] is not None else None

        call = await eventually(carried_out, "the call was carried out")
        assert call["outcome"]["code"] == "folder_changed", call
        paths = [repo["path"] for repo in (await place.client.get("/api/repos"))["repos"]]
        assert str(private) not in paths and str(shown) not in paths
