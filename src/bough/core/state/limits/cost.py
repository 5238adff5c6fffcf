"""Computes the cost of a turn from the growth of the session's cost, as far as the agent reports it."""

from __future__ import annotations

from typing import Any

import msgspec

from bough.model.message import raw
from bough.model.session import Session
from bough.model.task import Task


def grown_cost(session: Session, task: Task) -> msgspec.Raw | None:
    """Returns by how much the session's cost has grown since the task was first sent; None if unknown."""
    if session.cost is None or not task.sent_attempt:
        return None
    now: dict[str, Any] = msgspec.json.decode(session.cost)
    if task.cost_before is not None:
        before: dict[str, Any] = msgspec.json.decode(task.cost_before)
        # Less than before means that the agent has restarted its count.
        if before.get("currency") == now.get("currency") and now["amount"] >= before["amount"]:
            now["amount"] = round(now["amount"] - before["amount"], 9)
    return raw(now | {"source": "difference of the session's cost"})
