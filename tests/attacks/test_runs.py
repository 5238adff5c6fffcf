"""Attacks on runs: by people who may not type a command, by agents, by repositories, and by what is printed."""

from __future__ import annotations

import json

import pytest

from bough.core.runs.command import NewRun
from bough.core.runs.log_text import log_text
from bough.errors import Denied
from bough.model.session import Caller
from tests.api.error_responses import refused
from tests.api.mcp.mcp_client import agent_of, directive
from tests.api.worktree_helpers import at, commit, made, registered
from tests.support.client import Json
from tests.support.eventually import eventually
from tests.support.people import as_user
from tests.support.server import Running

CONFIG = '[run]\ndev = "echo up; sleep 600"\n'


async def configured(server: Running) -> tuple[Json, Json]:
    repo = await registered(server)
    commit(at(repo["path"]), ".bough.toml", CONFIG)
    where = f"/api/repos/{repo['id']}/config"
    digest = (await server.client.get(where))["digest"]
    await server.client.call("PATCH", where, json={"digest": digest, "allowed": True})
    return repo, await made(server.client, repo)


async def test_roles_of_runs(server: Running) -> None:
    """Y3, L1: A viewer starts and stops nothing; an operator runs what an admin allowed, but types no command."""
    _, worktree = await configured(server)
    path = f"/api/worktrees/{worktree['id']}/runs"
    async with as_user(server, "vera", "viewer") as viewer, as_user(server, "otto", "operator") as operator:
        refused(await viewer.client.http.post(path, json={"name": "dev"}), 403, "role_too_low")
        refused(await operator.client.http.post(path, json={"command": "id"}), 403, "role_too_low")
        run = await operator.client.post(path, {"name": "dev"})
        assert run["startedBy"] == "otto"
        refused(await viewer.client.http.post(f"/api/runs/{run['id']}/stop"), 403, "role_too_low")
        assert (await viewer.client.get("/api/runs"))["runs"][0]["state"] == "running"


async def test_an_agent_runs_nothing_by_itself(server: Running) -> None:
    """Y3, P3: An agent's wish to run a command waits for a person even in the most powerful mode; what was shown is
    what runs, or nothing does. It types no command, and reads no log of a stranger's worktree."""
    client = server.client
    repo, worktree = await configured(server)
    session = await client.post(
        "/api/sessions", {"worktreeId": worktree["id"], "agent": "demo", "permissionMode": "allow-all"}
    )
    task_id = await client.prompt(session["id"], directive("agor_worktrees_run", worktreeId=worktree["id"], name="dev"))
    approval = await client.approval(session["id"])
    assert "echo up; sleep 600" in json.dumps(approval)
    at(worktree["path"], ".bough.toml").write_text('[run]\ndev = "touch stolen"\n')
    await client.post(f"/api/approvals/{approval['id']}", {"decision": "allow"})
    await client.wait_task(task_id)
    mcp = await agent_of(server, session)
    assert (await client.get("/api/runs"))["runs"] == []
    assert not at(worktree["path"], "stolen").exists()
    agent = Caller(kind="session", id=session["id"])
    with pytest.raises(Denied, match="Only people"):
        await server.services.runs.start(agent, worktree["id"], NewRun(command="id"))
    other = await made(client, repo, "other")
    await client.post(f"/api/worktrees/{other['id']}/runs", {"command": "echo secret; sleep 600"})
    await mcp.refused("agor_worktrees_run_log", "worktree_out_of_reach", worktreeId=other["id"])


async def test_an_agent_reads_the_log_of_its_worktree(server: Running) -> None:
    """Y3: An agent reads what a command in its own worktree printed."""
    client = server.client
    _, worktree = await configured(server)
    session = await client.post("/api/sessions", {"worktreeId": worktree["id"], "agent": "demo"})
    await client.wait_task(await client.prompt(session["id"], "[[say up]]"))
    mcp = await agent_of(server, session)
    await mcp.refused("agor_worktrees_run_log", "run_not_found", worktreeId=worktree["id"])
    await client.post(f"/api/worktrees/{worktree['id']}/runs", {"name": "dev"})

    async def printed() -> bool:
        answer = await mcp.call("agor_worktrees_run_log", worktreeId=worktree["id"], name="dev")
        return "up\n" in answer["log"] and answer["state"] == "running"

    await eventually(printed, "the agent reads the log")


async def test_a_swapped_folder_runs_nothing(server: Running) -> None:
    """Y3, W3: If an agent replaces a worktree by a link that leads elsewhere, nothing is run there."""
    _, worktree = await configured(server)
    path = at(worktree["path"])
    path.rename(server.root / "elsewhere")
    path.symlink_to("/")
    answer = await server.client.http.post(f"/api/worktrees/{worktree['id']}/runs", json={"command": "true"})
    refused(answer, 403, "path_outside_root")
    assert (await server.client.get("/api/runs"))["runs"] == []


def test_a_log_is_only_text() -> None:
    """Y3: Escape sequences, also ones that are cut off, and hidden characters of a log reach nobody."""
    hostile = b"\x1b]0;owned\x07a\x1b]52;c;ZXZpbA==\x1b\\b\x1b[31mc\x1b[0m\x1bP$qm\x1b\\d\x9b2J\xe2\x80\xaee\x1b[3"
    text = log_text(hostile, is_cut=False)
    assert text.startswith("abcd")
    assert all(character.isprintable() for character in text)
    assert log_text(b"half a line\nwhole\n", is_cut=True) == "whole\n"
    assert log_text(b"1%\r50%\r100%\r\n", is_cut=False) == "100%\n"
    assert log_text(b"\x1b]" + b"x" * 100_000, is_cut=False).isprintable()
