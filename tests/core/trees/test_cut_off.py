"""Tests servers that die between creating a worktree and its session (B2, B6, Q4): the next server removes what has no
session, unless a repeated request continues it."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import httpx
import pytest

from bough.core.store.idempotency import KeyAnswer
from bough.core.store.sql import KEYS
from bough.core.transcripts.replay import HEADING
from bough.core.worktrees.for_branch import MARKS
from tests.core.trees.tree_helpers import Grove, add_demo, answer, branch, grove
from tests.support.client import PATIENCE, Client, Json
from tests.support.repos import git, make_repo
from tests.support.server import ServerProcess

RACE: Json = {"prompt": "[[say go]]", "contenders": [{}, {}]}
NEW: Json = {"prompt": "[[say go]]", "worktree": "new"}


async def died(server: ServerProcess) -> None:
    assert server.process is not None
    async with asyncio.timeout(PATIENCE):
        assert await server.process.wait() == -signal.SIGKILL


def refs(repo: Path) -> list[str]:
    return git(repo, "for-each-ref", "--format=%(refname)").split()


def folders(repo: Path) -> int:
    return git(repo, "worktree", "list", "--porcelain").count("worktree ")


async def cut_off(server: ServerProcess, path: str, body: Json) -> tuple[str, Path]:
    """Makes a server die during a request about a new session, and returns that session and its repository."""
    repo = make_repo(server.root / "repo")
    async with server.client() as client:
        root = (await client.session((await client.repo(repo))["id"]))["id"]
        with pytest.raises(httpx.TransportError):
            await client.post(f"/api/sessions/{root}/{path}", body)
    await died(server)
    return root, repo


async def settled(client: Client, root: str, expected: int) -> None:
    """Waits until there are this many worktrees, with a session in each."""
    worktrees = (await client.get("/api/worktrees"))["worktrees"]
    tree = await client.get(f"/api/sessions/{root}/tree")
    used = {session["worktreeId"] for session in tree["sessions"]} - {None}
    assert {item["id"] for item in worktrees} == used and len(used) == expected


async def test_a_copy_is_not_told_what_it_knows(tmp_path: Path) -> None:
    """B1, N2: A server dies when the agent of a fork with another preset has copied the conversation. Its first prompt
    from the next server has the preset's instructions, and not the transcript that the copy already knows."""
    add_demo(tmp_path, "native", [])
    server = ServerProcess(tmp_path / "data", tmp_path / "work")
    async with server:
        async with server.client() as client:
            repo = await client.repo(make_repo(server.root / "repo"))
            root = (await client.session(repo["id"], agent="native"))["id"]
            await client.ask(root, "[[say I saw a heron.]]")
            await client.post("/api/presets", {"name": "careful", "agent": "native", "instructions": "Read with care."})
        await server.stop()
        server.module, server.env = "tests.support.faults.crashing_server", {"CRASH": "after:ready"}
        await server.start()
        async with server.client() as client:
            fork = await client.post(f"/api/sessions/{root}/fork", {"preset": "careful", "prompt": "[[recall]]"})
            await died(server)
        server.env = {}
        await server.start()
        async with server.client() as client:
            recalled = await answer(client, fork["taskId"])
            assert (await client.get(f"/api/sessions/{fork['sessionId']}"))["metadata"]["fork"] == "native"
        assert recalled.count("Read with care.") == 1 and "I saw a heron." in recalled
        assert HEADING not in recalled


@pytest.mark.parametrize(("where", "created"), [("inside", 0), ("after", 2)])
async def test_worktrees_have_their_session_or_are_gone(tmp_path: Path, where: str, created: int) -> None:
    """B6, Q4: Killed in the transaction that creates the sessions of a race, or right after it; a repeated request
    succeeds."""
    # Only this transaction releases a mark.
    server = ServerProcess(tmp_path / "data", tmp_path / "work", module="tests.support.faults.crashing_server")
    server.env = {"CRASH": f"{where}:forget"}
    async with server:
        root, repo = await cut_off(server, "race", RACE)
        assert folders(repo) == 3
        server.env = {}
        await server.start()
        async with server.client() as client:
            await settled(client, root, created)
            assert folders(repo) == 1 + created
            await client.post("/api/checkpoints/prune", {"days": 30})
            remaining = [ref for ref in refs(repo) if ref.startswith(("refs/heads/", "refs/bough/races/"))]
            assert len(remaining) == 1 + created + (1 if created else 0)
            for session in (await client.post(f"/api/sessions/{root}/race", RACE))["sessions"]:
                await answer(client, session["taskId"])
            await settled(client, root, created + 2)


