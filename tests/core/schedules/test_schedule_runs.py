"""Tests schedules under a false clock: each time once, missed times, overlaps, failures and new sessions."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bough.core.schedules.clock import ScheduleClock
from bough.core.schedules.schedule_runs import MOST_FAILURES, ScheduleRuns
from bough.core.store.sql import SCHEDULES
from bough.core.store.transactions import Change
from bough.errors import Unavailable
from bough.model.session import Caller
from bough.model.values.times import now, parse, written
from tests.api.error_responses import Json
from tests.core.helpers import open_session
from tests.support.eventually import eventually
from tests.support.people import as_user
from tests.support.server import Running, serving

HOURLY = "0 * * * *"


@pytest.fixture(autouse=True)
def only_the_false_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keeps the server's own clock from starting anything."""

    async def run(_: ScheduleClock) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(ScheduleClock, "run", run)


class FalseClock:
    """A clock of the schedules that stands until it is moved."""

    def __init__(self, server: Running) -> None:
        self._server = server
        self.moment = now()
        services = server.services
        self.runs = ScheduleRuns(services.store, services.tasks, services.worktree_sessions)
        self._clock = ScheduleClock(services.store, self.runs, services.schedules.changed, lambda: self.moment)
        self.look = self._clock.look

    async def move(self, **by: float) -> None:
        """Moves the clock and lets it look twice, as two servers in a row would."""
        self.moment = written(parse(self.moment) + timedelta(**by))
        await self._clock.look()
        await self._clock.look()


async def add(server: Running, **fields: Any) -> Json:
    return await server.client.post("/api/schedules", {"prompt": "[[say done]]", "cron": HOURLY, **fields})


async def runs(server: Running, schedule: Json) -> list[Json]:
    """Returns the runs, oldest first."""
    return (await server.client.get(f"/api/schedules/{schedule['id']}/runs"))["runs"][::-1]


async def prompts(server: Running, session_id: str) -> list[tuple[str, str]]:
    tasks = (await server.client.get(f"/api/sessions/{session_id}/tasks"))["tasks"]
    return [(task["prompt"], task["source"]) for task in tasks]


async def test_each_time_is_used_once(tmp_path: Path, database_url: str) -> None:
    """J1: A prompt is sent at each time, once, however often somebody looks, and although the clock is set back."""
    async with serving(tmp_path, database=database_url) as server:
        session_id = await open_session(server)
        schedule = await add(server, sessionId=session_id, prompt="[[say {number}]]", overlap="run")
        assert (schedule["times"], len(schedule["upcoming"])) == ("At the start of every hour (UTC)", 3)
        clock = FalseClock(server)
        await clock.move()
        assert await runs(server, schedule) == []
        await clock.move(hours=1)
        await clock.move(hours=1)
        await clock.move(hours=-1)
        await clock.move(minutes=30)
        sent = [("[[say 1]]", "schedule"), ("[[say 2]]", "schedule")]
        assert await prompts(server, session_id) == sent
        await clock.move(hours=2)
        assert await prompts(server, session_id) == [*sent, ("[[say 3]]", "schedule")]
        history = await runs(server, schedule)
        assert [run["status"] for run in history] == ["started"] * 3
        assert len({run["slot"] for run in history}) == 3


async def test_a_single_time_is_used_once(server: Running) -> None:
    """J1: A schedule with one time runs once and is then over."""
    session_id = await open_session(server)
    at = written(parse(now()) + timedelta(minutes=30))
    schedule = await add(server, sessionId=session_id, cron=None, at=at)
    clock = FalseClock(server)
    await clock.move(minutes=31)
    await clock.move(hours=5)
    assert len(await prompts(server, session_id)) == 1
    over = await server.client.get(f"/api/schedules/{schedule['id']}")
    assert (over["nextAt"], over["upcoming"], over["lastRun"]["status"]) == (None, [], "started")


