"""Q4, O2: The properties of resuming that `docs/explanation/kill-tests.md` explains. The run in `test_kill` shows them
at random moments; these tests show those that need a certain one."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import signal
import sqlite3
from collections.abc import AsyncGenerator
from pathlib import Path

import httpx
import psutil
import pytest

from bough.errors import Internal
from bough.git.refs import checkpoint_refs
from tests.core.helpers import open_session
from tests.support.client import Client, Json
from tests.support.eventually import eventually
from tests.support.repos import git, make_repo
from tests.support.server import Running, ServerProcess, serving

# How many answer one question at the same moment.
RESUMERS = 8
COUNTED = "[[run echo x >> count]] [[say done]]"
# Columns that a recovery invents, and what a clock or a random number decides.
INVENTED = {"id", "created_at", "updated_at", "ended_at", "started_at", "since", "cursor", "at"}
# Tables of rows that mean something to people; the others are logs, locks and caches of these.
COMPARED = ("sessions", "tasks", "messages", "approvals", "checkpoints", "worktrees", "callbacks", "calls")


@contextlib.asynccontextmanager
async def asking(tmp_path: Path, database_url: str) -> AsyncGenerator[tuple[ServerProcess, str, str]]:
    """Runs a server whose only agent waits for an approval; yields the server, the approval and the task."""
    flags = ("--database", database_url)
    async with ServerProcess(tmp_path / "data", tmp_path / "work", flags) as server:
        async with server.client() as client:
            repo = await client.repo(make_repo(server.root / "repo"))
            session = (await client.session(repo["id"], permissionMode="ask"))["id"]
            task = await client.prompt(session, COUNTED)
            approval = await client.approval(session)
        yield server, approval["id"], task


async def answer(server: ServerProcess, approval_id: str) -> httpx.Response | None:
    """Allows the approval over a connection of its own; returns None if the server died before it answered."""
    with contextlib.suppress(httpx.HTTPError):
        async with server.client() as client:
            await client.get("/api/health")
            return await client.http.post(f"/api/approvals/{approval_id}", json={"decision": "allow"})
    return None


async def test_one_of_many_answers_is_consumed(tmp_path: Path, database_url: str) -> None:
    """P4, CO: Of eight answers to one approval at the same moment one is taken and seven are refused, and the command
    that waited for it runs once."""
    async with asking(tmp_path, database_url) as (server, approval_id, task):
        answers = await asyncio.gather(*(answer(server, approval_id) for _ in range(RESUMERS)))
        taken = [reply for reply in answers if reply is not None and reply.status_code == 200]
        refused = [reply.json()["error"]["code"] for reply in answers if reply is not None and reply not in taken]
        assert (len(taken), refused) == (1, ["approval_decided"] * (RESUMERS - 1))
        async with server.client() as client:
            ended = await client.wait_task(task)
        assert (ended["status"], ended["attempt"]) == ("completed", 1)
        assert (server.root / "repo" / "count").read_text() == "x\n"


async def test_one_of_many_answers_is_consumed_across_a_kill(tmp_path: Path, database_url: str) -> None:
    """P4, CO, EO: The same although the server is killed while it takes the answers, and eight more come to the next
    one."""
    async with asking(tmp_path, database_url) as (server, approval_id, task):
        first = [asyncio.create_task(answer(server, approval_id)) for _ in range(RESUMERS)]
        await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
        await server.stop(signal.SIGKILL)
        await asyncio.wait(first)
        await server.start()
        later = await asyncio.gather(*(answer(server, approval_id) for _ in range(RESUMERS)))
        replies = [*(job.result() for job in first), *later]
        assert len([reply for reply in replies if reply is not None and reply.status_code == 200]) <= 1
        async with server.client() as client:
            ended = await client.wait_task(task)
        assert (ended["status"], ended["attempt"]) == ("completed", 1)
        assert (server.root / "repo" / "count").read_text() == "x\n"


async def test_forks_of_one_task_are_equal(tmp_path: Path) -> None:
    """B1, B2, FD: Two forks of one task have the same files, commit and past, whatever the parent did in between."""
    # A busy machine scans slowly.
    async with serving(tmp_path, checkpoint_patience=60) as server:
        client = server.client
        root = await open_session(server, permissionMode="bypassPermissions")
        repo = server.root / "repo0"
        task = (await client.ask(root, "[[write heron.txt grey]] [[say one]]"))["id"]
        (repo / "loose.txt").write_text("too late")
        first = await forked(client, root, task)
        await client.ask(root, "[[write heron.txt white]] [[write ibis.txt new]] [[say two]]")
        git(repo, "commit", "--allow-empty", "-m", "moved on")
        second = await forked(client, root, task)
    assert first == second
    assert first["files"]["heron.txt"] == "grey"
    assert not {"loose.txt", "ibis.txt"} & first["files"].keys()


async def forked(client: Client, root: str, task: str) -> Json:
    """Forks a session after a task, in a worktree, and returns everything that the fork begins with."""
    body = {"taskId": task, "worktree": "new", "prompt": "[[recall]]"}
    branch = await client.post(f"/api/sessions/{root}/fork", body)
    session = await client.get(f"/api/sessions/{branch['sessionId']}")
    folder = Path(session["cwd"])
    begun = (await client.wait_task(branch["taskId"], "completed"))["id"]
    before = (await client.get(f"/api/tasks/{begun}"))["checkpoints"]["before"]
    files = {name: (folder / name).read_text() for name in git(folder, "ls-files", "-co").split()}
    [recalled] = await client.texts(session["id"])
    return {
        "files": files,
        "tree": before["tree"],
        "head": before["head"],
        "past": recalled.replace(str(folder), "HERE"),
    }


async def test_an_unusable_checkpoint_is_not_offered(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """W4, CV: Files that git could not keep are not stored as a checkpoint: nothing can be restored to them or forked
    from them, and the refusal says why."""

    async def fail(_cwd: str, _refs: dict[str, str]) -> None:
        raise Internal("git_failed", "No space left on device.")

    client = server.client
    session = await open_session(server, permissionMode="bypassPermissions")
    with monkeypatch.context() as patch:
        patch.setattr(checkpoint_refs, "keep", fail)
        task = (await client.ask(session, "[[write heron.txt grey]]"))["id"]
    row = (await client.get(f"/api/tasks/{task}"))["checkpoints"]["after"]
    assert (row["sha"], row["tree"], row["ref"]) == (None, None, None)
    for path, body in (
        (f"/api/tasks/{task}/restore", {"moment": "after"}),
        (f"/api/sessions/{session}/fork", {"taskId": task, "worktree": "new"}),
    ):
        reply = await client.http.post(path, json=body)
        assert reply.status_code == 409
        assert "No space left on device" in reply.text


async def test_recovery_depends_on_stored_state_only(tmp_path: Path) -> None:
    """Q4, RD: Two servers that find the same files after a kill make the same rows of them."""
    held = ("--on-interrupt", "hold")
    async with ServerProcess(tmp_path / "data", tmp_path / "work", held) as server:
        await leave_work(server)
        await server.stop(signal.SIGKILL)
        for process in psutil.process_iter(["cmdline", "pid"]):
            if str(tmp_path) in " ".join(process.info["cmdline"] or []) or lives_in(process, tmp_path):
                with contextlib.suppress(psutil.Error):
                    process.kill()
        shutil.copytree(server.data, tmp_path / "kept" / "data", symlinks=True, ignore=shutil.ignore_patterns("socket"))
        shutil.copytree(server.root, tmp_path / "kept" / "work", symlinks=True)
        first = await recovered(server)
        for name in ("data", "work"):
            shutil.rmtree(tmp_path / name)
            shutil.copytree(tmp_path / "kept" / name, tmp_path / name, symlinks=True)
        second = await recovered(server)
    assert {row["status"] for row in first["tasks"]} == {"interrupted", "queued", "completed"}
    for table in COMPARED:
        assert first[table] == second[table], table


async def leave_work(server: ServerProcess) -> None:
    """Leaves a turn that has said something, one that waits for a person, prompts in queues, and a fork."""
    async with server.client() as client:
        repo = await client.repo(make_repo(server.root / "repo"))
        talking = (await client.session(repo["id"], permissionMode="bypassPermissions"))["id"]
        done = (await client.ask(talking, "[[write heron.txt grey]] [[say one]]"))["id"]
        await client.post(f"/api/sessions/{talking}/fork", {"taskId": done, "worktree": "new"})
        running = await client.prompt(talking, "[[say two]] [[hang]]")
        await client.prompt(talking, "[[say three]]")
        await client.wait_task(running, "running")

        async def has_said_two() -> bool:
            return "two" in await client.texts(talking)

        await eventually(has_said_two, "the agent has spoken")
        waiting = (await client.session(repo["id"], permissionMode="ask"))["id"]
        await client.prompt(waiting, COUNTED)
        await client.approval(waiting)


def lives_in(process: psutil.Process, folder: Path) -> bool:
    with contextlib.suppress(psutil.Error):
        return process.environ().get("BOUGH_DEMO_HOME", "").startswith(str(folder))
    return False


async def recovered(server: ServerProcess) -> dict[str, list[Json]]:
    """Starts a server, waits until it has repaired everything, and returns its rows without what it had to invent."""
    await server.start()
    async with server.client() as client:

        async def is_repaired() -> bool:
            tasks = (await client.get("/api/tasks?limit=100&status=dispatching,running,waiting_permission"))["tasks"]
            return not tasks

        await eventually(is_repaired, "no turn is under way")
    await server.stop(signal.SIGKILL)
    rows: dict[str, list[Json]] = {}
    connection = sqlite3.connect(server.data / "bough.db")
    connection.row_factory = sqlite3.Row
    for table in COMPARED:
        # Sessions are repaired side by side, in any order; within a session, messages have positions.
        stored = connection.execute(f"SELECT * FROM {table}").fetchall()
        rows[table] = sorted((comparable(dict(row)) for row in stored), key=str)
    connection.close()
    return rows


def comparable(row: Json) -> Json:
    return {name: value for name, value in row.items() if name not in INVENTED and not name.endswith("_at")}
