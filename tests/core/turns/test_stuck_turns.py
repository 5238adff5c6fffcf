"""Tests that stuck turns are noticed: agents that do nothing, and agents that repeat the same tool calls."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

from bough.model.values.times import now
from tests.core.helpers import messages, open_in, open_session
from tests.support.client import Client
from tests.support.eventually import eventually
from tests.support.server import ServerProcess, serving

Json = dict[str, Any]
BUSY = "import time; end = time.monotonic() + 4\nwhile time.monotonic() < end: pass"


async def stuck(client: Client, session: str, kind: str = "stalled") -> Json:
    """Waits until a session's turn is stuck, and returns the session."""

    async def look() -> Json | None:
        row = await client.get(f"/api/sessions/{session}")
        return row if row["stuck"] == kind else None

    row = await eventually(look, f"session {session} is {kind}")
    assert row is not None
    return row


async def test_a_turn_that_does_nothing_is_stalled(tmp_path: Path) -> None:
    """T7: A turn without output and processor time is shown as stalled since its last sign of life, in the row and in
    an event. Nothing else happens to it by default, and its end ends the mark."""
    async with serving(tmp_path, stall_after=0.01) as server:
        client = server.client
        session = await open_session(server)
        async with client.events(session) as events:
            task = await client.prompt(session, "[[say before]] [[hang]]")
            row = await stuck(client, session)
            event = await events.until(lambda event: event["type"] == "session.patched" and event["data"]["stuck"])
            assert event["data"]["stuck"] == "stalled"
        assert (row["activity"], row["status"]) == ("running", "active")
        started = (await client.get(f"/api/tasks/{task}"))["startedAt"]
        assert started <= row["stuckSince"] < now()
        tree = await client.get(f"/api/sessions/{session}/tree")
        assert tree["sessions"][0]["stuck"] == "stalled"
        assert (await client.get(f"/api/tasks/{task}"))["status"] == "running"
        await client.post(f"/api/sessions/{session}/stop")
        row = await client.get(f"/api/sessions/{session}")
        assert (row["stuck"], row["stuckSince"]) == (None, None)


async def test_work_without_output_is_not_stalled(tmp_path: Path) -> None:
    """T7: A turn whose agent runs a program that computes is not stalled, though it prints nothing."""
    async with serving(tmp_path, stall_after=0.025) as server:
        client = server.client
        session = await open_session(server, permissionMode="bypassPermissions")
        (Path((await client.get(f"/api/sessions/{session}"))["cwd"]) / "busy.py").write_text(BUSY)
        async with client.events(session) as events:
            task = await client.prompt(session, "[[run python3 busy.py]]")
            patched = await events.until(
                lambda event: (
                    (event["type"] == "session.patched" and event["data"]["stuck"])
                    or (event["type"] == "task.patched" and event["data"]["endedAt"])
                )
            )
        assert patched["type"] == "task.patched"
        assert (await client.wait_task(task))["status"] == "completed"


async def test_a_wait_for_a_person_does_not_count(tmp_path: Path) -> None:
    """T7: A turn that waits for an approval is not stalled; its clock starts again with the answer."""
    async with serving(tmp_path, stall_after=0.01) as server:
        client = server.client
        asking = await open_session(server, permissionMode="ask")
        await client.prompt(asking, "[[run true]] [[hang]]")
        approval = await client.approval(asking)
        other = await open_session(server)
        await client.prompt(other, "[[hang]]")
        await stuck(client, other)
        assert (await client.get(f"/api/sessions/{asking}"))["stuck"] is None
        decided = await client.post(f"/api/approvals/{approval['id']}", {"decision": "allow"})
        assert (await stuck(client, asking))["stuckSince"] >= decided["decidedAt"]


