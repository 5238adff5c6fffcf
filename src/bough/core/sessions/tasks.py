"""Queues prompts and changes queued ones (Q1, Q5). The runner of `turns` sends them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec

from bough.core.sessions.masked_prompts import edited_prompt, repeated_prompt
from bough.core.sessions.requests import PromptedTask
from bough.core.state import interruption, queue_order, session_lifecycle, steering, task_ended
from bough.core.state.enqueue import check_room, checked_prompt, enqueue
from bough.core.state.limits.session_limit import MadeRoom, readmit
from bough.core.state.reports import callbacks
from bough.core.store import records
from bough.core.store.idempotency import RecordScope
from bough.core.store.paging import Page
from bough.core.store.session_secrets import prompt_redactor, shown_task
from bough.core.store.sql import MESSAGES, TASKS
from bough.core.store.transactions import Change, Store
from bough.core.transcripts import files as prompt_files
from bough.core.transcripts.files import NewFiles
from bough.errors import Conflict, Denied, Invalid, NotFound
from bough.git.workspace import check_workspace
from bough.model.file import File
from bough.model.message import QUEUED_BASE, Message, user_text
from bough.model.session import Caller, Session
from bough.model.task import STEERED, TASK_STATUSES, Source, Task, When
from bough.settings import Settings
from bough.storage.backend import Tx


class Tasks:
    """Queues prompts, and edits, moves or removes queued ones."""

    def __init__(self, store: Store, settings: Settings, steers: Callable[[str], bool] = lambda _agent: False) -> None:
        """`steers` says whether an agent takes prompts during its turns."""
        self._store = store
        self._settings = settings
        self._steers = steers

    async def prompt(
        self,
        caller: Caller,
        session_id: str,
        text: str,
        *,
        resume: bool = False,
        make_room: bool | None = None,
        files: NewFiles = msgspec.UNSET,
        when: When = "next",
        first: Callable[[Change, Session], Awaitable[Session]] | None = None,
    ) -> PromptedTask:
        """Queues a prompt with its files. Once this returns, the prompt is stored and will be sent. An ended session is
        refused unless `resume` is set (T2); at the limit on sessions, `make_room` completes another for it (T5).

        With `when` "now" it goes into the running turn; a prompt that is not to wait is first in the queue otherwise
        (Q8). `first` is done in the same transaction before it is queued."""
        prompt = checked_prompt(text, self._settings.max_prompt)
        attached = prompt_files.checked(files, prompt)

        escaped = await self.escaped(session_id)

        async def work(change: Change) -> PromptedTask:
            session = await records.session(change.tx, session_id)
            session, made_room = await self.open(change, caller, session, escaped, resume=resume, make_room=make_room)
            if first is not None:
                session = await first(change, session)
            turn = await self._turn_to_steer(change.tx, session) if when == "now" else None
            task = await self.queue(change, caller, session, prompt, attached)
            if turn is not None:
                task = await change.shown(await steering.begin(change, task, turn))
            elif when != "next":
                task = await change.shown(await queue_order.move_first(change, task))
            return PromptedTask(*msgspec.structs.astuple(task), made_room=made_room)

        scope = RecordScope("tasks.prompt", "sessions", session_id)
        request = [text, resume, *([files] if files else []), *(["makeRoom"] if make_room else [])]
        request += [when] if when != "next" else []
        return await self._store.write_once(caller, scope, request, PromptedTask, work)

    async def open(
        self,
        change: Change,
        caller: Caller,
        session: Session,
        escaped: Denied | None,
        *,
        resume: bool,
        make_room: bool | None,
    ) -> tuple[Session, MadeRoom | None]:
        """Returns the session once it takes prompts, in a transaction, and the session that was completed to make room
        for it; raises why it takes none. `escaped` is the result of looking at its folder before."""
        session_lifecycle.refuse_side_question(session)
        if escaped is not None:
            raise escaped
        if session.status != "active":
            session_lifecycle.check_resumable(session)
            if not resume:
                raise Conflict(
                    "session_ended",
                    f"Session {session.id} ended ({session.status}). Send resume: true, or fork it.",
                    status=session.status,
                )
            return await readmit(change, self._settings, caller, session, make_room=make_room)
        return await interruption.go_on(change, session, unasked=caller.kind == "session"), None

    async def _turn_to_steer(self, tx: Tx, session: Session) -> Task | None:
        """Returns the running turn, or raises `Conflict` if its agent takes no prompts meanwhile."""
        turn = await steering.turn_to_steer(tx, session.id)
        if turn is not None and not self._steers(session.agent):
            raise Conflict(
                "cannot_steer",
                f"The agent of session {session.id} ({session.agent}) takes no prompts during a turn. "
                "Queue the prompt, or stop the turn and send it (after_stop).",
                agent=session.agent,
            )
        return turn

    async def queue(
        self,
        change: Change,
        caller: Caller,
        session: Session,
        prompt: str,
        files: Sequence[File] = (),
        *,
        by_clock: bool = False,
    ) -> Task:
        """Queues a checked prompt at an open session, in a transaction. `by_clock` says that no person sends it now."""
        await self.check_room(change, session)
        scheduled = by_clock or caller.kind == "system"
        source: Source = "session" if caller.kind == "session" else "schedule" if scheduled else "user"
        sent = prompt if source == "session" else await repeated_prompt(change.tx, session.id, prompt)
        task = await enqueue(change, session, sent, source=source, from_session=caller.id, files=files, caller=caller)
        return task if sent == prompt else await change.shown(task)

    async def check_room(self, change: Change, session: Session) -> None:
        """Raises `Busy` if the session's queue is full."""
        await check_room(change, session, self._settings.max_queue)

    async def escaped(self, session_id: str) -> Denied | None:
        """Returns the error if a session's folder leads outside the workspace root by now. Looks before the
        transaction, which must not wait for a disk."""
        try:
            session = await self._store.read(lambda tx: records.session(tx, session_id))
            await asyncio.to_thread(check_workspace, self._settings.root_path, self._settings.data_path, session.cwd)
        except Denied as error:
            return error
        except NotFound:
            # The transaction says so.
            return None
        return None

    async def get(self, task_id: str) -> Task:
        async def work(tx: Tx) -> Task:
            return await shown_task(tx, await records.task(tx, task_id))

        return await self._store.read(work)

    async def count_queued(self, session_id: str) -> int:
        """Returns how many prompts of a session are queued."""
        return await self._store.read(lambda tx: tx.value(TASKS.waiting, session_id=session_id)) or 0

    async def last_words(self, tasks: Sequence[Task]) -> tuple[str, ...]:
        """Returns the agent's last text in each task; empty for a task without one."""

        async def work(tx: Tx) -> tuple[str, ...]:
            return tuple([await self._last_words(tx, task) for task in tasks])

        return await self._store.read(work)

    async def _last_words(self, tx: Tx, task: Task) -> str:
        if task.stop_reason == STEERED and task.steers_task_id is not None:
            # The agent's answer is part of the turn that the prompt was put into.
            task = await records.task(tx, task.steers_task_id)
        return await callbacks.last_words(tx, task) if task.sent_attempt else ""

    async def list(self, session_id: str | None, status: str | None, limit: int, offset: int) -> Page[Task]:
        """Returns the tasks of one session in the order of its queue, or of all sessions, newest first."""
        statuses = _parse_statuses(status)

        async def work(tx: Tx) -> Page[Task]:
            params: dict[str, Any] = {"statuses": statuses}
            where = "status IN :statuses"
            query = TASKS.newest
            if session_id is not None:
                params["session_id"] = (await records.session(tx, session_id)).id
                where += " AND session_id = :session_id"
                query = TASKS.of_session
            tasks = await tx.all(query.with_(where=where), Task, limit=limit, offset=offset, **params)
            shown = [await shown_task(tx, task) for task in tasks]
            return Page(shown, await tx.value(TASKS.count.with_(where=where), **params) or 0, limit, offset)

        return await self._store.read(work)

    async def newest_ids(self, session_ids: Sequence[str], most: int) -> dict[str, list[str]]:
        """Returns the ids of the newest tasks of each session, newest first."""

        by_session: dict[str, list[str]] = {session_id: [] for session_id in session_ids}
        if not by_session:
            return by_session
        query, ids = TASKS.newest_ids, tuple(by_session)
        for session_id, task_id in await self._store.read(
            lambda tx: tx.all(query, tuple[str, str], ids=ids, most=most)
        ):
            by_session[session_id].append(task_id)
        return by_session

    async def edit(self, caller: Caller, task_id: str, prompt: str | None, before: str | None) -> Task:
        """Changes the text of a queued prompt, or moves it before another one, or to the end if `before` is empty. Its
        files stay; a changed text is its last author's. Secret values that were shown masked stay (R1)."""
        if prompt is None and before is None:
            raise Invalid("nothing_to_change", "Give at least one field to change.")
        text = checked_prompt(prompt, self._settings.max_prompt) if prompt is not None else None

        async def work(change: Change) -> Task:
            task = await self._waiting(change.tx, task_id)
            if text is not None:
                edited = await edited_prompt(change.tx, task, text)
                task = await records.update_task(change, task.id, prompt=edited)
                change.audit(caller, "prompt.changed", session_id=task.session_id, subject_id=task.id)
                infos = await prompt_files.infos(change.tx, task.id)
                content = user_text(edited, infos, caller.user_name)
                message = await change.tx.one(
                    MESSAGES.edit_queued,
                    Message,
                    task_id=task.id,
                    content=(await prompt_redactor(change.tx, task)).json(content),
                    queued_base=QUEUED_BASE,
                    now=await records.message_time(change, task.session_id),
                )
                if message is not None:
                    change.message("message.patched", message)
            if before is not None:
                task = await queue_order.move_before(change, task, before)
            return await change.shown(task)

        return await self._store.write(work)

    async def cancel(self, change: Change, task_id: str) -> Task:
        """Removes a prompt from the queue, in a transaction; `control` stops running ones."""
        task = await self._waiting(change.tx, task_id)
        fresh = await records.end_task(change, task.id, "cancelled", stop_reason="cancelled")
        assert fresh is not None
        await records.enter_transcript(change, fresh)
        await task_ended.ended(change, fresh)
        return fresh

    async def _waiting(self, tx: Tx, task_id: str) -> Task:
        task = await records.task(tx, task_id)
        if task.status != "queued":
            raise Conflict(
                "task_not_queued",
                f"Task {task.id} is {task.status}; only a queued task can be changed.",
                status=task.status,
            )
        return task


def _parse_statuses(text: str | None) -> tuple[str, ...]:
    if not text:
        return TASK_STATUSES
    statuses = tuple(part.strip() for part in text.split(",") if part.strip())
    unknown = [part for part in statuses if part not in TASK_STATUSES]
    if unknown or not statuses:
        raise Invalid(
            "bad_status", f"Unknown task status {', '.join(unknown)!r}. Use one of: {', '.join(TASK_STATUSES)}."
        )
    return statuses


class TaskPatch(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Changes to a queued prompt: its text, or its position (`before` another task; an empty string means the end)."""

    prompt: str | None = None
    before: str | None = None
