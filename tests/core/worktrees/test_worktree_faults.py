"""W1, W2, Q4: Tests a database that fails while a worktree is created, set up or removed: none stays half done until a
restart."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from bough.core.store.sql import REPOS, SESSIONS, WORKTREES
from bough.core.store.transactions import Change
from bough.core.worktrees import repair
from bough.core.worktrees.creation import setup
from bough.core.worktrees.for_branch import MARKS, marked
from bough.core.worktrees.repair import WorktreeRepair
from bough.git import worktrees
from bough.git.run import GitFailed
from bough.git.safe import permissions
from bough.git.safe.location import find as find_location
from bough.model.repo import Worktree
from bough.model.values.times import before
from bough.storage.queries import Query
from tests.api.error_responses import Json, refused
from tests.api.worktree_helpers import at, known_to_git, made, registered
from tests.support.eventually import eventually
from tests.support.faults.database_faults import ERRORS, Fault, failing
from tests.support.repos import git
from tests.support.server import Running


def change(**columns: Any) -> Any:
    """Returns the query by which exactly these columns of a worktree are changed."""
    return WORKTREES.patch.with_(set=", ".join(f"{name} = :{name}" for name in columns))


STATUS, SETUP_ENDED, OUTPUT = change(status=0), change(status=0, setup_error=0, setup_output=0), change(setup_output=0)
REMOVED = change(
    status=0, removed_at=0, recovery_ref=0, recovery_sha=0, board_id=0, first_port=0, branch=0, branch_made=0
)


async def abandon(server: Running, worktree: Json, status: str) -> None:
    """Leaves a worktree as somebody would who gave up while the database was away."""
    with sqlite3.connect(server.data / "bough.db", timeout=30) as database:
        database.execute("UPDATE worktrees SET status = ? WHERE id = ?", (status, worktree["id"]))


@pytest.mark.parametrize("fault", ["full", "lost"])
async def test_a_removal_whose_claim_failed(server: Running, fault: Fault) -> None:
    """W2: It can be used again, and removed."""
    repo = await registered(server)
    worktree = await made(server.client, repo)
    path = f"/api/worktrees/{worktree['id']}"
    with failing(server.services.store.db, "transaction", WORKTREES.active_sessions, fault=fault):
        refused(await server.client.http.delete(path), 503, ERRORS[fault][0])
    assert (await server.client.get(path))["status"] == "ready"
    await server.client.call("DELETE", path)
    assert not at(worktree["path"]).exists()


async def test_an_abandoned_removal_is_taken_over(server: Running) -> None:
    """W2: The next removal continues one that could neither be completed nor given up."""
    worktree = await made(server.client, await registered(server))
    await abandon(server, worktree, "removing")
    await server.client.call("DELETE", f"/api/worktrees/{worktree['id']}")
    assert not at(worktree["path"]).exists()


@pytest.mark.parametrize("fault", ["full", "lost"])
async def test_the_end_of_a_removal_is_stored(server: Running, fault: Fault) -> None:
    """W2: A worktree whose folder is gone is removed, although that could not be stored at first."""
    worktree = await made(server.client, await registered(server))
    with failing(server.services.store.db, "transaction", REMOVED, fault=fault):
        await server.client.call("DELETE", f"/api/worktrees/{worktree['id']}")
    assert (await server.client.get(f"/api/worktrees/{worktree['id']}"))["removedAt"] is not None


@pytest.mark.parametrize("fault", ["full", "lost"])
async def test_a_setup_whose_end_could_not_be_stored(server: Running, fault: Fault) -> None:
    """W1: The worktree becomes ready."""
    repo = await registered(server)
    await server.client.call("PATCH", f"/api/repos/{repo['id']}", json={"setup": ["true"]})
    with failing(server.services.store.db, "transaction", SETUP_ENDED, fault=fault):
        assert (await made(server.client, repo))["status"] == "ready"


async def test_a_setup_whose_output_could_not_be_shown(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """W1: The command continues, and all of its output is read."""
    monkeypatch.setattr(setup, "SHOW_EVERY", 0.0)
    repo = await registered(server)
    script = "head -c 200000 /dev/zero | tr '\\0' x; echo end"
    await server.client.call("PATCH", f"/api/repos/{repo['id']}", json={"setup": ["sh", "-c", script]})
    with failing(server.services.store.db, "transaction", OUTPUT):
        worktree = await made(server.client, repo)
    assert (worktree["status"], worktree["setupError"]) == ("ready", None)
    assert worktree["setupOutput"].endswith("xend\n")


@pytest.mark.parametrize("fault", ["full", "lost"])
async def test_a_worktree_whose_row_could_not_be_stored_at_first(server: Running, fault: Fault) -> None:
    """W1: It is created, and its path is not taken by a row that nobody sees."""
    repo = await registered(server)
    with failing(server.services.store.db, "transaction", WORKTREES.add, fault=fault):
        worktree = await made(server.client, repo)
    assert known_to_git(at(repo["path"])) == [worktree["path"]]


async def test_a_session_that_could_not_be_stored_leaves_no_worktree(server: Running) -> None:
    """W1: The worktree made for it is removed, although that fails at first too."""
    repo = await registered(server)
    db = server.services.store.db
    body = {"repoId": repo["id"], "agent": "demo", "worktree": {"branch": "feature"}}
    with (
        failing(db, "transaction", SESSIONS.add, fault="full"),
        failing(db, "transaction", WORKTREES.active_sessions),
    ):
        refused(await server.client.http.post("/api/sessions", json=body), 503, "disk_full")
    assert known_to_git(at(repo["path"])) == []


@pytest.mark.parametrize("step", ["clear", "delete_branch"])
async def test_a_creation_that_cannot_be_undone_keeps_its_owner(
    server: Running, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """W1, Q4: If the folder or the branch of a failed creation cannot be removed, its row stays until a later attempt
    removes all of them, also for a session that was to work there."""
    repo = await registered(server)
    top = at(repo["path"])
    body = {"repoId": repo["id"], "agent": "demo", "worktree": {"branch": "feature"}}

    async def stuck(*_arguments: str) -> bool:
        raise OSError("Device or resource busy")

    async def no_files(*_arguments: object) -> None:
        raise GitFailed("git_failed", "No space left on device")

    async def unfinished() -> list[Worktree]:
        return await server.services.store.read(lambda tx: tx.all(WORKTREES.unfinished, Worktree))

    with monkeypatch.context() as patched:
        patched.setattr(worktrees, step, stuck)
        patched.setattr(worktrees, "exclude", no_files)
        refused(await server.client.http.post("/api/sessions", json=body), 409, "git_failed")
    assert len(await unfinished()) == 1
    await server.services.worktrees.repair()
    assert (await unfinished(), known_to_git(top), git(top, "branch", "--list", "feature")) == ([], [], "")
    assert (await server.client.post("/api/sessions", body))["status"] == "active"


@pytest.mark.parametrize("status", ["setting_up", "removing", "making"])
async def test_abandoned_worktrees_are_repaired(server: Running, status: str) -> None:
    """Q4: A worktree that nobody works on any more needs no restart; one whose creation failed is removed."""
    repo = await registered(server)
    worktree = await made(server.client, repo)
    await abandon(server, worktree, status)
    await server.services.worktrees.repair()
    known = (await server.client.get("/api/worktrees"))["worktrees"]
    assert [row["status"] for row in known] == ([] if status == "making" else ["ready"])
    assert at(worktree["path"]).exists() == (status != "making")


async def test_a_running_server_repairs_without_removing_folders(server: Running) -> None:
    """Q4, W2: While the server runs, a person may have created the worktree by hand after Bough could not."""
    repo = await registered(server)
    worktree = await made(server.client, repo)
    await abandon(server, worktree, "making")
    (at(worktree["path"]) / "mine").write_text("work")
    repair: WorktreeRepair = server.services.worktrees._repair  # pyright: ignore[reportPrivateUsage]
    await repair.repair_all(careful=True)
    assert (at(worktree["path"]) / "mine").read_text() == "work"


async def test_a_removal_that_was_cut_off_after_git(server: Running) -> None:
    """W2: A worktree that neither git nor the disk has any more is marked removed, not shown as ready."""
    repo = await registered(server)
    worktree = await made(server.client, repo)
    await abandon(server, worktree, "removing")
    git(Path(repo["path"]), "worktree", "remove", "--force", worktree["path"])
    await server.services.worktrees.repair()
    assert (await server.client.get(f"/api/worktrees/{worktree['id']}"))["removedAt"] is not None


async def test_worktrees_in_use_are_not_repaired(server: Running, tmp_path: Path) -> None:
    """W1: A setup that runs is left alone."""
    repo = await registered(server)
    script = f"while test ! -e '{tmp_path}/go'; do sleep 0.02; done"
    await server.client.call("PATCH", f"/api/repos/{repo['id']}", json={"setup": ["sh", "-c", script]})
    worktree = await made(server.client, repo, wait=False)
    path = f"/api/worktrees/{worktree['id']}"
    await server.services.worktrees.repair()
    assert (await server.client.get(path))["status"] == "setting_up"
    (tmp_path / "go").touch()

    async def is_ready() -> bool:
        return (await server.client.get(path))["status"] == "ready"

    await eventually(is_ready, "the setup ends")
    assert (await server.client.get(path))["setupError"] is None


async def test_a_running_server_looks_for_abandoned_worktrees(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """Q4: It does so by itself."""
    worktree = await made(server.client, await registered(server))
    await abandon(server, worktree, "removing")
    monkeypatch.setattr(repair, "LOOK_EVERY", 0.01)
    looking = asyncio.create_task(server.services.worktrees.run())

    async def is_ready() -> bool:
        return (await server.client.get(f"/api/worktrees/{worktree['id']}"))["status"] == "ready"

    await eventually(is_ready, "the worktree is ready")
    looking.cancel()


async def test_the_mark_of_a_worktree_without_a_session_is_kept(server: Running) -> None:
    """Q4: Keys are deleted when they are old, but not the marks by which the next start finds what to remove."""
    services = server.services
    age = Query("age", "UPDATE idempotency SET created_at = :at", "Makes keys old.")
    old = before(services.settings.keep_answers + 60)

    async def nothing(_change: Change) -> Json:
        return {}

    await services.store.write_once(marked("heron"), MARKS, None, Json, nothing)
    await services.store.write_once(marked("heron"), "other", None, Json, nothing)
    await services.store.write(lambda change: change.tx.run(age, at=old))
    await services.maintenance.run_once()
    assert await services.store.stored_answers(marked(""), MARKS, Json) == {"heron": {}}
    assert await services.store.stored_answers(marked(""), "other", Json) == {}


@pytest.mark.parametrize("fault", ["full", "lost"])
async def test_git_permissions_are_applied_as_stored(server: Running, fault: Fault) -> None:
    """Q4: What git may run is what people see, although the database fails at first."""
    repo = await registered(server)
    query = REPOS.patch.with_(set="git_permissions = :git_permissions")
    with failing(server.services.store.db, "transaction", query, fault=fault):
        await server.client.allow_git(repo["id"], hooks=True)
    assert permissions.allowed(find_location(repo["path"])).hooks
