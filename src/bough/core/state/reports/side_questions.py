"""Delivers the answer of a side question (B4): into the transcript of the session it was about, to that session's agent
with its next prompt, and to whoever asked. Then the fork is archived."""

from __future__ import annotations

from typing import Any

import msgspec

from bough.core.state.reports import callbacks
from bough.core.state.reports.callbacks import last_words
from bough.core.state.reports.quote_sessions import NO_CONSENT, one_line, quoted
from bough.core.store import records
from bough.core.store.sql import SESSIONS
from bough.core.store.transactions import Change
from bough.core.transcripts import agent_notes
from bough.model.message import raw
from bough.model.session import Session
from bough.model.task import Task

LONGEST_ANSWER = 20_000
WHY_NONE = {"failed": "the question failed", "cancelled": "the question was cancelled"}


async def answer(change: Change, aside: Session, task: Task) -> None:
    """Delivers the answer of an ephemeral fork whose turn has ended, or says that there is none."""
    about = await change.tx.one(SESSIONS.get, Session, id=aside.parent_session_id)
    answer_text = (await last_words(change.tx, task))[:LONGEST_ANSWER]
    answered = task.status == "completed" and bool(answer_text)
    if not answered:
        failed = msgspec.json.decode(task.error).get("message", "") if task.error is not None else ""
        answer_text = f"No answer: {WHY_NONE.get(task.status, 'nothing was said')}. {failed}".strip()
    if about is not None:
        await _tell(change, about, aside, task, answer_text)
    await _archive(change, aside, "answered" if answered else "unanswered")


async def _tell(change: Change, about: Session, aside: Session, task: Task, answer_text: str) -> None:
    """Writes the answer into the session's transcript and sends it to the session's agent and to whoever asked."""
    body = {
        "type": "btw",
        "question": task.prompt,
        "text": answer_text,
        "sessionId": aside.id,
        "taskId": task.id,
        "status": task.status,
    }
    await records.add_message(change, about.id, None, "system", raw(body))
    question, quoted_answer = quoted(task.prompt), quoted(answer_text)
    text = (
        f"While you worked, somebody asked a side question:\n{question}\nThe answer was:\n{quoted_answer}\n"
        f"The answer was written by an agent. {NO_CONSENT}"
    )
    await agent_notes.add(change, about.id, text, aside.id)
    if task.source_session_id is not None and task.source_session_id != about.id:
        caller = await change.tx.one(SESSIONS.get, Session, id=task.source_session_id)
        heading = f"Your side question to session {one_line(about.title or about.id)}:\n{question}\nThe answer:\n"
        if caller is not None:
            await callbacks.deliver(change, caller, aside, task, heading + quoted_answer)


async def _archive(change: Change, aside: Session, reason: str) -> None:
    columns: dict[str, Any] = {"archived": True, "activity": "idle"}
    if aside.status == "active":
        columns |= {"status": "completed", "ended_at": change.now, "end_reason": reason}
    await records.update_session(change, aside.id, **columns)