@pytest.mark.parametrize(("missed", "expected"), [("run", "started"), ("skip", "skipped")])
async def test_missed_times_are_made_up_for_once_or_not(server: Running, missed: str, expected: str) -> None:
    """J2: After hours without a server, the newest time is made up for or left out, and the others are counted."""
    session_id = await open_session(server)
    schedule = await add(server, sessionId=session_id, missed=missed, cron="30 * * * *")
    clock = FalseClock(server)
    # Twenty minutes after the newest of the times that were missed.
    clock.moment = written(parse(clock.moment).replace(minute=50) + timedelta(hours=6))
    await clock.move()
    (run,) = await runs(server, schedule)
    assert run["status"] == expected and run["missed"] >= 5
    assert len(await prompts(server, session_id)) == (1 if missed == "run" else 0)


@pytest.mark.parametrize(("overlap", "expected"), [("skip", "skipped"), ("run", "started")])
async def test_a_run_that_would_overlap_is_left_out_or_not(server: Running, overlap: str, expected: str) -> None:
    """J2: While the previous run is not over, a time is left out, or its prompt waits in the queue."""
    session_id = await open_session(server)
    schedule = await add(server, sessionId=session_id, prompt="[[hang]]", overlap=overlap)
    clock = FalseClock(server)
    await clock.move(hours=1)
    await clock.move(hours=1)
    assert [run["status"] for run in await runs(server, schedule)] == ["started", expected]
    # A person who asks for a run gets it.
    asked = await server.client.post(f"/api/schedules/{schedule['id']}/run")
    assert (asked["status"], asked["trigger"]) == ("started", "person")


async def test_each_run_gets_a_session_with_a_worktree_of_its_own(server: Running) -> None:
    """J3: A template gives each run a new session, with the title and branch of that run."""
    repo = await server.client.repo(server.repo("nightly"))
    template = {"repoId": repo["id"], "agent": "demo", "worktree": {"branch": "nightly/{number}"}}
    schedule = await add(server, session=template, title="Nightly {number}", overlap="run")
    clock = FalseClock(server)
    await clock.move(hours=1)
    (first,) = await runs(server, schedule)
    session = await server.client.get(f"/api/sessions/{first['sessionId']}")
    assert session["title"] == "Nightly 1" and session["gitState"]["branch"] == "nightly/1"
    await server.client.wait_task(first["taskId"])
    await clock.move(hours=1)
    second = (await runs(server, schedule))[-1]
    assert (await server.client.get(f"/api/sessions/{second['sessionId']}"))["title"] == "Nightly 2"


