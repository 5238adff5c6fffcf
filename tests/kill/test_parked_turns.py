"""Q4, Q6: Turns that wait for the end of a usage limit, while servers are killed and clocks are wrong."""

from __future__ import annotations

import signal
from pathlib import Path

from tests.kill.records import read_turns
from tests.kill.scripts.parking import AGENT, add_limited_agent
from tests.support.client import Client, Json
from tests.support.eventually import eventually
from tests.support.faults.crashing_server import CLOCK
from tests.support.repos import make_repo
from tests.support.server import ServerProcess
from tests.support.server_forker import forking

LIMIT = "You have hit your usage limit. Try again in 3600s."
# Half of the limit, and more than all of it with what is added at random.
TOO_EARLY, LATE_ENOUGH = 1800, 3800


async def restart(server: ServerProcess, clock: int) -> None:
    """Kills the server, and starts another whose clock is ahead by so many seconds."""
    await server.stop(signal.SIGKILL)
    server.env = {CLOCK: str(clock)}
    await server.start()


async def parked(client: Client, task_id: str) -> Json:
    async def look() -> Json | None:
        return (await client.get(f"/api/tasks/{task_id}"))["parked"]

    limit = await eventually(look, "the turn is parked")
    assert limit is not None
    return limit


async def answered(client: Client, session_id: str, text: str) -> bool:
    """Prompts a session, which may have been completed because it was idle for so long."""
    task_id = await client.prompt(session_id, text, resume=True)
    return (await client.wait_task(task_id))["status"] == "completed"


async def test_a_parked_turn_is_resumed_once_by_the_clock(tmp_path: Path, database_url: str) -> None:
    """Q4, Q6: A server that is killed while a turn is parked leaves it to the next one. That waits if its clock has not
    reached the time, and resumes the turn once if it has; a clock that is set back afterwards resumes nothing."""
    add_limited_agent(tmp_path / "data")
    flags = ("--database", database_url)
    async with (
        forking({}) as forker,
        ServerProcess(tmp_path / "data", tmp_path / "work", flags, forker=forker) as server,
    ):
        folder = make_repo(server.root / "repo")
        async with server.client() as client:
            repo_id = (await client.repo(folder))["id"]
            limited, other = [(await client.session(repo_id, agent=agent))["id"] for agent in (AGENT, "demo")]
            task_id = await client.prompt(limited, f"[[fail {LIMIT}]]")
            queued = await client.prompt(limited, "[[say afterwards]]")
            limit = await parked(client, task_id)
        await restart(server, TOO_EARLY)
        async with server.client() as client:
            # The scheduler has looked: others work on.
            assert await answered(client, other, "[[say meanwhile]]")
            assert await parked(client, task_id) == limit
            assert (await client.get(f"/api/tasks/{queued}"))["status"] == "queued"
        await restart(server, LATE_ENOUGH)
        async with server.client() as client:
            for waiting, attempt in ((task_id, 2), (queued, 1)):
                ended = await client.wait_task(waiting)
                assert (ended["status"], ended["attempt"], ended["parked"]) == ("completed", attempt, None)
        await restart(server, 0)
        async with server.client() as client:
            assert await answered(client, limited, "[[say again]]")
        ends = [
            turn.end for turn in read_turns(server.data / "demo", str(folder)) if turn.blocks[-1] != "[[say meanwhile]]"
        ]
        assert ends == ["error", "end_turn", "end_turn", "end_turn"]
