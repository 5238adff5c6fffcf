"""Tests that every path must resolve to a place inside the workspace root."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from tests.api.error_responses import refused
from tests.support.repos import git, make_repo
from tests.support.server import Running, serving


async def register(server: Running, path: str | Path) -> Any:
    return await server.client.http.post("/api/repos", json={"path": str(path)})


async def escapes(server: Running, path: str | Path) -> None:
    """Refused as an escape, and written to the log as one, with what was asked for and where it led."""
    with capture_logs() as lines:
        answer = await register(server, path)
    refused(answer, 403, "path_outside_root")
    told = [line for line in lines if line["event"] == "path_escape"]
    assert len(told) == 1
    assert told[0]["given"] == str(path)
    assert told[0]["log_level"] == "warning"
    assert not Path(told[0]["resolved"]).is_relative_to(server.root)
    assert (await server.client.get("/api/repos"))["total"] == 0


async def test_what_lies_inside_is_taken(server: Running) -> None:
    """W3: a folder inside, a link from inside to inside and the root itself, each under its real path."""
    repo = server.repo("project")
    (server.root / "link").symlink_to(repo)
    (server.root / "plain").mkdir()
    spelled: list[tuple[str | Path, Path]] = [
        (repo, repo),
        (server.root / "link", repo),
        (f"{server.root}//project/./", repo),
        (f"{server.root}/plain/../project", repo),
        (server.root / "plain", server.root / "plain"),
        (server.root, server.root),
    ]
    for given, real in spelled:
        answer = await register(server, given)
        assert answer.status_code == 201, answer.text
        assert answer.json()["path"] == str(real)
    assert (await server.client.get("/api/repos"))["total"] == 3


async def test_paths_out_of_the_root_are_escapes(server: Running, tmp_path: Path) -> None:
    """W3, seed 004: `..`, links, look-alike siblings and other cases lead out, whether or not anything is there."""
    outside = make_repo(tmp_path / "outside")
    evil = make_repo(server.root.with_name(server.root.name + "-evil"))
    inside = server.root / "inside"
    inside.mkdir()
    (server.root / "link").symlink_to(outside)
    (server.root / "chain").symlink_to(server.root / "link")
    (server.root / "up").symlink_to("..")
    (server.root / "dangling").symlink_to(tmp_path / "nothing" / "here")
    out: list[str | Path] = [
        outside,
        evil,
        tmp_path / "nothing",
        server.root / "..",
        f"{server.root}/../outside",
        f"{inside}/../../outside",
        f"{server.root}/link/../outside",
        server.root / "link",
        server.root / "chain",
        server.root / "up",
        server.root / "up" / "outside",
        server.root / "dangling",
        str(server.root).swapcase(),
        "/",
        "/etc",
        "/etc/passwd",
        "/proc/self/cwd",
    ]
    for path in out:
        await escapes(server, path)


async def test_the_home_folder_is_no_way_out(server: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """W3: `~` is the home folder and counts as what it stands for."""
    monkeypatch.setenv("HOME", str(tmp_path))
    await escapes(server, "~")
    await escapes(server, "~/outside")
    await escapes(server, f"~/{server.root.name}/../x")
    monkeypatch.setenv("HOME", str(server.root))
    server.repo("project")
    assert (await register(server, "~/project")).json()["path"] == str(server.root / "project")


async def test_paths_that_are_none(server: Running) -> None:
    """W3: what is not absolute, no folder, too long or no path at all is told so and is no security matter."""
    (server.root / "file").write_text("x")
    (server.root / "loop").symlink_to(server.root / "loop")
    wrong = {
        "": "bad_path",
        "a\0b": "bad_path",
        f"{server.root}/a\0b": "bad_path",
        "/" + "a/" * 3000: "bad_path",
        f"{server.root}/{'x' * 300}": "bad_path",
        "project": "path_not_absolute",
        "./project": "path_not_absolute",
        "../outside": "path_not_absolute",
        "~nobody-of-this-name": "path_not_absolute",
        "file:///etc": "path_not_absolute",
        str(server.root / "file"): "path_missing",
        str(server.root / "missing"): "path_missing",
        str(server.root / "loop"): "path_missing",
    }
    with capture_logs() as lines:
        for path, code in wrong.items():
            refused(await register(server, path), 400, code)
    assert not [line for line in lines if line["event"] == "path_escape"]


async def test_a_repository_cannot_point_out(server: Running, tmp_path: Path) -> None:
    """W3: A working copy whose git configuration names another top folder is judged by that folder."""
    outside = make_repo(tmp_path / "outside")
    trap = server.repo("trap")
    git(trap, "config", "core.worktree", str(outside))
    with capture_logs() as lines:
        refused(await register(server, trap), 403, "path_outside_root")
    assert [line for line in lines if line["event"] == "path_escape"]


async def test_a_known_repository_that_moved_out_is_refused(server: Running, tmp_path: Path) -> None:
    """W3, seed 004: the path is looked at again when a session is opened, not only when it was registered."""
    outside = make_repo(tmp_path / "outside")
    repo = await server.client.repo(server.repo("project"))
    (server.root / "project").rename(tmp_path / "moved")
    asked = {"repoId": repo["id"], "agent": "demo"}
    refused(await server.client.http.post("/api/sessions", json=asked), 400, "path_missing")
    (server.root / "project").symlink_to(outside)
    with capture_logs() as lines:
        refused(await server.client.http.post("/api/sessions", json=asked), 403, "path_outside_root")
    assert [line["event"] for line in lines if line["log_level"] == "warning"] == ["path_escape"]
    assert (await server.client.get("/api/sessions"))["total"] == 0


async def test_a_narrower_root_shuts_known_repositories_out(tmp_path: Path) -> None:
    """W3: after a restart with another root, what was registered before is judged by the new one."""
    async with serving(tmp_path) as server:
        repo = await server.client.repo(server.repo("project"))
        narrow = server.root / "narrow"
        narrow.mkdir()
    async with serving(tmp_path, workspace_root=str(narrow)) as server:
        answer = await server.client.http.post("/api/sessions", json={"repoId": repo["id"], "agent": "demo"})
        refused(answer, 403, "path_outside_root")


async def test_context_files_stay_in_the_folder(server: Running, tmp_path: Path) -> None:
    """W3: a context file is a file of the session's own folder, however it is spelled."""
    (tmp_path / "secret").write_text("x")
    repo = server.repo("project")
    sibling = server.repo("project-evil")
    (repo / "link").symlink_to(tmp_path / "secret")
    known = await server.client.repo(repo)
    (repo / "loop").symlink_to("loop")
    session = await server.client.session(known["id"], contextFiles=["README.md", "./README.md"])
    assert session["contextFiles"] == [str(repo / "README.md")] * 2

    async def both_refuse(name: str, status: int) -> None:
        body = {"contextFiles": [name]}
        asked = {"repoId": known["id"], "agent": "demo", **body}
        refused(await server.client.http.post("/api/sessions", json=asked), status)
        refused(await server.client.http.patch(f"/api/sessions/{session['id']}", json=body), status)

    for name in ("missing", ".", "loop", "", "a\0b", "x" * 300, "x" * 5000):
        await both_refuse(name, 400)
    out = ["../project-evil/README.md", str(sibling / "README.md"), "link", str(tmp_path / "secret"), "/etc/passwd"]
    with capture_logs() as lines:
        for name in out:
            await both_refuse(name, 403)
    assert [line["given"] for line in lines if line["event"] == "path_escape"] == [
        name for name in out for _ in range(2)
    ]


