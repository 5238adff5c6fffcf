"""Adds a prompt to a session's queue in the caller's transaction. `sessions.tasks` changes queued prompts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from bough.core.store import records
from bough.core.store.sql import SESSIONS, TASKS
from bough.core.store.transactions import Change
from bough.core.transcripts import files as prompt_files
from bough.errors import Busy, Invalid, TooLarge
from bough.model.file import File
from bough.model.message import QUEUED_BASE, user_text
from bough.model.session import Caller, Session
from bough.model.task import Source, Task
from bough.model.values.ids import new_id


def checked_prompt(text: str, most: int) -> str:
    """Returns the prompt; raises `Invalid` or `TooLarge` if it cannot be stored and sent."""
    if not text.strip():
        raise Invalid("empty_prompt", "The prompt is empty. Say what the agent should do.")
    if "\0" in text:
        raise Invalid("bad_prompt", "A prompt cannot contain a NUL character.")
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > most:
        raise TooLarge(
            "prompt_too_large",
            f"The prompt has {size} bytes and the limit is {most}. Put long text into a file and mention its path.",
            limit=most,
        )
    return text


async def check_room(change: Change, session: Session, limit: int) -> None:
    """Raises `Busy` if the session's queue is full."""
    waiting = await change.tx.value(TASKS.waiting, session_id=session.id) or 0
    if waiting >= limit:
        raise Busy(
            "queue_full",
            f"Session {session.id} already has {waiting} queued prompts, which is the limit. "
            "Wait for some to finish, or cancel some.",
            limit=limit,
        )


async def enqueue(
    change: Change,
    session: Session,
    prompt: str,
    *,
    source: Source,
    from_session: str | None,
    content: msgspec.Raw | None = None,
    files: Sequence[File] = (),
    caller: Caller | None = None,
) -> Task:
    """Appends a prompt to the queue. `content` is what the transcript shows, if not just the prompt and its files.
    `caller` is whoever sent it; reports and outcomes, which Bough itself sends, have none."""
    after: Any = await change.tx.value(SESSIONS.take_task_position, id=session.id)
    task = await change.tx.one(
        TASKS.add,
        Task,
        id=new_id(),
        session_id=session.id,
        position=after - 1,
        prompt=prompt,
        source=source,
        source_session_id=from_session,
        now=change.now,
    )
    assert task is not None
    await prompt_files.store(change, task.id, files)
    change.task("task.created", task)
    place = QUEUED_BASE + task.position
    user = caller.user_name if caller is not None else None
    shown = content if content is not None else user_text(prompt, files, user)
    if from_session is not None:
        # A session may repeat its own secret values to another.
        shown = (await change.redactor(from_session)).json(shown)
    await records.insert_message(change, new_id(), session.id, task.id, place, "user", shown)
    await change.tx.run(SESSIONS.touch, id=session.id, added=1, now=change.now)
    if caller is not None:
        change.audit(caller, "session.prompted", session_id=session.id, subject_id=task.id)
    change.wake()
    return task
