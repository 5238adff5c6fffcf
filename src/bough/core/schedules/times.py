"""Computes when a schedule is due, and fills its placeholders. Pure: the time is an argument."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import chain, dropwhile, islice
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from bough.errors import Invalid
from bough.model.values.times import parse, written

FIELDS = 5
# The most missed times that are counted.
MOST_MISSED = 1_000
LONGEST_CRON = 200
# A name such as Europe/Berlin. `ZoneInfo` reads files, so nothing else gets near it.
ZONE = re.compile(r"[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+){0,2}")
PLACEHOLDERS = ("{date}", "{time}", "{number}")
# Errors of times in a row that another version of Bough, or of the time zones, has stored.
UNREADABLE = (CronSimError, ValueError, KeyError, OSError)


def checked_zone(name: str) -> ZoneInfo:
    """Returns a time zone by its name, such as `Europe/Berlin`."""
    try:
        if len(name) > 64 or ZONE.fullmatch(name) is None:
            raise ValueError
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        raise Invalid(
            "bad_timezone", f"There is no time zone {name[:64]!r}. Use a name such as UTC or Europe/Berlin."
        ) from None


def checked_cron(text: str) -> str:
    """Returns a cron expression with single spaces; raises `Invalid` for anything else, or if its time never comes."""
    fields = text.split()
    cron = " ".join(fields)
    if len(fields) != FIELDS or len(cron) > LONGEST_CRON:
        raise Invalid(
            "bad_cron",
            "A cron expression has five fields: minute, hour, day of month, month, day of week. "
            'For example "30 6 * * 1-5" is half past six on weekdays.',
        )
    try:
        next(CronSim(cron, datetime(2026, 1, 1, tzinfo=UTC)))
    except (CronSimError, StopIteration) as error:
        reason = str(error) or "its time never comes"
        raise Invalid("bad_cron", f"{cron!r} is not a cron expression: {reason}.") from None
    return cron


def one_time(text: str, zone: str) -> str:
    """Returns a time as it is stored; one without an offset is meant in the schedule's time zone."""
    try:
        moment = datetime.fromisoformat(text)
        return written(moment if moment.tzinfo is not None else moment.replace(tzinfo=checked_zone(zone)))
    except (ValueError, OverflowError):
        raise Invalid("bad_time", f"{text[:64]!r} is not a time. Use the form 2026-11-15T08:19:00Z.") from None


def next_time(cron: str, zone: str, moment: str) -> str | None:
    """Returns the first time of an expression after a moment; None if there is none within the next decades."""
    return next(_times(cron, zone, moment), None)


def upcoming(cron: str, zone: str, moment: str, count: int) -> list[str]:
    return list(islice(_times(cron, zone, moment), count))


def newest_time(cron: str, zone: str, due: str, moment: str) -> tuple[str, int]:
    """Returns the newest time from `due` up to a moment, and how many there are before it, `MOST_MISSED` at most."""
    # The search backwards begins before its start, so a time that is exactly now is found from a little later.
    latest = next(_times(cron, zone, written(parse(moment) + timedelta(seconds=1)), reverse=True), due)
    newest = min(max(latest, due), max(moment, due))
    missed = 0
    # One at a time: those of a yearly expression would take a second, and end beyond the year 9999.
    for time in islice(chain((due,), _times(cron, zone, due)), MOST_MISSED):
        if time >= newest:
            break
        missed += 1
    return newest, missed


def explained(cron: str) -> str:
    """Returns the expression in words, such as `At 06:30 on Monday through Friday`."""
    return CronSim(cron, datetime(2026, 1, 1, tzinfo=UTC)).explain()


def filled(text: str, slot: str, zone: str, number: int) -> str:
    """Fills `{date}`, `{time}` and `{number}` with the run's time in the schedule's zone and its number."""
    local = parse(slot).astimezone(ZoneInfo(zone))
    values = {"{date}": f"{local:%Y-%m-%d}", "{time}": f"{local:%H%M}", "{number}": str(number)}
    for placeholder, value in values.items():
        text = text.replace(placeholder, value)
    return text


def distinct(name: str) -> str:
    """Returns a branch's name that is different for each run: with its date and time, if it has no placeholder."""
    return name if any(placeholder in name for placeholder in PLACEHOLDERS) else f"{name}-{{date}}-{{time}}"


def _times(cron: str, zone: str, moment: str, *, reverse: bool = False) -> Iterator[str]:
    listed = map(written, CronSim(cron, parse(moment).astimezone(ZoneInfo(zone)), reverse=reverse))
    if reverse:
        return listed
    # In the hour that clocks repeat, the search begins in its first pass, which may lie before the moment.
    return dropwhile(lambda time: time <= moment, listed)
