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
    """Checks that a path is refused as an escape, and logged once with the given path and its target."""
    with capture_logs() as lines:
        answer = await register(server, path)
    refused(answer, 403, "path_outside_root")
    escapes = [line for line in lines if line["event"] == "path_escape"]
    assert len(escapes) == 1
    assert escapes[0]["given"] == str(path)
    assert escapes[0]["log_level"] == "warning"
    assert not Path(escapes[0]["resolved"]).is_relative_to(server.root)
    assert (await server.client.get("/api/repos"))["total"] == 0


async def test_paths_inside_the_root_are_accepted(server: Running) -> None:
    """W3: Accepts folders inside the root, links between them and the root itself, and stores the real path."""
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
    for spelling, real in spelled:
        answer = await register(server, spelling)
        assert answer.status_code == 201, answer.text
        assert answer.json()["path"] == str(real)
    assert (await server.client.get("/api/repos"))["total"] == 3


async def test_paths_outside_the_root_are_refused(server: Running, tmp_path: Path) -> None:
    """W3, seed 004: Paths that leave the root through `..`, links, similar names or case are refused, existing or
    not."""
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


async def test_the_home_folder_is_checked_too(server: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """W3: `~` is expanded to the home folder before the path is checked."""
    monkeypatch.setenv("HOME", str(tmp_path))
    await escapes(server, "~")
    await escapes(server, "~/outside")
    await escapes(server, f"~/{server.root.name}/../x")
    monkeypatch.setenv("HOME", str(server.root))
    server.repo("project")
    assert (await register(server, "~/project")).json()["path"] == str(server.root / "project")


async def test_invalid_paths_are_not_escapes(server: Running) -> None:
    """W3: Paths that are relative, too long, malformed or not a folder are refused, but not logged as escapes."""
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


async def test_git_configuration_cannot_lead_outside(server: Running, tmp_path: Path) -> None:
    """W3: A working copy whose git configuration names another top folder is checked by that folder."""
    outside = make_repo(tmp_path / "outside")
    trap = server.repo("trap")
    git(trap, "config", "core.worktree", str(outside))
    with capture_logs() as lines:
        refused(await register(server, trap), 403, "path_outside_root")
    assert [line for line in lines if line["event"] == "path_escape"]


async def test_a_repository_that_moved_outside_is_refused(server: Running, tmp_path: Path) -> None:
    """W3, seed 004: The path is checked again when a session is created, not only at registration."""
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


async def test_a_narrower_root_excludes_known_repositories(tmp_path: Path) -> None:
    """W3: After a restart with another root, repositories that are already registered must be inside the new root."""
    async with serving(tmp_path) as server:
        repo = await server.client.repo(server.repo("project"))
        narrow = server.root / "narrow"
        narrow.mkdir()
    async with serving(tmp_path, workspace_root=str(narrow)) as server:
        answer = await server.client.http.post("/api/sessions", json={"repoId": repo["id"], "agent": "demo"})
        refused(answer, 403, "path_outside_root")


async def test_context_files_stay_in_the_folder(server: Running, tmp_path: Path) -> None:
    """W3: A context file must be inside the session's folder, however its path is written."""
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


async def test_the_data_folder_is_refused(tmp_path: Path) -> None:
    """W3: Paths inside Bough's data folder are refused and logged; a folder that contains it needs a person's
    word."""
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
        confirmed = asked | token | {"confirmFolder": True}
        refused(await server.client.http.post("/api/sessions", json=confirmed), 403, "path_in_data_folder")
        refused(await server.client.http.post("/api/sessions", json=asked), 409, "folder_unconfirmed")
        session = await server.client.session(home["id"], confirmFolder=True)
        path = f"/api/sessions/{session['id']}"
        refused(await server.client.http.patch(path, json=token), 403, "path_in_data_folder")
        # A registered repository is checked again.
        moved = (await register(server, make_repo(tmp_path / "project"))).json()
        (tmp_path / "project").rename(tmp_path / "elsewhere")
        (tmp_path / "project").symlink_to(inside)
        asked["repoId"] = moved["id"]
        refused(await server.client.http.post("/api/sessions", json=asked), 403, "path_in_data_folder")


async def test_a_path_inside_git_means_its_working_copy(server: Running) -> None:
    """R1, L3: A path inside `.git` registers the top of its working copy; a bare repository registers itself."""
    repo = server.repo("project")
    for inside in (".git", ".git/refs", ".git/objects/info"):
        answer = await register(server, repo / inside)
        assert answer.status_code == 201, answer.text
        assert answer.json()["path"] == str(repo)
    git(server.root, "init", "--quiet", "--bare", "bare.git")
    assert (await register(server, server.root / "bare.git")).json()["path"] == str(server.root / "bare.git")
    assert (await server.client.get("/api/repos"))["total"] == 2


async def test_a_known_repository_keeps_its_name(server: Running) -> None:
    """R1: Registering a repository again returns it; with another name it is refused, and the error gives the known
    one."""
    path = server.repo("project")
    body = {"path": str(path), "name": "Mine"}
    first = await server.client.post("/api/repos", body)
    assert await server.client.post("/api/repos", body) == first
    assert await server.client.repo(path) == first
    answer = await server.client.http.post("/api/repos", json=body | {"name": "Other"})
    error = refused(answer, 409, "repo_known")
    assert error["details"] == {"repoId": first["id"], "name": "Mine"}
    assert "Mine" in error["message"]
