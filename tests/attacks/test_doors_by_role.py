"""Attacks at the doors of overviews, pins, presets, runs and previews: by agents, viewers and operators."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from bough.core.runs.command import NewRun
from bough.errors import Conflict, NotFound
from bough.model.session import Caller
from tests.api.error_responses import refused
from tests.api.mcp.mcp_client import agent_of, opened
from tests.api.worktree_helpers import at, commit, made, registered
from tests.support.client import Json
from tests.support.people import as_user
from tests.support.repos import git, make_repo
from tests.support.server import Running

ALLOWED = '[run]\ndev = "touch ran-$BOUGH_PORT; sleep 600"\n'
HOSTILE = '[run]\ndev = "touch stolen; sleep 600"\n'


async def test_an_agents_token_opens_no_overview(server: Running) -> None:
    """L1: With its token an agent reads no sidebar and no usage, keeps no pins and presets, and starts, stops and
    previews nothing, in the mildest mode and in the mightiest."""
    for mode in ("plan", "bypassPermissions"):
        session = await opened(server, mode, title=mode)
        mcp = await agent_of(server, session)
        token = mcp._token  # pyright: ignore[reportPrivateUsage]
        async with httpx.AsyncClient(base_url=server.url, headers={"authorization": f"Bearer {token}"}) as http:
            for method, path in (
                ("GET", "/api/sidebar"),
                ("GET", "/api/usage"),
                ("GET", "/api/home"),
                ("GET", "/api/find"),
                ("PUT", f"/api/sessions/{session['id']}/pin"),
                ("DELETE", f"/api/sessions/{session['id']}/pin"),
                ("GET", "/api/presets"),
                ("POST", "/api/presets"),
                ("GET", "/api/runs"),
                ("POST", f"/api/runs/{session['id']}/preview"),
                ("POST", f"/api/worktrees/{session['id']}/runs"),
            ):
                refused(await http.request(method, path), 401, "unauthenticated")


async def test_pins_are_ones_own(server: Running) -> None:
    """L1, O4: A viewer pins for itself alone: nobody else's sidebar changes, and nothing of the session does."""
    session = await server.client.session((await registered(server))["id"], title="Mine")
    before = await server.client.get(f"/api/sessions/{session['id']}")
    async with as_user(server, "vera", "viewer") as viewer, as_user(server, "otto", "operator") as operator:
        await viewer.client.call("PUT", f"/api/sessions/{session['id']}/pin")

        async def pinned(person: Running) -> list[bool]:
            return [row["pinned"] for row in (await person.client.get("/api/sidebar"))["sessions"]]

        assert [await pinned(person) for person in (viewer, operator, server)] == [[True], [False], [False]]
        await operator.client.call("DELETE", f"/api/sessions/{session['id']}/pin")
        assert await pinned(viewer) == [True]
    assert await server.client.get(f"/api/sessions/{session['id']}") == before


async def test_presets_by_role(server: Running) -> None:
    """N3, L1: A viewer starts nothing from a preset, and neither viewers nor operators read values of its variables."""
    repo = await registered(server)
    body = {"name": "wide", "agent": "demo", "permissionMode": "bypassPermissions", "env": {"KEY": "secret-4711"}}
    await server.client.post("/api/presets", body)
    async with as_user(server, "vera", "viewer") as viewer, as_user(server, "otto", "operator") as operator:
        for fields in ({"preset": "wide"}, {"agent": "demo"}):
            answer = await viewer.client.http.post("/api/sessions", json={"repoId": repo["id"], **fields})
            refused(answer, 403, "role_too_low")
        refused(await viewer.client.http.delete("/api/presets/wide"), 403, "role_too_low")
        session = await operator.client.post("/api/sessions", {"repoId": repo["id"], "preset": "wide"})
        assert session["env"] == {"KEY": "***"}
        for person in (viewer, operator):
            for path in ("/api/presets", "/api/presets/wide", f"/api/sessions/{session['id']}"):
                answer = await person.client.http.get(path)
                assert answer.status_code == 200 and "secret-4711" not in answer.text


def linked(file: Path, other: Path) -> None:
    other.write_text(ALLOWED)
    file.unlink()
    file.symlink_to(other)


def longer(file: Path, other: Path) -> None:
    file.write_text(ALLOWED + "#" * 100_000)


def wide(file: Path, other: Path) -> None:
    file.write_bytes(HOSTILE.encode("utf-16"))


def marked(file: Path, other: Path) -> None:
    file.write_bytes(b"\xef\xbb\xbf" + HOSTILE.encode())


def doubled(file: Path, other: Path) -> None:
    file.write_text(ALLOWED + 'dev = "touch stolen"\n')


def lookalike(file: Path, other: Path) -> None:
    file.write_text(ALLOWED.replace("touch", "t\u043euch"))


def piped(file: Path, other: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def with_a_setup(file: Path, other: Path) -> None:
    file.write_text('setup = "touch stolen"\n' + ALLOWED)


CHANGES: tuple[Callable[[Path, Path], None], ...] = (
    *(linked, longer, wide, marked, doubled, lookalike, piped, with_a_setup),
)


async def test_an_operator_runs_only_what_was_allowed(server: Running, tmp_path: Path) -> None:
    """Y3, W5, L1: However an agent changes the file after a person has allowed it, an operator and the agent itself
    start nothing, and neither allows the new content; a submodule's file and one of the folder above count for
    nothing."""
    repo = await registered(server)
    folder = at(repo["path"])
    config = f"/api/repos/{repo['id']}/config"
    commit(folder, ".bough.toml", ALLOWED)
    digest = (await server.client.get(config))["digest"]
    await server.client.call("PATCH", config, json={"digest": digest, "allowed": True})
    worktree: Json = await made(server.client, repo)
    where = f"/api/worktrees/{worktree['id']}/runs"
    file = at(worktree["path"], ".bough.toml")
    inner = make_repo(tmp_path / "inner")
    commit(inner, ".bough.toml", HOSTILE)
    git(at(worktree["path"]), "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner), "sub")
    agent = Caller(kind="session", id=(await server.client.session(repo["id"], worktreeId=worktree["id"]))["id"])
    async with as_user(server, "otto", "operator") as operator:
        for change in CHANGES:
            change(file, tmp_path / "other.toml")
            answer = await operator.client.http.post(where, json={"name": "dev"})
            assert answer.status_code in (404, 409), (change.__name__, answer.text)
            seen = (await server.client.get(config, params={"worktreeId": worktree["id"]}))["digest"]
            fields = {"digest": seen or digest, "allowed": True, "worktreeId": worktree["id"]}
            refused(await operator.client.http.patch(config, json=fields), 403, "role_too_low")
            with pytest.raises((NotFound, Conflict)):
                await server.services.runs.start(agent, worktree["id"], NewRun(name="dev"))
            file.unlink()
            file.write_text(HOSTILE)
        assert (await server.client.get("/api/runs"))["runs"] == []
        assert not list(at(worktree["path"]).glob("**/stolen"))
        file.write_text(ALLOWED)
        assert (await operator.client.post(where, {"name": "dev"}))["startedBy"] == "otto"
