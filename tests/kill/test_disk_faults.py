"""O2, Q4: A disk that fails, is full or turns read-only below a running server loses nothing that was acknowledged."""

from __future__ import annotations

import errno
import signal
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from tests.support.client import Client
from tests.support.eventually import eventually
from tests.support.faults.crashing_server import CRASH
from tests.support.faults.disk_faults import ERRORS, FaultyDisk, compiler
from tests.support.repos import make_repo
from tests.support.server import ServerProcess
from tests.support.server_forker import forking

# Slow enough to fail in the middle of it.
TICKS = 20
PROMPT = f"[[slow {TICKS} 0.1]] [[say done]]"
ANSWER = "\n".join([*(f"tick {number}" for number in range(1, TICKS + 1)), "done"])
CODES = {errno.ENOSPC: "disk_full", errno.EIO: "database_unavailable", errno.EROFS: "database_unavailable"}
# Neither the server nor its keepers crash by themselves.
NEVER = "reply:0"

pytestmark = [
    pytest.mark.skipif(compiler() is None, reason="there is no C compiler"),
    pytest.mark.parametrize("error", ERRORS, ids=lambda error: errno.errorcode[error]),
]


@pytest.fixture
def disk(tmp_path: Path) -> FaultyDisk:
    return FaultyDisk(tmp_path / "disk", tmp_path / "data")


@pytest.fixture
async def server(tmp_path: Path, disk: FaultyDisk) -> AsyncGenerator[ServerProcess]:
    env = disk.env | {CRASH: NEVER}
    async with (
        forking(env) as forker,
        ServerProcess(tmp_path / "data", tmp_path / "work", env=env, forker=forker) as server,
    ):
        yield server
        disk.heal()


async def _begin(server: ServerProcess, client: Client) -> tuple[str, str]:
    """Opens a session and waits until its first turn has begun to answer."""
    repo = await client.repo(make_repo(server.root / "repo"))
    session_id = (await client.session(repo["id"]))["id"]
    task_id = await client.prompt(session_id, PROMPT)

    async def begun() -> bool:
        return any(text.startswith("tick 1") for text in await client.texts(session_id))

    await eventually(begun, "the turn has begun to answer")
    return session_id, task_id


async def _is_healthy(client: Client) -> bool:
    return (await client.http.get("/api/health")).status_code == 200


async def test_no_work_is_taken(server: ServerProcess, disk: FaultyDisk, error: int) -> None:
    """Q4, O2: While the disk fails, prompts are refused with the reason and health is red. Afterwards the turn that ran
    meanwhile ends with all of its text, refused prompts do not exist, and work is taken again."""
    async with server.client() as client:
        session_id, task_id = await _begin(server, client)
        with disk.failing(error):
            for number in range(3):
                answer = await client.http.post(f"/api/sessions/{session_id}/prompt", json={"text": f"no {number}"})
                assert (answer.status_code, answer.json()["error"]["code"]) == (503, CODES[error])
            assert not await _is_healthy(client)
        await eventually(lambda: _is_healthy(client), "the server is healthy again")
        await client.wait_task(task_id)
        assert (await client.ask(session_id, "[[say more]]"))["status"] == "completed"
        tasks: list[dict[str, Any]] = (await client.get(f"/api/sessions/{session_id}/tasks"))["tasks"]
        assert {task["prompt"]: task["status"] for task in tasks} == {PROMPT: "completed", "[[say more]]": "completed"}
        assert await client.texts(session_id) == [ANSWER, "more"]


async def test_killed_on_a_failing_disk(server: ServerProcess, disk: FaultyDisk, error: int) -> None:
    """Q4, O2: A server that is killed on a failing disk does not start there, says why, and on a disk that works again
    continues with the turn."""
    async with server.client() as client:
        session_id, task_id = await _begin(server, client)
    with disk.failing(error):
        await server.stop(signal.SIGKILL)
        with pytest.raises(RuntimeError) as failed:
            await server.start()
        print(failed.value)
        assert "Traceback" not in str(failed.value)
    await server.start()
    async with server.client() as client:
        task = await client.wait_task(task_id)
        assert (task["status"], task["attempt"]) == ("completed", 1)
        assert await client.texts(session_id) == [ANSWER]


@pytest.mark.postgres
async def test_queues_wait_for_the_disk(tmp_path: Path, disk: FaultyDisk, postgres_url: str, error: int) -> None:
    """Q4, O2: With a database elsewhere prompts are still taken. They wait until agents can start, and none fails;
    health is red meanwhile."""
    env = disk.env | {CRASH: NEVER}
    flags = ("--database", postgres_url)
    async with (
        forking(env) as forker,
        ServerProcess(tmp_path / "data", tmp_path / "work", flags, env=env, forker=forker) as server,
        server.client() as client,
    ):
        repo = await client.repo(make_repo(server.root / "repo"))
        sessions = [(await client.session(repo["id"]))["id"] for _ in range(3)]
        with disk.failing(error):
            tasks = [await client.prompt(session_id, "[[say here]]") for session_id in sessions]
            log = server.data / "server.log"
            await eventually(lambda: "data_folder_unwritable" in log.read_text("utf-8"), "the log says why they wait")
            statuses = [(await client.get(f"/api/tasks/{task_id}"))["status"] for task_id in tasks]
            assert set(statuses) <= {"queued", "interrupted", "dispatching"}, statuses

            async def told() -> bool:
                answer = await client.http.get("/api/health")
                return answer.status_code == 503 and answer.json()["error"]["code"] == "data_folder_failing"

            await eventually(told, "health says that the data folder cannot be written")
        await eventually(lambda: _is_healthy(client), "the server is healthy again")
        ended = [await client.wait_task(task_id) for task_id in tasks]
        assert [task["status"] for task in ended] == ["completed"] * 3
        assert [await client.texts(session_id) for session_id in sessions] == [["here"]] * 3
