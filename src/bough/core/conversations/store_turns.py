"""Stores turns that took place outside of Bough: tasks that are over, with their messages, all in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from bough.core.conversations.turns_from_replay import FoldedTurn
from bough.core.state.task_ended import MOST_COST, MOST_TOKENS
from bough.core.store import records
from bough.core.store.sql import CONVERSATIONS, SESSIONS, TREES
from bough.core.store.transactions import Change
from bough.model.message import Message, Role, notice, raw
from bough.model.session import Session
from bough.model.task import Task
from bough.model.values.ids import new_id


async def store_turns(
    change: Change, session: Session, turns: Sequence[FoldedTurn], notices: Sequence[str] = (), spent: float = 0.0
) -> None:
    """Appends turns to a session's transcript, after notices for people, and counts their tokens once. `spent` is what
    they cost together."""
    first: Any = await change.tx.value(CONVERSATIONS.take_task_positions, id=session.id, count=len(turns))
    position = first - len(turns)
    rows: list[tuple[str | None, Role, msgspec.Raw]] = [(None, "system", notice(text)) for text in notices]
    for turn in turns:
        task = await change.tx.one(
            CONVERSATIONS.add_turns,
            Task,
            id=new_id(),
            session_id=session.id,
            position=position,
            prompt=turn.prompt,
            usage=raw(_usage(turn)) if turn.usage else None,
            tool_use_count=turn.tool_count,
            now=change.now,
        )
        assert task is not None
        position += 1
        change.task("task.created", task)
        rows.append((task.id, "user", raw({"type": "text", "text": turn.prompt, "outside": True})))
        rows.extend((task.id, role, content) for role, content in turn.messages)
    await _store_messages(change, session, rows)
    tokens = min(sum(sum(turn.usage.values()) for turn in turns), MOST_TOKENS)
    cost = float(min(max(spent, 0.0), MOST_COST))
    for number in range(len(turns)):
        await change.tx.run(
            TREES.count_turn,
            id=session.id,
            tokens=tokens if number == 0 else 0,
            cost=cost if number == 0 else 0.0,
            seconds=0.0,
        )


async def _store_messages(
    change: Change, session: Session, rows: Sequence[tuple[str | None, Role, msgspec.Raw]]
) -> None:
    after: Any = await change.tx.value(SESSIONS.take_positions, id=session.id, count=len(rows))
    moment = await records.message_time(change, session.id)
    messages = [
        Message(new_id(), session.id, task_id, position, role, content, moment, moment)
        for position, (task_id, role, content) in enumerate(rows, after - len(rows))
    ]
    await records.insert_messages(change, messages)
    size = sum(len(bytes(content)) for _, _, content in rows)
    await change.tx.one(SESSIONS.grow, tuple[int, int | None], id=session.id, size=size)
    await change.tx.run(SESSIONS.touch, id=session.id, added=len(rows), now=change.now)


def _usage(turn: FoldedTurn) -> dict[str, Any]:
    return {**turn.usage, "totalTokens": sum(turn.usage.values()), "source": "conversation_file", "counts": "turn"}