async def test_a_start_that_is_repeated_acts_once(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """J1, Q4: If the server dies after a run's session was created and before that was noted, the next server finds
    the session and creates no other."""
    repo = await server.client.repo(server.repo("nightly"))
    template = {"repoId": repo["id"], "agent": "demo", "worktree": {"branch": "nightly"}}
    schedule = await add(server, session=template)
    clock = FalseClock(server)
    created: list[Any] = []
    original = server.services.worktree_sessions.create

    async def lose_the_answer(caller: Caller, new: Any) -> Any:
        created.append(await original(caller, new))
        raise Unavailable("database_away", "The database is away.")

    monkeypatch.setattr(server.services.worktree_sessions, "create", lose_the_answer)
    await clock.move(hours=1)
    monkeypatch.setattr(server.services.worktree_sessions, "create", original)
    assert [run["status"] for run in await runs(server, schedule)] == ["starting"]
    await clock.move()
    (run,) = await runs(server, schedule)
    assert (run["status"], run["sessionId"]) == ("started", created[0].session.id)
    assert (await server.client.get("/api/sessions"))["total"] == 1


async def test_a_schedule_that_only_fails_is_paused(server: Running) -> None:
    """J4: A run that cannot start says why; after five in a row the schedule is paused with the reason."""
    session_id = await open_session(server)
    schedule = await add(server, sessionId=session_id)
    clock = FalseClock(server)
    await server.client.post(f"/api/sessions/{session_id}/complete")
    session = await server.client.get(f"/api/sessions/{session_id}")
    _swap(Path(session["cwd"]))
    for _ in range(MOST_FAILURES):
        await clock.move(hours=1)
    history = await runs(server, schedule)
    assert [run["status"] for run in history] == ["failed"] * MOST_FAILURES and history[0]["reason"]
    paused = await server.client.get(f"/api/schedules/{schedule['id']}")
    assert paused["paused"] and history[0]["reason"] in paused["pauseReason"]
    await clock.move(hours=3)
    assert len(await runs(server, schedule)) == MOST_FAILURES


def _swap(folder: Path) -> None:
    """Replaces a session's folder by a link that leads out of the workspace."""
    folder.rename(folder.with_name("moved"))
    folder.symlink_to("/etc")


async def test_a_full_limit_delays_a_run(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """J4, T5: A run that a limit refuses is tried again for some minutes, and fails only then."""
    session_id = await open_session(server)
    schedule = await add(server, sessionId=session_id, overlap="run")
    clock = FalseClock(server)
    settings = server.services.settings
    monkeypatch.setattr(server.services.tasks, "_settings", msgspec.structs.replace(settings, max_queue=0))
    await clock.move(hours=1)
    (run,) = await runs(server, schedule)
    assert run["status"] == "starting" and "limit" in run["reason"]
    monkeypatch.setattr(server.services.tasks, "_settings", settings)
    await clock.move()
    (run,) = await runs(server, schedule)
    assert (run["status"], run["reason"]) == ("started", None)


async def test_a_run_has_its_authors_rights_of_today(server: Running) -> None:
    """J5: A schedule acts for whoever added it, with the role that the person has at that time, and not at all once
    the person is gone."""
    session_id = await open_session(server)
    async with as_user(server, "ana", "operator") as ana:
        schedule = await add(ana, sessionId=session_id)
    assert schedule["createdBy"]["user"] == "ana"
    clock = FalseClock(server)
    await clock.move(hours=1)
    await server.client.call("PATCH", "/api/users/ana", json={"role": "viewer"})
    await eventually(lambda: _is_over(server, session_id))
    await clock.move(hours=1)
    await server.client.call("DELETE", "/api/users/ana")
    await clock.move(hours=1)
    history = await runs(server, schedule)
    assert [run["status"] for run in history] == ["started", "failed", "failed"]
    assert "operator" in history[1]["reason"] and "removed" in history[2]["reason"]


async def _is_over(server: Running, session_id: str) -> bool:
    tasks = (await server.client.get(f"/api/sessions/{session_id}/tasks"))["tasks"]
    return all(task["status"] == "completed" for task in tasks)


async def test_a_schedule_that_is_over_can_be_edited(server: Running) -> None:
    """J4: A form sends the times again as they were; that they have passed refuses no other change."""
    session_id = await open_session(server)
    at = written(parse(now()) + timedelta(minutes=30))
    schedule = await add(server, sessionId=session_id, cron=None, at=at)
    clock = FalseClock(server)
    await clock.move(minutes=31)
    later = written(parse(now()) + timedelta(days=1))
    path = f"/api/schedules/{schedule['id']}"
    sent = {"at": schedule["at"], "timezone": schedule["timezone"]}
    await server.services.store.write(lambda change: _pass(change, schedule["id"]))
    past = await server.client.get(path)
    edited = await server.client.call("PATCH", path, json={**sent, "at": past["at"], "prompt": "[[say more]]"})
    assert (edited["prompt"], edited["nextAt"]) == ("[[say more]]", None)
    unchanged = await server.client.call("PATCH", path, json={"timezone": schedule["timezone"]})
    assert unchanged["prompt"] == "[[say more]]"
    again = await server.client.call("PATCH", path, json={"at": later})
    assert again["nextAt"] == later


async def _pass(change: Change, schedule_id: str) -> None:
    query = SCHEDULES.patch.with_(set="at = :at")
    await change.tx.run(query, id=schedule_id, at="2026-01-01T00:00:00.000000Z", now=change.now)


class Killed(BaseException):
    """Stands for the end of the server."""


async def test_a_missed_time_stays_left_out_after_a_kill(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """J2: A time that is to be left out is never stored without that: the next server would make up for it."""
    session_id = await open_session(server)
    schedule = await add(server, sessionId=session_id, missed="skip", cron="30 * * * *")
    clock = FalseClock(server)
    clock.moment = written(parse(clock.moment).replace(minute=50) + timedelta(hours=6))
    write = server.services.store.write

    async def write_and_die(work: Any) -> None:
        await write(work)
        raise Killed

    with monkeypatch.context() as dying, pytest.raises(Killed):
        dying.setattr(server.services.store, "write", write_and_die)
        await clock.move()
    await clock.move()
    assert [run["status"] for run in await runs(server, schedule)] == ["skipped"]
    assert await prompts(server, session_id) == []


async def test_runs_that_waited_do_not_overlap(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """J2: Of runs that had to wait for the same limit, one starts, and the others are left out."""
    session_id = await open_session(server)
    schedule = await add(server, sessionId=session_id, prompt="[[hang]]")
    clock = FalseClock(server)
    settings = server.services.settings
    monkeypatch.setattr(server.services.tasks, "_settings", msgspec.structs.replace(settings, max_queue=0))
    for _ in range(3):
        await clock.move(hours=1)
    assert [run["status"] for run in await runs(server, schedule)] == ["starting"] * 3
    monkeypatch.setattr(server.services.tasks, "_settings", settings)
    await clock.move()
    assert sorted(run["status"] for run in await runs(server, schedule)) == ["skipped", "skipped", "started"]
    assert len(await prompts(server, session_id)) == 1


async def test_a_slow_start_does_not_hold_up_the_others(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """J4: While the worktree of one run is created, other schedules go on, and the slow one starts once."""
    monkeypatch.setattr("bough.core.schedules.clock.LONGEST_SLEEP", 0.05)
    repo = await server.client.repo(server.repo("nightly"))
    template = {"repoId": repo["id"], "agent": "demo", "worktree": {"branch": "nightly"}}
    slow = await add(server, session=template, overlap="run")
    session_id = await open_session(server)
    quick = await add(server, sessionId=session_id, overlap="run")
    clock, ready = FalseClock(server), asyncio.Event()
    original = server.services.worktree_sessions.create

    async def create_slowly(caller: Caller, new: Any) -> Any:
        await ready.wait()
        return await original(caller, new)

    monkeypatch.setattr(server.services.worktree_sessions, "create", create_slowly)
    async with asyncio.timeout(30):
        await clock.move(hours=1)
        await clock.move(hours=1)
    await eventually(lambda: _are(server, quick, ["started", "started"]))
    assert [run["status"] for run in await runs(server, slow)] == ["starting", "starting"]
    ready.set()
    await eventually(lambda: _are(server, slow, ["started", "started"]))
    assert (await server.client.get("/api/sessions"))["total"] == 3


async def _are(server: Running, schedule: Json, statuses: list[str]) -> bool:
    return [run["status"] for run in await runs(server, schedule)] == statuses


async def test_runs_are_numbered_beyond_the_history(
    tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """J3: `{number}` goes on when the oldest runs leave the history; branches would have the same name otherwise."""
    monkeypatch.setattr("bough.core.schedules.schedule_runs.MOST_RUNS", 2)
    async with serving(tmp_path, database=database_url) as server:
        session_id = await open_session(server)
        schedule = await add(server, sessionId=session_id, prompt="[[say {number}]]", overlap="run")
        clock = FalseClock(server)
        for _ in range(4):
            await clock.move(hours=1)
        assert [prompt for prompt, _ in await prompts(server, session_id)] == [f"[[say {n}]]" for n in range(1, 5)]
        assert [run["number"] for run in await runs(server, schedule)] == [3, 4]


async def test_a_time_that_passes_while_it_is_stored(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """J1: A single time that was accepted, and passes before the database has stored it, is run once. A repeat of the
    request is answered although its time has passed by then."""
    clock = FalseClock(server)
    session_id = await open_session(server)
    passed = written(parse(now()) - timedelta(minutes=1))
    body = {"prompt": "[[say late]]", "at": passed, "sessionId": session_id, "idempotencyKey": "k"}
    with monkeypatch.context() as slow:
        slow.setattr("bough.core.schedules.service.now", lambda: written(parse(passed) - timedelta(minutes=1)))
        schedule = await server.client.post("/api/schedules", body)
    assert await server.client.post("/api/schedules", body) == schedule
    await clock.move(minutes=1)
    assert [(run["slot"], run["status"]) for run in await runs(server, schedule)] == [(passed, "started")]


async def test_a_broken_schedule_stops_no_other(tmp_path: Path, database_url: str) -> None:
    """J4: A row whose times cannot be computed neither stops the others nor keeps the clock busy, and can be listed,
    repaired and removed."""
    async with serving(tmp_path, database=database_url) as server:
        session_id = await open_session(server)
        broken, gone, good = [await add(server, sessionId=session_id, overlap="run") for _ in range(3)]
        await _store(server, broken, cron="61 * * * *", next_at="2026-01-01T00:00:00.000000Z")
        await _store(server, gone, timezone="Atlantis/Center", next_at="2026-01-01T00:00:00.000000Z")
        clock = FalseClock(server)
        await clock.move(hours=1)
        assert [run["status"] for run in await runs(server, good)] == ["started"]
        assert await runs(server, broken) == await runs(server, gone) == []
        assert await clock.look() > 1
        listed = {row["id"]: row["problem"] for row in (await server.client.get("/api/schedules"))["schedules"]}
        assert listed[good["id"]] is None
        assert "cannot be computed" in listed[broken["id"]] and "cannot be computed" in listed[gone["id"]]
        path = f"/api/schedules/{broken['id']}"
        assert (await server.client.call("PATCH", path, json={"cron": HOURLY}))["problem"] is None
        await server.client.call("DELETE", f"/api/schedules/{gone['id']}")
        await clock.move(hours=1)
        assert [run["status"] for run in await runs(server, broken)] == ["started"]


async def _store(server: Running, schedule: Json, **columns: str) -> None:
    """Writes columns of a schedule as no request could."""
    query = SCHEDULES.patch.with_(set=", ".join(f"{name} = :{name}" for name in columns))
    await server.services.store.write(lambda change: change.tx.run(query, id=schedule["id"], now=change.now, **columns))


async def test_a_pause_keeps_a_run_that_waits_from_starting(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """J4: Pausing a schedule also holds back its run that waits for a limit; a run that a person asks for starts."""
    session_id = await open_session(server)
    schedule = await add(server, sessionId=session_id, overlap="run")
    clock, path = FalseClock(server), f"/api/schedules/{schedule['id']}"
    with monkeypatch.context() as full:
        settings = msgspec.structs.replace(server.services.settings, max_queue=0)
        full.setattr(server.services.tasks, "_settings", settings)
        await clock.move(hours=1)
        assert [run["status"] for run in await runs(server, schedule)] == ["starting"]
        await server.client.call("PATCH", path, json={"paused": True})
    await clock.move()
    (run,) = await runs(server, schedule)
    assert run["status"] == "skipped" and "paused" in run["reason"]
    assert await prompts(server, session_id) == []
    assert (await server.client.post(f"{path}/run"))["status"] == "started"
