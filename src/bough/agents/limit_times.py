"""Reads from an agent's words when a limit ends: after a duration, or at a time of day."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

# No vendor's limit is longer than a week. Agents choose their words, so a later end is not believed.
LONGEST = timedelta(days=8)
# An agent rounds times to minutes: a time of day this close to now has just passed, and is not tomorrow's.
JUST_PASSED = timedelta(minutes=10)
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|[dhms])[a-z]*", re.IGNORECASE)
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_CLOCK = re.compile(r"(\d{1,2})(?::(\d{2}))?(?::\d{2})?\s*([ap])?\.?m?\.?", re.IGNORECASE)
_DATE = re.compile(r"([A-Za-z]{3})[a-z]* (\d{1,2})(?:st|nd|rd|th)?(?:,? (\d{4}))?")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def limit_end(words: str, patterns: Iterable[str], now: datetime) -> datetime | None:
    """Returns the time at which the words say that a limit ends; None if they do not, or if it is too far away."""
    for pattern in patterns:
        match = re.search(pattern, words)
        if match is None:
            continue
        groups = {name: text.strip() for name, text in match.groupdict().items() if text}
        try:
            end = _end(groups, now)
        except (ValueError, OverflowError, KeyError, OSError):
            continue
        if end is not None and now - JUST_PASSED <= end <= now + LONGEST:
            return max(end, now).astimezone(UTC)
    return None


def _end(groups: dict[str, str], now: datetime) -> datetime | None:
    if "seconds" in groups:
        return now + timedelta(seconds=float(groups["seconds"]))
    if "duration" in groups:
        parts = _PART.findall(groups["duration"])
        seconds = sum(float(number) * _UNITS[unit.lower()] for number, unit in parts)
        return now + timedelta(seconds=seconds) if parts else None
    if "clock" in groups:
        return _moment(groups["clock"], groups.get("date", ""), now.astimezone(_zone(groups.get("zone", ""))))
    return None


def _zone(name: str) -> tzinfo | None:
    """Returns a time zone by its name; without a name None, which is the server's own. Raises an error for a name that
    this machine does not know: without its zone, a time of day means nothing."""
    if not name:
        return None
    return UTC if name in ("UTC", "GMT") else ZoneInfo(name)


def _moment(clock: str, date: str, now: datetime) -> datetime | None:
    """Returns the next moment with this time of day, in the time zone of `now`, on the date if there is one."""
    time_match = _CLOCK.fullmatch(clock)
    if time_match is None:
        return None
    hour, minute, half = int(time_match[1]), int(time_match[2] or 0), (time_match[3] or "").lower()
    if half:
        hour = hour % 12 + (12 if half == "p" else 0)
    moment = now.replace(hour=hour, minute=minute, second=0, microsecond=0)
    if not date:
        return moment if moment >= now - JUST_PASSED else moment + timedelta(days=1)
    date_match = _DATE.fullmatch(date)
    if date_match is None or date_match[1].lower() not in _MONTHS:
        return None
    month, day = _MONTHS.index(date_match[1].lower()) + 1, int(date_match[2])
    moment = moment.replace(year=int(date_match[3] or now.year), month=month, day=day)
    if not date_match[3] and moment < now - timedelta(days=180):
        moment = moment.replace(year=now.year + 1)
    return moment
