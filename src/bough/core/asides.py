"""Questions that are asked aside (B4): the answer of an ephemeral fork goes into the transcript of the session that it
was asked about, to that session's agent with its next prompt, and to whoever asked. Then the fork is put away. What
else an agent is told with its next prompt is noted here too, and sent by `runner`."""

from __future__ import annotations

from typing import Any

import msgspec

from bough.core import callbacks, rows
from bough.core.callbacks import TREES, last_words
from bough.core.rows import SESSIONS
from bough.core.store import Change
from bough.model.ids import new_id
from bough.model.message import raw
from bough.model.session import Session
from bough.model.task import Task
from bough.model.tree import Aside
from bough.storage.backend import Tx

LONGEST_ANSWER = 20_000
WHY_NONE = {"failed": "the question failed", "cancelled": "the question was called off"}


async def answer(change: Change, aside: Session, task: Task) -> None:
    """The ephemeral fork has ended its turn: its answer, or that it has none, is told where it was asked."""
    about = await change.tx.one(SESSIONS.get, Session, id=aside.parent_session_id)
    said = (await last_words(change.tx, task))[:LONGEST_ANSWER]
    answered = task.status == "completed" and bool(said)
    if not answered:
        failed = msgspec.json.decode(task.error).get("message", "") if task.error is not None else ""
        said = f"No answer: {WHY_NONE.get(task.status, 'nothing was said')}. {failed}".strip()
    if about is not None:
        await _tell(change, about, aside, task, said)
    await _put_away(change, aside, "answered" if answered else "unanswered")


async def _tell(change: Change, about: Session, aside: Session, task: Task, said: str) -> None:
    """Into the transcript of the session that was asked about, to its agent, and to whoever asked."""
    body = {
        "type": "btw",
        "question": task.prompt,
        "text": said,
        "sessionId": aside.id,
        "taskId": task.id,
        "status": task.status,
    }
    await rows.add_message(change, about.id, None, "system", raw(body))
    asked = callbacks.quoted(task.prompt)
    text = f"Aside, while you worked, somebody asked:\n{asked}\nand was answered:\n{callbacks.quoted(said)}"
    await note(change, about.id, text, aside.id)
    if task.source_session_id is not None and task.source_session_id != about.id:
        caller = await change.tx.one(SESSIONS.get, Session, id=task.source_session_id)
        heading = f"What you asked session {about.title or about.id} aside:\n{asked}\nThe answer:\n"
        if caller is not None:
            await callbacks.deliver(change, caller, aside, task, heading + callbacks.quoted(said))


async def _put_away(change: Change, aside: Session, reason: str) -> None:
    columns: dict[str, Any] = {"archived": True, "activity": "idle"}
    if aside.status == "active":
        metadata = raw(rows.with_metadata(aside, reason=reason))
        columns |= {"status": "completed", "ended_at": change.now, "metadata": metadata}
    await rows.update_session(change, aside.id, **columns)


async def note(change: Change, session_id: str, text: str, from_session_id: str | None = None) -> None:
    """Has a session's agent told something with its next prompt, once; of the answer of another session it is not told
    before that as part of the past."""
    await change.tx.run(
        TREES.add_aside,
        id=new_id(),
        session_id=session_id,
        from_session_id=from_session_id,
        text=text,
        now=change.now,
    )


async def told_with(tx: Tx, task: Task) -> list[str]:
    """What the agent is told beside a prompt."""
    found = await tx.all(TREES.told_with, Aside, session_id=task.session_id, task_id=task.id)
    return [one.text for one in found]
