"""Tests when schedules are due: cron expressions in time zones, missed times, placeholders."""

from __future__ import annotations

import pytest

from bough.core.schedules import times
from bough.core.schedules.requests import checked_timing
from bough.errors import Invalid

NOW = "2026-11-19T04:00:00.000000Z"


def utc(text: str) -> str:
    return f"{text}:00.000000Z"


@pytest.mark.parametrize(
    ("cron", "zone", "moment", "expected"),
    [
        ("30 6 * * 1-5", "UTC", "2026-11-20T07:00", "2026-11-23T06:30"),
        ("*/15 * * * *", "UTC", "2026-11-19T04:00", "2026-11-19T04:15"),
        ("0 9 * * *", "America/New_York", "2026-07-01T00:00", "2026-07-01T13:00"),
        # 02:30 does not exist in the night in which clocks go forward, and comes twice when they go back.
        ("30 2 * * *", "Europe/Berlin", "2026-03-28T12:00", "2026-03-29T01:00"),
        ("30 2 * * *", "Europe/Berlin", "2026-10-25T00:30", "2026-10-26T01:30"),
        # In the second pass of that hour.
        ("30 2 * * *", "Europe/Berlin", "2026-10-25T01:15", "2026-10-26T01:30"),
        ("0 0 29 2 *", "UTC", "2026-11-19T04:00", "2028-02-29T00:00"),
    ],
)
def test_the_next_time(cron: str, zone: str, moment: str, expected: str) -> None:
    """J1: A time is the one of the schedule's own time zone, once a day also when clocks change."""
    assert times.next_time(cron, zone, utc(moment)) == utc(expected)


@pytest.mark.parametrize(
    ("cron", "due", "moment", "expected"),
    [
        ("0 * * * *", "2026-11-19T03:00", "2026-11-19T03:00", ("2026-11-19T03:00", 0)),
        ("0 * * * *", "2026-11-19T03:00", "2026-11-19T06:59", ("2026-11-19T06:00", 3)),
        ("* * * * *", "2026-01-01T00:00", "2026-11-19T06:59", ("2026-11-19T06:59", times.MOST_MISSED)),
        ("0 0 1 1 *", "2026-01-01T00:00", "2026-11-19T06:59", ("2026-01-01T00:00", 0)),
        # A thousand of these reach beyond the year 9999.
        ("0 0 * 2 5#5", "2036-02-29T00:00", "2036-02-29T00:01", ("2036-02-29T00:00", 0)),
    ],
)
def test_missed_times_are_counted(cron: str, due: str, moment: str, expected: tuple[str, int]) -> None:
    """J2: After a pause of the server, the newest time counts, and those before it are counted, as far as sensible."""
    newest, missed = times.newest_time(cron, "UTC", utc(due), utc(moment))
    assert (newest, missed) == (utc(expected[0]), expected[1])


@pytest.mark.parametrize(
    "cron", ["", "* * * *", "60 * * * *", "0 0 31 2 *", "@daily", "0 0 * * * *", "a b c d e", "\0"]
)
def test_bad_expressions_are_refused(cron: str) -> None:
    """J1: What is not a cron expression, or never comes, is refused with an example or a reason."""
    with pytest.raises(Invalid) as refused:
        times.checked_cron(cron)
    assert refused.value.code == "bad_cron"


@pytest.mark.parametrize("zone", ["", "Berlin/", "../../etc/passwd", "/etc/localtime", "Mars/Olympus", "x" * 100])
def test_bad_zones_are_refused(zone: str) -> None:
    """J1: Only names of time zones reach the files that describe them."""
    with pytest.raises(Invalid) as refused:
        checked_timing("0 0 * * *", None, zone, NOW)
    assert refused.value.code == "bad_timezone"


def test_a_single_time_is_of_its_zone_unless_it_has_an_offset() -> None:
    """J1: `at` without an offset is meant in the schedule's time zone; a time that has passed is refused."""
    local = checked_timing(None, "2026-12-24T18:00", "Europe/Berlin", NOW)
    exact = checked_timing(None, "2026-12-24T18:00:00Z", "Europe/Berlin", NOW)
    assert (local.at, exact.at) == (utc("2026-12-24T17:00"), utc("2026-12-24T18:00"))
    for at, code in (("2026-11-19T04:00:00Z", "time_passed"), ("tomorrow", "bad_time")):
        with pytest.raises(Invalid) as refused:
            checked_timing(None, at, "UTC", NOW)
        assert refused.value.code == code
    for cron, at in ((None, None), ("0 0 * * *", "2026-12-24T18:00:00Z")):
        with pytest.raises(Invalid):
            checked_timing(cron, at, "UTC", NOW)


def test_placeholders_are_of_the_schedules_zone() -> None:
    """J3: Titles, branches and prompts get the run's date, time and number; a branch is never the same twice."""
    text = times.filled("{date} {time} {number} {else}", utc("2026-11-19T23:30"), "Europe/Berlin", 7)
    assert text == "2026-11-20 0030 7 {else}"
    assert times.distinct("nightly") == "nightly-{date}-{time}"
    assert times.distinct("run/{number}") == "run/{number}"


def test_a_time_long_ago_has_passed() -> None:
    """J1: Years before 1000 have four digits like all others, because text order is time order."""
    with pytest.raises(Invalid) as refused:
        checked_timing(None, "0999-01-01T00:00:00Z", "UTC", NOW)
    assert refused.value.code == "time_passed"