async def test_repeated_calls_are_a_loop(tmp_path: Path) -> None:
    """T7: The same tool call with the same arguments again and again, or a few in turn, is shown as looping; as many
    different calls are not. Another call ends the mark."""
    async with serving(tmp_path, loop_after=4, stall_after=0) as server:
        client = server.client
        loops, rounds, differs = [await open_session(server, permissionMode="bypassPermissions") for _ in range(3)]
        same = "[[run true]]" * 4
        await client.prompt(differs, "".join(f"[[run echo {number}]]" for number in range(8)) + "[[hang]]")
        await client.prompt(rounds, "[[run echo a]] [[run echo b]]" * 4 + "[[hang]]")
        await client.prompt(loops, f"{same} [[run while [ ! -e go ]; do sleep 0.1; done]] [[say on]] [[hang]]")
        await stuck(client, rounds, "looping")
        row = await stuck(client, loops, "looping")
        assert (await client.get(f"/api/sessions/{differs}"))["stuck"] is None
        (Path(row["cwd"]) / "go").touch()

        async def ended() -> bool | None:
            return (await client.get(f"/api/sessions/{loops}"))["stuck"] is None or None

        await eventually(ended, "the mark has ended")


async def test_a_stuck_turn_is_nudged_once(tmp_path: Path) -> None:
    """T7: With `nudge_stuck`, a stalled turn is sent one prompt that says so, marked as Bough's own, and not a second
    one when it stalls again."""
    async with serving(tmp_path, stall_after=0.01, nudge_stuck=True) as server:
        client = server.client
        session = await open_session(server)
        task = await client.prompt(session, "[[hang]]")

        async def nudged() -> list[Json] | None:
            rows = (await client.get(f"/api/sessions/{session}/tasks"))["tasks"]
            return [row for row in rows if row["nudge"] and row["endedAt"]] or None

        [nudge] = await client.eventually(nudged, "the turn is nudged")
        assert (nudge["steersTaskId"], nudge["stopReason"], nudge["source"]) == (task, "steered", "schedule")
        assert "from Bough, not from a person" in nudge["prompt"]
        await client.eventually(lambda: _stalled_after(client, session, nudge["endedAt"]), "it stalls again")
        assert len((await client.get(f"/api/sessions/{session}/tasks"))["tasks"]) == 2


async def _stalled_after(client: Client, session: str, moment: str) -> bool | None:
    """Whether the session's mark was looked at again after a moment: another turn has stalled since."""
    other = await client.get(f"/api/sessions/{session}")
    return (other["stuck"] == "stalled" and now() > moment) or None


async def test_a_stuck_turn_is_stopped_with_a_reason(tmp_path: Path) -> None:
    """T7: With `stop_stuck`, a turn that stays stalled is stopped: a notice in the transcript says why, the queue is
    paused with the same reason, and what is queued waits."""
    async with serving(tmp_path, stall_after=0.01, stop_stuck=0.02) as server:
        client = server.client
        session = await open_session(server)
        task = await client.prompt(session, "[[hang]]")
        behind = await client.prompt(session, "[[say behind]]")
        ended = await client.wait_task(task)
        assert (ended["status"], ended["stopReason"]) == ("cancelled", "cancelled")
        [notice] = await messages(client, session, "notice")
        assert notice["text"].startswith("The turn was stalled, with no output and no processor time since 20")
        row = await client.get(f"/api/sessions/{session}")
        assert (row["stuck"], row["queuePaused"], row["metadata"]["pauseReason"]) == (None, True, notice["text"])
        assert (await client.get(f"/api/tasks/{behind}"))["status"] == "queued"


async def test_the_clock_survives_a_restart(tmp_path: Path) -> None:
    """T7: After a kill -9 the next server counts from what the agent said last, not from its own start, and the mark of
    a loop is found again in the transcript."""
    flags = ("--loop-after", "3", "--stall-after", "600")
    async with ServerProcess(tmp_path / "data", tmp_path / "work", flags) as server:
        async with server.client() as client:
            session = await open_in(server, client, permissionMode="bypassPermissions")
            task = await client.prompt(session, f"{'[[run true]]' * 3} [[hang]]")
            await stuck(client, session, "looping")
        await server.stop(signal.SIGKILL)
        server.flags = ("--loop-after", "3", "--stall-after", "0")
        await server.start()
        async with server.client() as client:
            await stuck(client, session, "looping")
        await server.stop(signal.SIGKILL)
        killed = now()
        server.flags = ("--loop-after", "0", "--stall-after", "0.01")
        await server.start()
        async with server.client() as client:
            assert (await stuck(client, session))["stuckSince"] < killed
            assert (await client.get(f"/api/tasks/{task}"))["attempt"] == 1
