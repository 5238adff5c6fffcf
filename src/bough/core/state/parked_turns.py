"""Parks a turn that a usage or rate limit ended, until the clock of its agent's account lets it continue."""

from __future__ import annotations

from collections.abc import Mapping

from bough.agents.catalog.entry import CatalogEntry
from bough.agents.errors import AgentLimited
from bough.core.state import interruption, session_lifecycle, steering
from bough.core.state.limits import agent_limits
from bough.core.state.turn import TurnOutcome, finish
from bough.core.store import records
from bough.core.store.session_secrets import redacted_error
from bough.core.store.sql import LIMITS
from bough.core.store.transactions import Change
from bough.model import message
from bough.model.agents.limit import AgentLimit
from bough.model.message import raw
from bough.model.task import Task
from bough.settings import Settings


async def park(
    change: Change,
    task: Task,
    error: AgentLimited,
    entry: CatalogEntry,
    settings: Settings,
    steered: Mapping[str, bool],
) -> AgentLimit | None:
    """Parks a turn and returns the limit that it waits for; None if the turn was being stopped, and ends it. `steered`
    says which of the prompts that were sent into the turn the agent took, as far as it answered."""
    if not await interruption.under_way(change, task):
        return None
    session = await records.session(change.tx, task.session_id)
    parked = await records.move_task(change, task.id, "interrupted")
    if parked is None:
        # It was being stopped: this is how it stopped.
        await finish(change, task, TurnOutcome("failed", error=error, steered=dict(steered)), 0, None)
        return None
    await steering.turn_over(change, parked, steered)
    reason = redacted_error(error, await change.redactor(session.id)).message
    limit = await agent_limits.meet(change, entry, session, error, reason, settings)
    await session_lifecycle.withdraw_approvals(change, task.id)
    await interruption.close_entries(change, task)
    if parked.sent_attempt == parked.attempt:
        await change.tx.run(LIMITS.note_park, task_id=task.id, attempt=task.attempt, now=change.now)
    await records.update_task(change, task.id, parked=raw(agent_limits.shown(limit, change.now)))
    notice = message.notice(f"{sentence(entry, limit)} {reason}", stop_reason="limit")
    await records.add_message(change, task.session_id, task.id, "system", notice)
    await records.update_session(change, session.id, activity="idle", active_at=change.now)
    change.wake()
    return limit


def sentence(entry: CatalogEntry, limit: AgentLimit) -> str:
    """Returns the sentence that tells people about a limit and its end."""
    kind = "Usage limit" if limit.is_usage else "Rate limit"
    if limit.resumes_at is None:
        return f"{kind} of {entry.title}: it was still in force after {limit.tries} tries, so you are asked."
    return f"{kind} of {entry.title}; resumes at {limit.resumes_at[:16].replace('T', ' ')} UTC."
