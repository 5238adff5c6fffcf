"""Turns an agent's questions to a person into approvals, and withdraws what an agent no longer asks."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING

import msgspec

from bough.core.approvals.ask import Elicitation, continue_turn, of_attempt
from bough.core.approvals.kinds import QUESTION
from bough.core.approvals.questions import ACCEPT
from bough.core.approvals.service import conclude
from bough.core.store import records
from bough.core.store.sql import APPROVALS, QUESTIONS, TASKS
from bough.core.store.transactions import Change, Store
from bough.core.store.until_available import until_available
from bough.model.approval import Approval
from bough.model.message import raw
from bough.model.questions.form import QuestionForm, StoredQuestion
from bough.model.task import Task
from bough.settings import Settings

if TYPE_CHECKING:
    from bough.core.live_agents.agent import Agent

BY_AGENT = {"kind": "agent", "id": None}


class Elicitations:
    """Stores questions of running agents."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._settings = settings

    async def ask(self, agent: Agent, elicitation: Elicitation) -> Approval | None:
        """Stores a question together with the number of its line; returns None if it was answered at once, because too
        many wait or no turn is running in which a person could be asked."""
        if agent.requests.is_full:
            await agent.requests.refuse(elicitation)
            return None
        tries = 0

        async def work(change: Change) -> Approval | None:
            session = await records.session(change.tx, agent.session_id)
            open_tasks = await change.tx.all(TASKS.open, Task, session_id=session.id)
            task = next((task for task in open_tasks if task.status in ("running", "waiting_permission")), None)
            if task is None:
                return None
            if tries > 1:
                # It may be stored, though the reply to its commit was lost.
                for known in await of_attempt(change.tx, task.id, task.attempt):
                    if bytes(known.request_id) == bytes(raw(elicitation.request.id)):
                        return known
            request_id = elicitation.request.id
            return await QUESTION.ask(change, session, task, elicitation.form, request_id, self._settings)

        def settle() -> Awaitable[Approval | None]:
            nonlocal tries
            tries += 1
            return agent.recorder.settle(elicitation.number, work)

        approval = await until_available(settle, "a question of an agent")
        if approval is None:
            await agent.requests.decline(elicitation)
            return None
        agent.requests.remember(approval.id, elicitation.request.id, is_question=True)
        return approval

    async def withdraw(self, agent: Agent, approval_id: str) -> None:
        """Withdraws a request that the agent has cancelled, and lets its turn run on."""

        async def work(change: Change) -> None:
            approval = await change.tx.one(
                APPROVALS.decide,
                Approval,
                id=approval_id,
                status="cancelled",
                option_id=None,
                decision=None,
                decided_by=raw(BY_AGENT),
                reason="The agent no longer asks.",
                answer=None,
                now=change.now,
            )
            if approval is None:
                return
            change.approval("approval.patched", approval)
            await continue_turn(change, approval)

        await until_available(lambda: self._store.write(work), "a request that an agent withdrew")

    async def complete(self, agent: Agent, elicitation_id: str) -> None:
        """Accepts an open question about an address, because the agent says that the person has done what it asked."""

        async def work(change: Change) -> None:
            for approval in await change.tx.all(QUESTIONS.waiting, Approval, session_id=agent.session_id):
                question = await change.tx.one(QUESTIONS.get, StoredQuestion, approval_id=approval.id)
                assert question is not None
                form = msgspec.json.decode(question.form, type=QuestionForm)
                if form.mode == "url" and form.elicitation_id == elicitation_id:
                    await conclude(change, approval, "allow", BY_AGENT, option=ACCEPT)

        await until_available(lambda: self._store.write(work), "the end of an agent's question")
