"""Handles times as stored, compared and sent: UTC text with microseconds, always the same width."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from bough.errors import Invalid


def now() -> str:
    """Returns the current time, such as `2026-11-15T08:19:00.123456Z`; text order is time order."""
    return written(datetime.now(UTC))


def written(moment: datetime) -> str:
    # Not by `strftime`, which writes years before 1000 shorter on some systems.
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def of_seconds(seconds: float) -> str:
    """Returns a time that is given in seconds since 1970, as file systems do."""
    return written(datetime.fromtimestamp(max(seconds, 0.0), UTC))


def just_after(moment: str) -> str:
    """Returns the next time that can be told from this one."""
    return written(parse(moment) + timedelta(microseconds=1))


def quarter(moment: str) -> str:
    """Returns the quarter hour that contains a time, such as `2026-11-15T08:15`."""
    return f"{moment[:14]}{int(moment[14:16]) // 15 * 15:02}"


def before(seconds: float) -> str:
    """Returns the time `seconds` ago."""
    return written(datetime.now(UTC) - timedelta(seconds=seconds))


def after(seconds: float) -> str:
    """Returns the time in `seconds`."""
    return before(-seconds)


def seconds_until(moment: str) -> float:
    """Returns the seconds until a time; negative if it has passed."""
    return (parse(moment) - datetime.now(UTC)).total_seconds()


def seconds_between(earlier: str, later: str) -> float:
    return max((parse(later) - parse(earlier)).total_seconds(), 0.0)


def parse(text: str) -> datetime:
    """Parses an ISO 8601 time; without an offset it is UTC."""
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise Invalid("bad_time", f"{text[:64]!r} is not a time. Use the form 2026-11-15T08:19:00Z.") from None
