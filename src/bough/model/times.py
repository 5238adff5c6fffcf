"""Times as the text that is stored, compared and sent: UTC, microseconds, always the same width. Clocks for waiting
are asyncio's."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from bough.errors import Invalid


def now() -> str:
    """This moment, such as `2026-11-15T08:19:00.123456Z`; text order is time order."""
    return written(datetime.now(UTC))


def written(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def quarter(moment: str) -> str:
    """The quarter of an hour that a moment lies in, such as `2026-11-15T08:15`; every day begins with one."""
    return f"{moment[:14]}{int(moment[14:16]) // 15 * 15:02}"


def before(seconds: float) -> str:
    """The moment `seconds` ago."""
    return written(datetime.now(UTC) - timedelta(seconds=seconds))


def after(seconds: float) -> str:
    """The moment in `seconds`."""
    return before(-seconds)


def seconds_until(moment: str) -> float:
    """How long it is until a moment; less than nothing if it has passed."""
    return (parse(moment) - datetime.now(UTC)).total_seconds()


def seconds_between(earlier: str, later: str) -> float:
    return max((parse(later) - parse(earlier)).total_seconds(), 0.0)


def parse(text: str) -> datetime:
    """An ISO 8601 time, as anyone writes it; without an offset it is UTC."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise Invalid("bad_time", f"{text[:64]!r} is not a time; write it like 2026-11-15T08:19:00Z.") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
