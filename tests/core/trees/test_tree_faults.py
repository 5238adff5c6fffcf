"""Q4, B5, B6: Tests a database that fails for a moment while a tree changes: nothing is left half done."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path
from typing import Any, Literal

import pytest

from bough.core.sessions.ending.control import Control, Stopped
from bough.core.store.sql import RACES, SESSIONS, TASKS, TREES, WORKTREES
from bough.core.trees.branch import Branches
from bough.core.trees.requests import NewBranch
from bough.core.worktrees import for_branch, service
from bough.errors import Unavailable
from bough.model.session import Caller
from bough.storage.queries import Query
from tests.core.helpers import messages, open_session
from tests.support.client import Json
from tests.support.faults.database_faults import Fault, failing
from tests.support.repos import git
from tests.support.server import Running


async def _child(server: Running, parent: str, prompt: str) -> str:
    answer: Json = await server.client.post(f"/api/sessions/{parent}/spawn", {"prompt": prompt})
    return answer["sessionId"]


async def test_a_cascade_leaves_nobody_out(server: Running) -> None:
    """B5: A child whose end could not be stored at first ends with the others, instead of being left paused."""
    client = server.client
    root = await open_session(server)
    child = await _child(server, root, "[[slow 600 0.5]]")
    with failing(server.services.store.db, "transaction", TASKS.cancel_queued, 2):
        await client.call("DELETE", f"/api/sessions/{root}?cascade=true")
    for session_id in (root, child):
        assert (await client.get(f"/api/sessions/{session_id}"))["status"] == "cancelled"


async def test_a_cascade_whose_look_at_the_tree_fails(server: Running) -> None:
    """B5: The tree is not left paused because it could not be read for a moment."""
    root = await open_session(server)
    child = await _child(server, root, "[[slow 600 0.5]]")
    with failing(server.services.store.db, "read", TREES.below):
        await server.client.call("DELETE", f"/api/sessions/{root}?cascade=true")
    for session_id in (root, child):
        assert (await server.client.get(f"/api/sessions/{session_id}"))["status"] == "cancelled"


@pytest.mark.parametrize(("kind", "query"), [("read", TREES.below), ("transaction", RACES.keep)])
async def test_a_decided_race_puts_the_others_away(
    server: Running, kind: Literal["read", "transaction"], query: Query
) -> None:
    """B6: The losers are archived and the decision is told once, although the database fails for a moment."""
    client = server.client
    root = await open_session(server, permissionMode="bypassPermissions")
    await client.ask(root, "[[say heron]]")
    body: Json = {"prompt": "[[run touch new]]", "contenders": [{}, {}]}
    begun = await client.post(f"/api/sessions/{root}/race", body)
    winner, loser = begun["sessions"]
    for racer in (winner, loser):
        await client.wait_task(racer["taskId"])
    with failing(server.services.store.db, kind, query, fault="lost"):
        result = await client.post(f"/api/races/{begun['raceId']}/keep", {"sessionId": winner["sessionId"]})
    [other] = result["others"]
    assert (other["archived"], other["worktreeRemoved"], other["message"]) == (True, True, None)
    assert (await client.get(f"/api/sessions/{loser['sessionId']}"))["archived"]
    notices = await messages(client, root, "notice")
    assert len([notice for notice in notices if "kept" in notice["text"].lower()]) == 1, notices


async def test_a_race_whose_reply_was_lost_keeps_its_start(server: Running) -> None:
    """B6: The files that it began with are still there, although its request was told that the database failed."""
    root = await open_session(server, permissionMode="bypassPermissions")
    await server.client.ask(root, "[[say heron]]")
    body: Json = {"prompt": "[[say heron]]", "contenders": [{}, {}]}
    with failing(server.services.store.db, "transaction", RACES.add, fault="lost"):
        answer = await server.client.http.post(f"/api/sessions/{root}/race", json=body)
    assert answer.status_code == 503
    [ref] = git(server.root / "repo0", "for-each-ref", "--format=%(refname)", "refs/bough/races").split()
    race = await server.client.get(f"/api/races/{ref.removeprefix('refs/bough/races/')}")
    assert len(race["contenders"]) == 2


async def test_a_repeated_cascade_waits_for_the_first(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """B5: A caller who lost patience and repeats the request has the answer of the first one. It is not carried out
    twice, which would stop again what was resumed in between."""
    root = await open_session(server)
    child = await _child(server, root, "[[slow 600 0.5]]")
    stopped: list[str] = []
    stop = Control.stop

    async def counted(self: Control, caller: Caller, session_id: str) -> Stopped:
        stopped.append(session_id)
        return await stop(self, caller, session_id)

    monkeypatch.setattr(Control, "stop", counted)
    caller, cascades = Caller("person", None, "heron"), server.services.cascades
    first, second = await asyncio.gather(cascades.run(caller, root, "stop"), cascades.run(caller, root, "stop"))
    assert first.sessions == second.sessions
    assert sorted(stopped) == sorted((root, child))


@pytest.mark.parametrize("fault", ["busy", "lost"])
async def test_a_failed_fork_leaves_no_worktree(server: Running, fault: Fault) -> None:
    """B2, B6: The worktree of a fork that could not be stored is removed, although that fails at first too."""
    root = await open_session(server)
    await server.client.ask(root, "[[say heron]]")
    db = server.services.store.db
    with (
        failing(db, "transaction", SESSIONS.add, fault="full"),
        failing(db, "transaction", WORKTREES.active_sessions, fault=fault),
    ):
        try:
            await server.services.branches.fork(Caller(), root, NewBranch(worktree="new"))
        except Unavailable as error:
            assert error.code == "disk_full"
    assert (await server.client.get("/api/worktrees"))["worktrees"] == []
    assert not [path for path in server.root.rglob(".worktrees/*") if path.is_dir()]


async def _left_by_fork(server: Running, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Returns the worktree of a fork that could not be stored, and whose removal was given up."""
    monkeypatch.setattr(service, "UNDO_WITHIN", 0.0)
    root = await open_session(server)
    await server.client.ask(root, "[[say heron]]")
    db = server.services.store.db
    with (
        failing(db, "transaction", SESSIONS.add, fault="full"),
        failing(db, "transaction", WORKTREES.active_sessions, fault="full"),
        pytest.raises(Unavailable),
    ):
        await server.services.branches.fork(Caller(), root, NewBranch(worktree="new"))
    [worktree] = (await server.client.get("/api/worktrees"))["worktrees"]
    return Path(worktree["path"])


