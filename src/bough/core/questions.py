"""Questions: what agents ask before they act is answered by policy or written down for a person, and answers find
their way back. What policy says is `judging`, deciding `approvals`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import msgspec
import structlog

from bough.core import asking, judging, modes, rows
from bough.core.approvals import Question, once
from bough.core.asking import Asked
from bough.core.live import Live
from bough.core.lives import Lives
from bough.core.policy import Verdict
from bough.core.rows import APPROVALS, TASKS
from bough.core.store import CHANNEL_APPROVALS, Change, Store
from bough.errors import BoughError, Busy
from bough.model.approval import Approval
from bough.model.message import notice
from bough.model.session import Session
from bough.model.task import Task
from bough.settings import Settings
from bough.storage.backend import Tx

log = structlog.get_logger("bough.questions")

T = TypeVar("T")

# An answer that could not be looked up or carried is tried again after this.
RETRY_PAUSE = 1.0


class Judged(msgspec.Struct):
    """What policy says to a question in a turn that runs."""

    session: Session
    task: Task
    asked: Asked
    verdict: Verdict


class Settled(msgspec.Struct):
    """A question that is a row now, and why."""

    approval: Approval
    verdict: Verdict


class Questions:
    """Carries questions and answers between living agents and the table of approvals."""

    def __init__(self, store: Store, settings: Settings, lives: Lives) -> None:
        self._store = store
        self._settings = settings
        self._lives = lives

    async def ask(self, live: Live, question: Question) -> None:
        """An agent asks; when this returns, the question is answered, or stored with the number of its line.

        What is allowed is answered before its line counts as heard, and leaves no row: a line that was not heard is
        asked again. All else is a row first, so that its answer finds the agent after a restart too.
        """
        entry = live.recorder.tool(question.tool_call)
        found = await _patiently(lambda: self._store.read(lambda tx: _judged(tx, live, question, entry.body, None)))
        if found is not None:
            live.recorder.permit(entry, _told(found.verdict))
            if found.verdict.effect == "allow":
                await live.allow(question)
                return
        body = entry.body

        async def work(change: Change) -> Settled | None:
            # Rules, choices, mode and turn may have changed since.
            judged = await _judged(change.tx, live, question, body, found.asked if found else None)
            if judged is None:
                return None
            session, task, verdict = judged.session, judged.task, judged.verdict
            approval = await asking.ask(change, session, task, judged.asked, verdict, self._settings)
            return Settled(approval, verdict)

        settled = await _patiently(lambda: live.recorder.settle(question.number, work))
        if settled is None:
            # The turn ended just now.
            await live.decline(question)
            return
        live.recorder.permit(entry, _told(settled.verdict))
        live.asked(settled.approval.id, question.request.id)
        # Policy, or somebody, may have been quicker with the answer than we with remembering whose it is.
        await _patiently(lambda: self.answer(settled.approval.id))

    async def moved(self, live: Live, mode: str) -> None:
        """An agent has changed its mode by itself: what would widen its rights is taken back (P2)."""

        async def work(tx: Tx) -> bool:
            session = await rows.session(tx, live.session_id)
            return await modes.may_be_in(tx, live.entry, session, mode)

        if await _patiently(lambda: self._store.read(work)):
            return
        log.warning("mode_taken_back", session=live.session_id, agent=live.entry.name, mode=mode)
        await live.recall()
        text = f"{live.entry.title} went into its mode {mode!r} by itself and was brought back: nobody had allowed it."

        async def tell(change: Change) -> None:
            await rows.add_message(change, live.session_id, live.task_id, "system", notice(text))

        await _patiently(lambda: self._store.write(tell))

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


async def _judged(tx: Tx, live: Live, question: Question, body: dict[str, Any], known: Asked | None) -> Judged | None:
    """What policy says to a question; nothing if no turn of its session runs."""
    session = await rows.session(tx, live.session_id)
    open_tasks = await tx.all(TASKS.open, Task, session_id=session.id)
    task = next((one for one in open_tasks if one.status in ("running", "waiting_permission")), None)
    if task is None:
        return None
    asked = known or Asked(question, await judging.use_of(tx, session, body), body)
    verdict = await judging.judge(tx, session, asked.use)
    if verdict.effect == "allow" and once(question.options, "allow_once") is None:
        reason = f"{verdict.reason} But the agent offers no way to allow it just once: it can only be denied."
        verdict = msgspec.structs.replace(verdict, effect="ask", reason=reason)
    return Judged(session, task, asked, verdict)


def _told(verdict: Verdict) -> dict[str, Any] | None:
    """What the transcript says about a tool call that nobody is asked about."""
    if verdict.effect == "ask":
        return None
    decision = "allowed" if verdict.effect == "allow" else "denied"
    return {"decision": decision, "by": verdict.by, "id": verdict.id, "reason": verdict.reason}


async def _patiently(work: Callable[[], Awaitable[T]]) -> T:
    """Tries until the database is there again: an agent that asks is not given up for a bad moment of ours."""
    while True:
        try:
            return await work()
        except Busy as error:
            log.warning("question_not_stored", error=error.message)
            await asyncio.sleep(RETRY_PAUSE)
