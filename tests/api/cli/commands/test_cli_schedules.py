"""Tests `bough schedule`."""

from __future__ import annotations

import json
from typing import Any

from tests.api.cli.cli_program import Cli
from tests.support.server import Running


async def test_a_schedule_from_end_to_end(server: Running, cli: Cli, session: dict[str, Any]) -> None:
    """J1, O5: A schedule is added, listed, shown, changed, paused, resumed, run and removed."""
    added = await cli("schedule", "add", "[[say hi]]", "-c", "0 6 * * *", "--timezone", "UTC", "-s", session["id"])
    assert added.code == 0 and "At 06:00 every day (UTC); next" in added.out, added.err
    (schedule,) = (await server.client.get("/api/schedules"))["schedules"]
    short = schedule["id"][-8:]
    listed = await cli("schedule", "list")
    assert short in listed.out and "At 06:00 every day" in listed.out
    assert "new session" not in (await cli("schedule", "show", short)).out
    assert "07:15" in (await cli("schedule", "set", short, "--cron", "15 7 * * *")).out
    assert "paused" in (await cli("schedule", "pause", short)).out
    assert "paused" in (await cli("schedule", "list")).out
    assert "next" in (await cli("schedule", "resume", short)).out
    run = await cli("schedule", "run", short, "--json")
    assert run.code == 0
    assert (await server.client.wait_task(json.loads(run.out)["taskId"]))["status"] == "completed"
    assert "started" in (await cli("schedule", "runs", short)).out
    assert (await cli("schedule", "rm", short, "--yes")).code == 0
    assert "No schedules." in (await cli("schedule", "list")).out


async def test_a_schedule_of_new_sessions(server: Running, cli: Cli, session: dict[str, Any]) -> None:
    """J3: With --repo each run gets a session and a worktree of its own."""
    arguments = ("-r", session["repoId"], "-a", "demo", "-w", "nightly", "--at", "2999-01-01T00:00")
    added = await cli("schedule", "add", "[[say hi]]", *arguments, "--json")
    assert added.code == 0, added.err
    schedule = json.loads(added.out)
    assert schedule["template"]["worktree"]["branch"] == "nightly-{date}-{time}"
    assert "a new session each time" in (await cli("schedule", "show", schedule["id"])).out
    run = await cli("schedule", "run", schedule["id"], "--json")
    started = json.loads(run.out)
    new = await server.client.get(f"/api/sessions/{started['sessionId']}")
    assert new["gitState"]["branch"].startswith("nightly-20") and new["id"] != session["id"]


async def test_wrong_use_is_explained(cli: Cli, session: dict[str, Any]) -> None:
    """L4: A schedule needs one place and one kind of time; options of new sessions need --repo."""
    assert (await cli("schedule", "add", "x", "-c", "0 6 * * *")).code == 2
    both = await cli("schedule", "add", "x", "-c", "0 6 * * *", "-s", session["id"], "-a", "demo")
    assert both.code == 2 and "--repo" in both.err
    bad = await cli("schedule", "add", "x", "-c", "6 o'clock", "-s", session["id"])
    assert bad.code == 1 and "five fields" in bad.err
    assert (await cli("schedule", "set", "00000000")).code == 2
    assert (await cli("schedule", "show", "00000000")).code == 1
