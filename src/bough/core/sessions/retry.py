"""Sends the prompt of a failed or cancelled task again, and tries a parked one now (Q1, Q6, T5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from bough.core.sessions.ending.control import Control
from bough.core.sessions.requests import PromptedTask
from bough.core.sessions.tasks import Tasks
from bough.core.state import interruption
from bough.core.state.enqueue import enqueue
from bough.core.state.limits import agent_limits
from bough.core.store import records
from bough.core.store.idempotency import RecordScope
from bough.core.store.sql import MESSAGES, TREES
from bough.core.store.transactions import Change, Store
from bough.core.transcripts import files as prompt_files
from bough.errors import Conflict
from bough.model.file import File
from bough.model.message import Message, file_infos, raw
from bough.model.session import Caller, Session
from bough.model.task import Task
from bough.model.values.ids import new_id

# Statuses of tasks whose prompt can be sent again.
RETRIED = ("failed", "cancelled")


class Retrying:
    """Queues prompts of earlier tasks again."""

    def __init__(self, store: Store, tasks: Tasks, control: Control) -> None:
        self._store = store
        self._tasks = tasks
        self._control = control

    async def retry(self, caller: Caller, task_id: str, *, make_room: bool = False) -> PromptedTask:
        """Queues the prompt of a failed or stopped turn again, with its files. An ended session is resumed; at the
        limit on sessions, `make_room` completes another for it. The copy keeps its author: whoever repeats an agent's
        words does not make them their own. A person tries a parked turn now, with all others of its agent's account."""
        escaped = await self._tasks.escaped((await self._tasks.get(task_id)).session_id)

        async def work(change: Change) -> PromptedTask:
            task = await records.task(change.tx, task_id)
            if task.parked is not None and caller.kind != "session":
                await interruption.release(change, task)
                await agent_limits.try_parked(change, task.session_id)
                change.audit(caller, "session.resumed", session_id=task.session_id, subject_id=task.id)
                tried = await change.shown(await records.task(change.tx, task.id))
                return PromptedTask(*msgspec.structs.astuple(tried))
            if task.status not in RETRIED:
                raise Conflict(
                    "task_not_failed",
                    f"Task {task.id} is {task.status}; only a failed or cancelled task can be tried again.",
                    status=task.status,
                )
            session = await records.session(change.tx, task.session_id)
            attached = await prompt_files.of_task(change.tx, task.id)
            copies = [msgspec.structs.replace(file, id=new_id()) for file in attached]
            session, made_room = await self._tasks.open(
                change, caller, session, escaped, resume=True, make_room=make_room
            )
            if caller.kind == "session":
                queued = await self._tasks.queue(change, caller, session, task.prompt, copies)
            else:
                await self._tasks.check_room(change, session)
                queued = await _enqueue_again(change, session, task, copies, caller)
            return PromptedTask(*msgspec.structs.astuple(await change.shown(queued)), made_room=made_room)

        scope = RecordScope("tasks.retry", "tasks", task_id)
        request = "makeRoom" if make_room else None
        retried = await self._store.write_once(caller, scope, request, PromptedTask, work)
        await self._control.end_agent_of(retried.made_room)
        return retried


async def _enqueue_again(change: Change, session: Session, task: Task, files: Sequence[File], caller: Caller) -> Task:
    """Queues a prompt with the author and the entry in the transcript that it had before. A person who sends it lets
    the tree continue, as any prompt of theirs does."""
    entries = await change.tx.all(MESSAGES.of_task, Message, task_id=task.id)
    content: dict[str, Any] = next(
        (msgspec.json.decode(entry.content) for entry in entries if entry.role == "user"), {"type": "text"}
    )
    content["text"] = task.prompt
    if files:
        content["files"] = file_infos(files)
    if task.source_session_id is not None:
        await change.tx.run(TREES.attend, root=session.root_session_id, now=change.now)
    return await enqueue(
        change,
        session,
        task.prompt,
        source=task.source,
        from_session=task.source_session_id,
        content=raw(content),
        files=files,
        caller=caller,
    )
