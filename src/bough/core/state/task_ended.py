"""Applies the end of a task to other sessions in the same transaction: reports to the parent, delivers the answer of a
side question, and counts what the turn used for its tree and for the day."""

from __future__ import annotations

from typing import Any

import msgspec

from bough.core.state.limits import agent_time
from bough.core.state.reports import callbacks, side_questions
from bough.core.store import records
from bough.core.store.sql import HOME, TREES, USAGE
from bough.core.store.transactions import Change
from bough.model.task import Task
from bough.model.values.times import quarter

# More than a turn can use. Agents report these numbers themselves: a negative one would give back what others in the
# tree have used, and a huge one could not be stored.
MOST_TOKENS = 10**12
MOST_COST = 10**9


async def ended(change: Change, task: Task) -> None:
    """Applies the end of a task, whatever its status."""
    session = await records.session(change.tx, task.session_id)
    if task.sent_attempt:
        usage: dict[str, Any] = msgspec.json.decode(task.usage) if task.usage is not None else {}
        cost: dict[str, Any] = msgspec.json.decode(task.cost) if task.cost is not None else {}
        tokens = min(max(_tokens(usage), 0), MOST_TOKENS)
        spent = float(min(max(cost.get("amount") or 0, 0), MOST_COST))
        seconds = await agent_time.worked_seconds(change, task)
        await change.tx.run(TREES.count_turn, id=session.id, tokens=tokens, cost=spent, seconds=seconds)
        ended_in = quarter(change.now)
        await change.tx.run(HOME.spend, quarter=ended_in, tokens=tokens, cost=spent)
        await change.tx.run(
            USAGE.add,
            quarter=ended_in,
            root_session_id=session.root_session_id,
            repo_id=session.repo_id,
            agent=session.agent,
            tokens=tokens,
            cost=spent,
        )
    await callbacks.update_delivery(change, task, "held", "The task that carried it ended before it was sent.")
    if session.kind == "btw":
        await side_questions.answer(change, session, task)
    else:
        await callbacks.report(change, session, task)


def _tokens(usage: dict[str, Any]) -> int:
    """Returns the tokens of a turn; 0 if the agent reports only those of its last call to the model."""
    if usage.get("counts") == "call":
        return 0
    total = usage.get("totalTokens")
    if isinstance(total, int):
        return total
    return sum(value for name in ("inputTokens", "outputTokens") if isinstance(value := usage.get(name), int))
