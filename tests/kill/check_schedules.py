"""Checks schedules after a kill run: each acknowledged run, and each single time, sent its prompt exactly once."""

from __future__ import annotations

from typing import Any

from tests.kill.kill_run import KillRun
from tests.support.client import Client

Json = dict[str, Any]


async def check_schedules(run: KillRun, client: Client) -> None:
    """J1: Compares what was acknowledged with the runs, and the runs with the prompts of sessions."""
    schedules = await _schedules(client)
    acknowledged = {*run.ledger.timed, *(row["scheduleId"] for row in run.ledger.asked_runs)}
    assert {row["id"] for row in schedules} == acknowledged, "a schedule was lost or doubled"
    sent: dict[str, str] = {}
    for schedule in schedules:
        runs = await _runs(client, schedule)
        asked = {row["id"] for row in run.ledger.asked_runs if row["scheduleId"] == schedule["id"]}
        assert len(runs) == max(len(asked), 1), "a run was lost or doubled"
        assert asked <= {row["id"] for row in runs}
        assert [row for row in runs if row["status"] != "started"] == []
        sent |= {row["taskId"]: schedule["prompt"] for row in runs}
    session_ids = {row["sessionId"] for schedule in schedules for row in await _runs(client, schedule)}
    tasks = {task["id"]: task["prompt"] for session_id in session_ids for task in await _tasks(client, session_id)}
    assert tasks == sent, "a prompt was sent that no run knows, or the reverse"


async def opened_by_runs(run: KillRun, client: Client) -> set[str]:
    """Returns the sessions that runs have opened in worktrees of their own."""
    schedules = {schedule["id"]: schedule for schedule in await _schedules(client)}
    known = {row["scheduleId"] for row in run.ledger.asked_runs}
    opening = [schedules[schedule_id] for schedule_id in known if schedules[schedule_id]["template"] is not None]
    return {row["sessionId"] for schedule in opening for row in await _runs(client, schedule)}


async def _schedules(client: Client) -> list[Json]:
    return (await client.get("/api/schedules?limit=500"))["schedules"]


async def _runs(client: Client, schedule: Json) -> list[Json]:
    return (await client.get(f"/api/schedules/{schedule['id']}/runs?limit=100"))["runs"]


async def _tasks(client: Client, session_id: str) -> list[Json]:
    return (await client.get(f"/api/sessions/{session_id}/tasks?limit=500"))["tasks"]
