"""Logs each turn's start, end and failure, one line each, without prompts or answers."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec
import structlog

from bough.core.state.turn import Claimed
from bough.errors import BoughError
from bough.model.task import Task

log = structlog.get_logger("bough.turns")


def started(claimed: Claimed, *, resumed: bool = False) -> None:
    """Logs that a turn begins, or that this server continues one that an earlier server began."""
    session, task = claimed.session, claimed.task
    log.info(
        "turn_resumed" if resumed else "turn_started",
        agent=session.agent,
        source=task.source,
        attempt=task.attempt,
        **_names(claimed),
    )


def ended(claimed: Claimed, task: Task | None) -> None:
    """Logs how a turn ended; a failure is a warning with its code and message, from which secrets were removed. None:
    it had ended before."""
    if task is None:
        return
    about = {**_names(claimed), "status": task.status, "seconds": _seconds(task), "tool_uses": task.tool_use_count}
    if task.error is not None:
        error: dict[str, Any] = msgspec.json.decode(task.error)
        log.warning("turn_failed", code=error.get("code"), error=error.get("message"), **about)
    else:
        log.info("turn_ended", reason=task.stop_reason, **about)


def interrupted(claimed: Claimed, error: BoughError) -> None:
    """Logs that a turn stopped because its agent died or the database was away; another attempt may follow."""
    log.warning("turn_interrupted", code=error.code, attempt=claimed.task.attempt, **_names(claimed))


def held(claimed: Claimed, reason: str) -> None:
    """Logs that a turn waits for a person before it starts, or for the end of a limit."""
    log.info("turn_held", reason=reason, **_names(claimed))


def _names(claimed: Claimed) -> dict[str, str]:
    return {"session": claimed.session.id, "task": claimed.task.id}


def _seconds(task: Task) -> float | None:
    """Returns how long a turn ran; None if its prompt was never sent."""
    if task.started_at is None or task.ended_at is None:
        return None
    span = datetime.fromisoformat(task.ended_at) - datetime.fromisoformat(task.started_at)
    return round(span.total_seconds(), 3)
