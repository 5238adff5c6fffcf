"""Stores notes that an agent receives with its next prompt: answers to side questions, restored files."""

from __future__ import annotations

from bough.core.store.sql import TREES
from bough.core.store.transactions import Change
from bough.model.task import Task
from bough.model.trees.tree import AgentNote
from bough.model.values.ids import new_id
from bough.storage.backend import Tx


async def add(change: Change, session_id: str, text: str, from_session_id: str | None = None) -> None:
    """Adds a note for the session's agent. It is delivered once, with the next prompt.

    With `from_session_id`, a replayed transcript leaves that session's answer out until the note is delivered."""
    await change.tx.run(
        TREES.add_aside,
        id=new_id(),
        session_id=session_id,
        from_session_id=from_session_id,
        text=text,
        now=change.now,
    )


async def delivered_with(tx: Tx, task: Task) -> list[str]:
    """Returns the notes that the agent receives with this task's prompt."""
    notes = await tx.all(TREES.told_with, AgentNote, session_id=task.session_id, task_id=task.id)
    return [note.text for note in notes]