async def test_a_running_server_removes_what_a_failed_fork_left(
    server: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B2, B6, Q4: A removal that was given up because the database failed for too long needs no restart."""
    folder = await _left_by_fork(server, monkeypatch)
    await server.services.branches.repair()
    assert (await server.client.get("/api/worktrees"))["worktrees"] == []
    assert not folder.exists()


@pytest.mark.parametrize("change", ["commit", "name", "file"])
async def test_a_worktree_that_a_person_has_changed_stays(
    server: Running, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    """B2, W2: Whoever found such a worktree and works in it keeps it, at every later start too."""
    folder = await _left_by_fork(server, monkeypatch)
    if change == "commit":
        git(folder, "commit", "--allow-empty", "-m", "mine")
    elif change == "name":
        [worktree] = (await server.client.get("/api/worktrees"))["worktrees"]
        await server.client.call("PATCH", f"/api/worktrees/{worktree['id']}", json={"name": "mine"})
    else:
        monkeypatch.setattr(for_branch, "MAKING_TAKES", 60.0)
        (folder / "mine").write_text("work")
        later = time.time() + 3600
        os.utime(folder / "mine", (later, later))
    await server.services.branches.repair()
    assert folder.exists()
    assert len((await server.client.get("/api/worktrees"))["worktrees"]) == 1

    def fail(*_rows: object) -> bool:
        pytest.fail("its mark is still there")

    monkeypatch.setattr(for_branch, "_is_changed", fail)
    await server.services.branches.repair()


async def test_a_fork_that_is_being_created_is_left_alone(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """B2: The look for leftovers does not remove a worktree whose session is about to be stored."""
    root = await open_session(server)
    await server.client.ask(root, "[[say heron]]")
    branches = server.services.branches
    original = Branches._write  # pyright: ignore[reportPrivateUsage]

    async def look_first(*arguments: Any) -> Any:
        await branches.repair()
        return await original(*arguments)

    monkeypatch.setattr(Branches, "_write", look_first)
    await branches.fork(Caller(), root, NewBranch(worktree="new"))
    assert len((await server.client.get("/api/worktrees"))["worktrees"]) == 1
    assert len([path for path in server.root.rglob(".worktrees/*") if path.is_dir()]) == 1
