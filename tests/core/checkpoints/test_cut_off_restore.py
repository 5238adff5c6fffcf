"""A restore whose server is killed in the middle: the next server completes it, or it never happened."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.core.helpers import messages
from tests.support.eventually import eventually
from tests.support.repos import make_repo
from tests.support.server import ServerProcess

KEY = {"Idempotency-Key": "once"}


async def changed_files(server: ServerProcess, repo: Path) -> tuple[str, str]:
    """Has a task change two files and returns the session and the task; the next server dies where CRASH says."""
    (repo / "a.txt").write_text("old")
    (repo / "b.txt").write_text("old")
    async with server.client() as client:
        repo_id = (await client.repo(repo))["id"]
        session = (await client.session(repo_id, permissionMode="bypassPermissions"))["id"]
        task = (await client.ask(session, "[[run echo new > a.txt; echo new > b.txt]]"))["id"]
    await server.stop(signal.SIGKILL)
    return session, task


async def restore(server: ServerProcess, task: str) -> Any:
    async with server.client() as client:
        return (await client.http.post(f"/api/tasks/{task}/restore", json={}, headers=KEY)).json()


@pytest.mark.parametrize("half_done", [False, True])
async def test_a_cut_off_restore_is_completed(tmp_path: Path, half_done: bool) -> None:
    """W4, Q4: files that a killed server had begun to restore are all restored by the next one, which says so, and the
    same request is answered with what was done."""
    async with ServerProcess(tmp_path / "data", tmp_path / "work") as server:
        repo = make_repo(server.root / "repo")
        session, task = await changed_files(server, repo)
        server.module, server.env = "tests.support.faults.crashing_server", {"CRASH": "after:begin"}
        await server.start()
        with pytest.raises(httpx.HTTPError):
            await restore(server, task)
        if half_done:
            (repo / "a.txt").write_text("old")
        server.module, server.env = "bough", {}
        await server.start()
        assert [(repo / name).read_text() for name in ("a.txt", "b.txt")] == ["old", "old"]
        answer = await restore(server, task)
        assert (answer["written"], answer["removed"], answer["undoCheckpointId"]) == (
            ["a.txt", "b.txt"],
            [],
            answer["id"],
        )
        async with server.client() as client:
            notices = [notice["text"] for notice in await messages(client, session, "notice")]
            assert [notice for notice in notices if "the next one completed it" in notice] == notices[-1:]
            await client.post(f"/api/checkpoints/{answer['undoCheckpointId']}/restore", {})
        assert [(repo / name).read_text() for name in ("a.txt", "b.txt")] == ["new\n", "new\n"]


@pytest.mark.parametrize("crash", ["after:claim", "inside:begin"])
async def test_a_restore_that_had_not_begun_never_happened(tmp_path: Path, crash: str) -> None:
    """W4, Q4: a request that died before it changed a file is carried out when it is repeated with the same key."""
    async with ServerProcess(tmp_path / "data", tmp_path / "work") as server:
        repo = make_repo(server.root / "repo")
        _, task = await changed_files(server, repo)
        server.module, server.env = "tests.support.faults.crashing_server", {"CRASH": crash}
        await server.start()
        with pytest.raises(httpx.HTTPError):
            await restore(server, task)
        server.module, server.env = "bough", {}
        await server.start()
        assert (repo / "a.txt").read_text() == "new\n"
        assert (await restore(server, task))["written"] == ["a.txt", "b.txt"]
        await eventually(lambda: (repo / "a.txt").read_text() == "old", "the file is restored")
