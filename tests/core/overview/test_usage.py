"""Tests usage by day, agent, repository and tree."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from bough.core.overview.home import day_began
from bough.core.overview.usage import MOST_DAYS, first_midnight
from bough.core.store.sql import USAGE
from bough.core.store.transactions import Change
from bough.errors import Invalid
from bough.model.values.times import quarter, written
from tests.api.error_responses import Json, refused
from tests.support.client import Client
from tests.support.server import Running, serving

CHILD = {"prompt": "four five", "title": "child", "callback": {"enabled": False}}
MIDNIGHT = "2026-11-15T00:00:00.000000Z"


async def worked(client: Client, repo: Json, title: str) -> Json:
    """Creates a session and returns its record after one turn."""
    session = await client.session(repo["id"], title=title)
    await client.ask(session["id"], "one two three")
    return await client.get(f"/api/sessions/{session['id']}")


async def test_usage_is_added_up_by_each_grouping(tmp_path: Path, database_url: str) -> None:
    """O4: Usage is added up by day, agent, repository and tree on both databases, and a removed tree stays counted."""
    async with serving(tmp_path, database=database_url) as server:
        client = server.client
        repo, other = await client.repo(server.repo()), await client.repo(server.repo("other"))
        first, second = await worked(client, repo, "first"), await worked(client, other, "second")
        spawned = await client.post(f"/api/sessions/{first['id']}/spawn", CHILD)
        await client.wait_task(spawned["taskId"])
        total = (await client.get("/api/home"))["totals"]["all"]
        assert total["turns"] == 3
        for by in ("day", "agent", "repo", "tree"):
            report = await client.get(f"/api/usage?by={by}")
            assert report["total"] == total
            assert sum(group["tokens"] for group in report["groups"]) == total["tokens"]
            assert report["rest"]["turns"] == 0
        days = (await client.get("/api/usage?by=day&since=3d"))["groups"]
        assert [day["turns"] for day in days] == [0, 0, total["turns"]]
        assert days[-1]["id"] == datetime.now(UTC).date().isoformat()
        (agent,) = (await client.get("/api/usage?by=agent"))["groups"]
        assert (agent["id"], agent["name"], agent["turns"]) == ("demo", "demo", total["turns"])
        repos = {group["name"]: group["turns"] for group in (await client.get("/api/usage?by=repo"))["groups"]}
        assert repos == {"repo": 2, "other": 1}
        await client.call("DELETE", f"/api/sessions/{second['id']}?purge=true")
        trees = {group["id"]: group for group in (await client.get("/api/usage?by=tree"))["groups"]}
        assert trees.keys() == {first["id"], second["id"]}
        assert (trees[first["id"]]["name"], trees[second["id"]]["name"]) == ("first", "")
        assert trees[second["id"]]["tokens"] == second["tokens"]


async def test_days_before_the_report_are_left_out(server: Running) -> None:
    """O4: A report holds the days that were asked for, and the rest of a long list is summed up."""

    async def work(change: Change) -> None:
        for age in range(70):
            ended_in = quarter((datetime.now(UTC) - timedelta(days=age % 10)).strftime("%Y-%m-%dT%H:%M"))
            await change.tx.run(
                USAGE.add,
                quarter=ended_in,
                root_session_id=f"t{age}",
                repo_id="r",
                agent="demo",
                tokens=100 + age,
                cost=0.5,
            )

    await server.services.store.write(work)
    week = await server.client.get("/api/usage?since=7d")
    assert [day["turns"] for day in week["groups"]] == [7] * 7
    assert week["total"]["turns"] == 49
    trees = await server.client.get("/api/usage?by=tree&since=10d")
    assert (len(trees["groups"]), trees["rest"]["turns"]) == (50, 20)
    assert trees["groups"][0]["id"] == "t69"
    assert trees["rest"]["tokens"] == sum(100 + age for age in range(20))


def test_where_a_report_begins() -> None:
    """O4: A report begins at a day or a number of days before today, in the reader's time zone."""
    assert first_midnight(MIDNIGHT, None, 0) == "2026-11-02T00:00:00.000000Z"
    assert first_midnight(MIDNIGHT, "1d", 0) == first_midnight(MIDNIGHT, "2026-11-15", 0) == MIDNIGHT
    assert first_midnight("2026-11-14T23:00:00.000000Z", "2026-11-14", 60) == "2026-11-13T23:00:00.000000Z"
    # New Zealand in summer, and Hawaii.
    assert first_midnight("2026-11-14T11:00:00.000000Z", "2026-11-15", 780) == "2026-11-14T11:00:00.000000Z"
    assert first_midnight("2026-11-15T10:00:00.000000Z", "2026-11-15", -600) == "2026-11-15T10:00:00.000000Z"
    for wrong in ("0d", f"{MOST_DAYS + 1}d", "2026-11-16", "yesterday", "²d", "1999-01-01", "99999999d"):
        with pytest.raises(Invalid) as caught:
            first_midnight(MIDNIGHT, wrong, 0)
        assert caught.value.code == "bad_since"


