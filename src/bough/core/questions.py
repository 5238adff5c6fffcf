"""Questions: what agents ask before they act is answered from memory or written down for a person, and answers find
their way back. Deciding is `approvals`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import structlog

from bough.core import approvals, rows
from bough.core.approvals import Question, remembered
from bough.core.live import Live
from bough.core.lives import Lives
from bough.core.rows import APPROVALS, TASKS
from bough.core.store import CHANNEL_APPROVALS, Change, Store
from bough.errors import BoughError, Busy
from bough.model.approval import Approval
from bough.model.task import Task

log = structlog.get_logger("bough.questions")

T = TypeVar("T")

# An answer that could not be looked up or carried is tried again after this.
RETRY_PAUSE = 1.0


class Questions:
    """Carries questions and answers between living agents and the table of approvals."""

    def __init__(self, store: Store, lives: Lives) -> None:
        self._store = store
        self._lives = lives

    async def ask(self, live: Live, question: Question) -> None:
        """An agent asks; when this returns, the question is answered, or stored with the number of its line."""
        live.recorder.tool(question.tool_call)

        async def work(change: Change) -> Approval | None:
            session = await rows.session(change.tx, live.session_id)
            open_tasks = await change.tx.all(TASKS.open, Task, session_id=live.session_id)
            task = next((one for one in open_tasks if one.status in ("running", "waiting_permission")), None)
            if task is None or remembered(session, question.tool_call):
                return None
            return await approvals.ask(change, session, task, question)

        if await _patiently(lambda: self._answer_unasked(live, question)):
            return
        approval = await _patiently(lambda: live.recorder.settle(question.number, work))
        if approval is None:
            # The turn ended, or *always* was said, just now.
            if not await _patiently(lambda: self._answer_unasked(live, question)):
                await live.decline(question)
            return
        live.asked(approval.id, question.request.id)
        # Somebody may have been quicker with the answer than we with remembering whose it is.
        await _patiently(lambda: self.answer(approval.id))

    async def _answer_unasked(self, live: Live, question: Question) -> bool:
        """Answers from memory, if that can."""
        session = await self._store.read(lambda tx: rows.session(tx, live.session_id))
        return remembered(session, question.tool_call) and await live.allow(question)

    async def follow(self) -> None:
        """Carries decisions to agents until cancelled."""
        heard: asyncio.Queue[str] = asyncio.Queue()
        forget = self._store.db.listen(CHANNEL_APPROVALS, heard.put_nowait)
        try:
            while True:
                payload = await heard.get()
                for approval_id in [payload] if payload else self._open():
                    try:
                        await self.answer(approval_id)
                    except BoughError as error:
                        log.warning("answer_not_carried", approval=approval_id, error=error.message)
                        await asyncio.sleep(RETRY_PAUSE)
                        heard.put_nowait(approval_id)
        finally:
            forget()

    def _open(self) -> list[str]:
        return [one for live in self._lives for one in live.open_questions()]

    async def answer(self, approval_id: str) -> None:
        """Carries a decision, if there is one, to the agent that waits for it."""
        approval = await self._store.read(lambda tx: tx.one(APPROVALS.get, Approval, id=approval_id))
        live = self._lives.get(approval.session_id) if approval else None
        if approval is None or live is None or approval.status == "pending":
            return
        await live.answer(approval)


async def _patiently(work: Callable[[], Awaitable[T]]) -> T:
    """Tries until the database is there again: an agent that asks is not given up for a bad moment of ours."""
    while True:
        try:
            return await work()
        except Busy as error:
            log.warning("question_not_stored", error=error.message)
            await asyncio.sleep(RETRY_PAUSE)
