"""What a turn has cost, as far as its agent tells: the growth of what the whole session has. Counting it for a tree is
`reports`, bounding that `budgets`."""

from __future__ import annotations

from typing import Any

import msgspec

from bough.model.message import raw
from bough.model.session import Session
from bough.model.task import Task


def grown_cost(session: Session, task: Task) -> msgspec.Raw | None:
    """What the session's cost has grown by since the task was first sent."""
    if session.cost is None or not task.sent_attempt:
        return None
    now: dict[str, Any] = msgspec.json.decode(session.cost)
    if task.cost_before is not None:
        before: dict[str, Any] = msgspec.json.decode(task.cost_before)
        # Less than before: the agent has begun to count anew.
        if before.get("currency") == now.get("currency") and now["amount"] >= before["amount"]:
            now["amount"] = round(now["amount"] - before["amount"], 9)
    return raw(now | {"source": "difference of the session's cost"})