async def test_wrong_reports_are_refused(server: Running) -> None:
    """A4: An unknown grouping, day or time zone is refused with a code."""
    for query, code in (("by=colour", "bad_grouping"), ("since=soon", "bad_since")):
        assert refused(await server.client.http.get(f"/api/usage?{query}"), 400)["code"] == code
    for wrong in ("901", "-901", "summer", "1.5", "", "99999999999999999999"):
        refused(await server.client.http.get(f"/api/usage?tz={wrong}"), 400)
    for wrong in ("d", "-1d", "1.5d", "2026-02-30", "10000-01-01", "2026-11-01T00:00", "%00", "x" * 2000):
        assert refused(await server.client.http.get(f"/api/usage?since={wrong}"), 400)["code"] == "bad_since"
    assert day_began(0) <= (await server.client.get("/api/usage?since=1d"))["since"]


@pytest.mark.parametrize(
    ("zone", "today", "first"),
    [("Europe/Berlin", (2026, 10, 27), (2026, 10, 23)), ("America/New_York", (2026, 3, 10), (2026, 3, 6))],
)
async def test_a_report_across_a_change_of_clocks(
    server: Running,
    monkeypatch: pytest.MonkeyPatch,
    zone: str,
    today: tuple[int, int, int],
    first: tuple[int, int, int],
) -> None:
    """O4: A report across the change to or from summer time has each day once and every turn in one of them. Days begin
    at the hour of today's midnight, so that a turn within an hour of midnight may count for the day beside it."""
    local = ZoneInfo(zone)
    midnight = datetime(*today, tzinfo=local)
    began = written(midnight)

    def day_began(_: int) -> str:
        return began

    monkeypatch.setattr("bough.api.rest.home.day_began", day_began)
    start = datetime(*first, tzinfo=local)
    # Each real day's turns: just after one, at noon, and just before the next one's change.
    moments = [start.replace(day=start.day + day, hour=hour) for day in range(5) for hour in (1, 12, 22)]

    async def work(change: Change) -> None:
        for moment in moments:
            fields = {"root_session_id": "t", "repo_id": "r", "agent": "demo", "tokens": 1, "cost": 0.5}
            await change.tx.run(USAGE.add, quarter=quarter(written(moment)), **fields)

    await server.services.store.write(work)
    days = [(start + timedelta(days=day)).date().isoformat() for day in range(5)]
    for since in ("5d", days[0]):
        report = await server.client.get(f"/api/usage?since={since}&tz=60")
        assert [day["id"] for day in report["groups"]] == days
        assert report["total"]["turns"] == len(moments) and report["rest"]["turns"] == 0
        assert [day["turns"] for day in report["groups"]] == [3] * 5
