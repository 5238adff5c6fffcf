"""Questions: what agents ask before they act is answered from memory or written down for a person, and answers find
their way back. Deciding is `approvals`."""

from __future__ import annotations

import asyncio

from bough.core import approvals, rows
from bough.core.approvals import Question, remembered
from bough.core.live import Live
from bough.core.rows import APPROVALS, TASKS
from bough.core.store import CHANNEL_APPROVALS, Change, Store
from bough.model.approval import Approval
from bough.model.task import Task


class Questions:
    """Carries questions and answers between living agents and the table of approvals."""

    def __init__(self, store: Store, lives: dict[str, Live]) -> None:
        self._store = store
        self._lives = lives

    async def ask(self, live: Live, question: Question) -> None:
        """An agent asks; when this returns, the question is stored or answered."""
        live.recorder.tool(question.tool_call)

        async def work(change: Change) -> Approval | None:
            session = await rows.session(change.tx, live.session_id)
            open_tasks = await change.tx.all(TASKS.open, Task, session_id=live.session_id)
            task = next((one for one in open_tasks if one.status in ("running", "waiting_permission")), None)
            if task is None or remembered(session, question.tool_call):
                return None
            return await approvals.ask(change, session, task, question)

        approval = await live.recorder.flush(work)
        if approval is None:
            await self._answer_unasked(live, question)
            return
        live.asked(approval.id, question.request.id)
        live.lent = True
        # Somebody may have been quicker with the answer than we with remembering whose it is.
        await self._answer(approval.id)

    async def _answer_unasked(self, live: Live, question: Question) -> None:
        session = await self._store.read(lambda tx: rows.session(tx, live.session_id))
        if not (remembered(session, question.tool_call) and await live.allow(question)):
            await live.decline(question)

    async def follow(self) -> None:
        """Carries decisions to agents until cancelled."""
        heard: asyncio.Queue[str] = asyncio.Queue()
        forget = self._store.db.listen(CHANNEL_APPROVALS, heard.put_nowait)
        try:
            while True:
                payload = await heard.get()
                for approval_id in [payload] if payload else self._open():
                    await self._answer(approval_id)
        finally:
            forget()

    def _open(self) -> list[str]:
        return [one for live in self._lives.values() for one in live.open_questions()]

    async def _answer(self, approval_id: str) -> None:
        approval = await self._store.read(lambda tx: tx.one(APPROVALS.get, Approval, id=approval_id))
        live = self._lives.get(approval.session_id) if approval else None
        if approval is None or live is None or approval.status == "pending":
            return
        live.lent = len(live.open_questions()) > 1
        await live.answer(approval)