@pytest.mark.parametrize(("where", "created"), [("inside", 0), ("after", 1)])
async def test_a_session_with_a_new_worktree(tmp_path: Path, where: str, created: int) -> None:
    """W2, Q4: Killed in the transaction that creates the session, or right after it, there are both or neither."""
    server = ServerProcess(tmp_path / "data", tmp_path / "work", module="tests.support.faults.crashing_server")
    server.env = {"CRASH": f"{where}:forget"}
    async with server:
        repo = make_repo(server.root / "repo")
        async with server.client() as client:
            body = {"repoId": (await client.repo(repo))["id"], "agent": "demo", "worktree": {"branch": "apart"}}
            with pytest.raises(httpx.TransportError):
                await client.post("/api/sessions", body)
        await died(server)
        assert folders(repo) == 2
        server.env = {}
        await server.start()
        async with server.client() as client:
            assert folders(repo) == 1 + created
            sessions = (await client.get("/api/sessions"))["sessions"]
            worktrees = (await client.get("/api/worktrees"))["worktrees"]
            assert [session["worktreeId"] for session in sessions] == [item["id"] for item in worktrees]


async def test_files_in_an_orphaned_worktree_are_kept(tmp_path: Path) -> None:
    """B2, W2: Files that somebody added to an orphaned worktree stay on a recovery ref."""
    server = ServerProcess(tmp_path / "data", tmp_path / "work", module="tests.support.faults.crashing_server")
    server.env = {"CRASH": "inside:forget"}
    async with server:
        _, repo = await cut_off(server, "fork", NEW)
        [created] = (repo / ".worktrees").iterdir()
        (created / "found").write_text("mine")
        server.env = {}
        await server.start()
        async with server.client() as client:
            [removed] = (await client.get("/api/worktrees?removed=true"))["worktrees"]
            assert not created.exists() and git(repo, "show", f"{removed['recoveryRef']}:found") == "mine"
            await client.post(f"/api/worktrees/{removed['id']}/recover")
            assert (created / "found").read_text() == "mine"


async def test_no_marks_remain(tmp_path: Path, database_url: str) -> None:
    """B2: A mark is removed with the session's creation and with its failure; a restart removes nothing."""
    root = ""

    async def marks(trees: Grove) -> list[KeyAnswer]:
        scope = f"system::{MARKS}"
        return await trees.server.services.store.read(lambda tx: tx.all(KEYS.in_scope, KeyAnswer, scope=scope))

    async with grove(tmp_path, database=database_url) as trees:
        root = await trees.root()
        await trees.client.post(f"/api/sessions/{root}/race", RACE)
        await trees.fork(root, worktree="new")
        error = await trees.refused(f"{root}/fork", {"worktree": {"branch": "main"}})
        assert error["code"] == "branch_in_use" and await marks(trees) == []
    async with grove(tmp_path, database=database_url) as trees:
        await settled(trees.client, root, 3)


async def test_a_transcript_is_replayed_once_if_the_first_turn_was_stopped(tmp_path: Path) -> None:
    """B1, Q4: The agent has received the transcript; a server that re-attaches does not send it again."""
    add_demo(tmp_path, "told", ["fork"])
    async with ServerProcess(tmp_path / "data", tmp_path / "work") as server:
        async with server.client() as client:
            repo = await client.repo(make_repo(server.root / "repo"))
            root = (await client.session(repo["id"], agent="told"))["id"]
            await client.ask(root, "one heron")
            fork, task = await branch(client, "fork", root, "[[say begun]] [[hang]]")
            async with client.events(fork) as events:
                while await client.texts(fork) != ["begun"]:
                    await events.next()
            await client.post(f"/api/sessions/{fork}/stop")
            assert (await client.wait_task(task))["status"] == "cancelled"
        await server.stop(signal.SIGKILL)
        await server.start()
        async with server.client() as client:
            recalled = await answer(client, await client.prompt(fork, "[[recall]]"))
            assert recalled.count(HEADING) == 1 and "one heron" in recalled