async def test_the_data_folder_is_no_place_to_work(tmp_path: Path) -> None:
    """W3: what lies in Bough's own data folder is refused and logged; a folder that contains it is not."""
    async with serving(tmp_path, workspace_root=str(tmp_path)) as server:
        inside = make_repo(server.data / "repo")
        (tmp_path / "link").symlink_to(server.data)
        for path in (server.data, inside, tmp_path / "link", tmp_path / "link" / "repo", server.data / "nothing"):
            with capture_logs() as lines:
                refused(await register(server, path), 403, "path_in_data_folder")
            assert [line["event"] for line in lines if line["log_level"] == "warning"] == ["path_in_data_folder"]
        home = (await register(server, tmp_path)).json()
        token = {"contextFiles": [str(server.data / "token")]}
        asked = {"repoId": home["id"], "agent": "demo"}
        refused(await server.client.http.post("/api/sessions", json=asked | token), 403, "path_in_data_folder")
        session = await server.client.session(home["id"])
        path = f"/api/sessions/{session['id']}"
        refused(await server.client.http.patch(path, json=token), 403, "path_in_data_folder")
        # What was registered before is judged again.
        moved = (await register(server, make_repo(tmp_path / "project"))).json()
        (tmp_path / "project").rename(tmp_path / "elsewhere")
        (tmp_path / "project").symlink_to(inside)
        asked["repoId"] = moved["id"]
        refused(await server.client.http.post("/api/sessions", json=asked), 403, "path_in_data_folder")


async def test_the_git_folder_stands_for_its_working_copy(server: Running) -> None:
    """R1, L3: whatever lies in `.git` means the top of the working copy; a bare repository is its own."""
    repo = server.repo("project")
    for inside in (".git", ".git/refs", ".git/objects/info"):
        answer = await register(server, repo / inside)
        assert answer.status_code == 201, answer.text
        assert answer.json()["path"] == str(repo)
    git(server.root, "init", "--quiet", "--bare", "bare.git")
    assert (await register(server, server.root / "bare.git")).json()["path"] == str(server.root / "bare.git")
    assert (await server.client.get("/api/repos"))["total"] == 2


async def test_a_known_repository_keeps_its_name(server: Running) -> None:
    """R1: registered again it is given back; under another name it is refused, and the answer says which it is."""
    path = server.repo("project")
    body = {"path": str(path), "name": "Mine"}
    first = await server.client.post("/api/repos", body)
    assert await server.client.post("/api/repos", body) == first
    assert await server.client.repo(path) == first
    answer = await server.client.http.post("/api/repos", json=body | {"name": "Other"})
    error = refused(answer, 409, "repo_known")
    assert error["details"] == {"repoId": first["id"], "name": "Mine"}
    assert "Mine" in error["message"]
