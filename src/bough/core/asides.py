"""Questions that are asked aside (B4): the answer of an ephemeral fork goes into the transcript of the session that it
was asked about, to that session's agent with its next prompt, and to whoever asked. Then the fork is put away."""

from __future__ import annotations

import msgspec

from bough.core import callbacks, rows
from bough.core.callbacks import TREES, last_words
from bough.core.store import Change
from bough.model.ids import new_id
from bough.model.message import raw
from bough.model.session import Session
from bough.model.task import Task
from bough.model.tree import Aside
from bough.storage.backend import Tx

LONGEST_ANSWER = 20_000


async def answer(change: Change, aside: Session, task: Task) -> None:
    """The ephemeral fork has ended its turn: its answer, or that it has none, is told where it was asked."""
    assert aside.parent_session_id is not None
    about = await rows.session(change.tx, aside.parent_session_id)
    said = (await last_words(change.tx, task))[:LONGEST_ANSWER]
    if task.status != "completed" or not said:
        failed = msgspec.json.decode(task.error).get("message", "") if task.error is not None else ""
        said = f"No answer: the question {task.status}. {failed}".strip()
    body = {
        "type": "btw",
        "question": task.prompt,
        "text": said,
        "sessionId": aside.id,
        "taskId": task.id,
        "status": task.status,
    }
    await rows.add_message(change, about.id, None, "system", raw(body))
    asked = f"Aside, while you worked, somebody asked:\n> {task.prompt}\nand was answered:\n"
    text = asked + callbacks.quoted(said)
    await change.tx.run(
        TREES.add_aside, id=new_id(), session_id=about.id, from_session_id=aside.id, text=text, now=change.now
    )
    if task.source_session_id is not None and task.source_session_id != about.id:
        caller = await rows.session(change.tx, task.source_session_id)
        heading = f"The answer to what you asked session {about.title or about.id!r} aside:\n"
        await callbacks.deliver(
            change, caller, aside, task, heading + "\n".join(f"> {one}" for one in said.splitlines())
        )
    ended = {"status": "completed", "ended_at": change.now} if aside.status == "active" else {}
    metadata = raw(rows.with_metadata(aside, reason="answered"))
    await rows.update_session(change, aside.id, archived=True, activity="idle", metadata=metadata, **ended)


async def told_with(tx: Tx, task: Task) -> list[str]:
    """What the agent is told beside a prompt."""
    found = await tx.all(TREES.told_with, Aside, session_id=task.session_id, task_id=task.id)
    return [one.text for one in found]
