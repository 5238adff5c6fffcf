"""Answers agents that ask: for permission by the policy or by an approval that a person decides, and questions by their
answer. Sends decisions back to the agents."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import msgspec
import structlog

from bough.core.approvals.ask import Elicitation, Question, ToolUseQuestion, of_attempt
from bough.core.approvals.kinds import TOOL_USE
from bough.core.approvals.options import once, why_not_once
from bough.core.live_agents.agent import Agent
from bough.core.live_agents.agent_pool import AgentPool
from bough.core.live_agents.agent_settings import SettingChange
from bough.core.live_agents.questions.elicitations import Elicitations
from bough.core.live_agents.questions.self_granted_rights import SelfGrantedRights
from bough.core.live_agents.questions.unknown_hosts import HostQuestions
from bough.core.policy import decide_for_session
from bough.core.policy.decide import Verdict
from bough.core.policy.tool_use import read as tool_use
from bough.core.policy.tool_use import same_action
from bough.core.store import records
from bough.core.store.session_secrets import redactor_of
from bough.core.store.sql import APPROVALS, QUESTIONS, TASKS
from bough.core.store.transactions import CHANNEL_APPROVALS, CHANNEL_HOSTS, Change, Store
from bough.core.store.until_available import until_available
from bough.model.approval import Approval
from bough.model.message import raw
from bough.model.questions.answer import QuestionAnswer
from bough.model.questions.form import StoredQuestion
from bough.model.session import Session
from bough.model.task import Task
from bough.model.tool import ToolUse
from bough.model.values.redaction import Redactor
from bough.settings import Settings
from bough.storage.backend import Tx

log = structlog.get_logger("bough.questions")

T = TypeVar("T")

# Seconds for an agent and its keeper to take an answer. They are never busy for long, unless they were stopped.
ANSWER_WITHIN = 60.0
NOT_ASKED = "It is not on the list of allowed hosts, and a person could not be asked because of an error in Bough."


class JudgedRequest(msgspec.Struct):
    """The policy's verdict on a request of a running turn."""

    session: Session
    task: Task
    verdict: Verdict


class StoredRequest(msgspec.Struct):
    """A request that was stored as an approval, and the verdict that led to it."""

    approval: Approval
    verdict: Verdict


class Permissions:
    """Carries requests and decisions between running agents and the table of approvals."""

    def __init__(self, store: Store, settings: Settings, agents: AgentPool) -> None:
        self._store = store
        self._settings = settings
        self._agents = agents
        self._self_granted = SelfGrantedRights(store)
        self._hosts = HostQuestions(store, settings)
        self._elicitations = Elicitations(store, settings)

    async def ask(self, agent: Agent, question: Question) -> None:
        """Answers a request, or stores it together with the number of its line.

        An allowed request is answered before its line is confirmed, and leaves no row: an unconfirmed line is delivered
        again. Any other is stored first, so that its decision reaches the agent after a restart too.
        """
        entry = agent.recorder.tool(question.tool_call)
        tool_question = await self._read(agent, question, entry.body)
        judged = await self._read_until_available(lambda tx: _judge(tx, agent, tool_question))
        if judged is not None:
            if judged.verdict.effect == "ask" and agent.requests.is_full:
                await agent.requests.refuse(question)
                return
            agent.recorder.permit(entry, _decision_entry(judged.verdict))
            option = once(question.options, "allow")
            if judged.verdict.effect == "allow" and option is not None:
                await agent.requests.allow(question, option)
                return

        tries = 0

        async def work(change: Change) -> StoredRequest | None:
            # Rules, choices, mode and turn may have changed since.
            current = await _judge(change.tx, agent, tool_question)
            if current is None:
                return None
            session, task, verdict = current.session, current.task, current.verdict
            if tries > 1:
                # The approval may be stored, though the reply to its commit was lost.
                for known in await of_attempt(change.tx, task.id, task.attempt):
                    if bytes(known.request_id) == bytes(raw(question.request.id)):
                        return StoredRequest(known, verdict)
            approval = await TOOL_USE.ask(change, session, task, tool_question, verdict, self._settings)
            return StoredRequest(approval, verdict)

        def settle() -> Awaitable[StoredRequest | None]:
            nonlocal tries
            tries += 1
            return agent.recorder.settle(question.number, work)

        settled = await until_available(settle, "a question of an agent")
        if settled is None:
            # The turn has just ended.
            await agent.requests.decline(question)
            return
        agent.recorder.permit(entry, _decision_entry(settled.verdict))
        agent.requests.remember(settled.approval.id, question.request.id)
        # The decision may have been made before the request was remembered.
        await until_available(lambda: self.answer(settled.approval.id), "an answer to an agent")

    async def ask_question(self, agent: Agent, elicitation: Elicitation) -> None:
        """Stores a question of an agent, so that people can answer it."""
        approval = await self._elicitations.ask(agent, elicitation)
        if approval is not None:
            # The answer may have been given before the request was remembered.
            await until_available(lambda: self.answer(approval.id), "an answer to an agent")

    async def withdraw(self, agent: Agent, approval_id: str) -> None:
        """Withdraws a request that the agent has cancelled."""
        await self._elicitations.withdraw(agent, approval_id)

    async def complete_question(self, agent: Agent, elicitation_id: str) -> None:
        """Ends a question about an address that a person has opened."""
        await self._elicitations.complete(agent, elicitation_id)

    async def _read(self, agent: Agent, question: Question, body: dict[str, Any]) -> ToolUseQuestion:
        """Reads what a request is about, outside of a transaction: this looks at files, which may be slow."""

        async def work(tx: Tx) -> tuple[Session, list[str], list[str]]:
            session = await records.session(tx, agent.session_id)
            return session, await decide_for_session.servers_of(tx, session), await decide_for_session.worktrees(tx)

        session, servers, folders = await self._read_until_available(work)
        catalog = self._agents.catalog
        use = await asyncio.to_thread(tool_use.read, catalog, session.agent, session.cwd, body, servers, folders)
        return ToolUseQuestion(question, _without_secrets(use, agent.recorder.redactor), body)

    async def _read_until_available(self, work: Callable[[Tx], Awaitable[T]]) -> T:
        return await until_available(lambda: self._store.read(work), "a question of an agent")

    async def moved(self, agent: Agent, move: SettingChange) -> None:
        """Takes back rights that an agent gave itself."""
        await self._self_granted.revert(agent, move)

    async def connect(self, agent: Agent, host: str) -> None:
        """Answers the proxy of an agent's sandbox about a host, or asks a person."""
        try:
            approval = await self._hosts.ask(agent, host)
            if approval is not None:
                # The decision may have been made before the host was remembered.
                await until_available(lambda: self.answer(approval.id), "an answer to an agent")
        except Exception:
            # The connection must not wait for an answer that never comes.
            agent.hosts.reply(host, allow=False, reason=NOT_ASKED, keep=False)
            raise

    async def follow(self) -> None:
        """Sends decisions to agents until cancelled. Each is sent by its own task, so that an agent or keeper that does
        not take its answer keeps no other waiting."""
        deliveries: set[asyncio.Task[None]] = set()

        def start(payload: str) -> None:
            for approval_id in [payload] if payload else self._open():
                delivery = asyncio.create_task(self._deliver(approval_id), name=f"answer {approval_id}")
                deliveries.add(delivery)
                delivery.add_done_callback(deliveries.discard)

        def refresh(_payload: str) -> None:
            refreshing = asyncio.create_task(self._hosts.refresh(self._agents), name="refresh hosts")
            deliveries.add(refreshing)
            refreshing.add_done_callback(deliveries.discard)

        forget = self._store.db.listen(CHANNEL_APPROVALS, start)
        forget_hosts = self._store.db.listen(CHANNEL_HOSTS, refresh)
        try:
            await asyncio.Event().wait()
        finally:
            forget()
            forget_hosts()
            for delivery in deliveries:
                delivery.cancel()
            if deliveries:
                await asyncio.wait(deliveries)

    async def _deliver(self, approval_id: str) -> None:
        """Sends one decision. An agent that does not take it in time is ended, and its turn continues with another."""
        try:
            await until_available(lambda: self.answer(approval_id), "an answer to an agent", approval=approval_id)
        except Exception:
            log.exception("answer_not_carried", approval=approval_id)

    def _open(self) -> list[str]:
        return [
            approval_id for agent in self._agents for approval_id in (*agent.requests.waiting, *agent.hosts.waiting)
        ]

    async def answer(self, approval_id: str) -> None:
        """Sends a decision, if there is one, to the agent that waits for it."""
        answer: QuestionAnswer | None = None
        redactor: Redactor | None = None

        async def read(tx: Tx) -> Approval | None:
            nonlocal answer, redactor
            approval = await tx.one(APPROVALS.get, Approval, id=approval_id)
            question = await tx.one(QUESTIONS.get, StoredQuestion, approval_id=approval_id)
            if approval is not None and question is not None and question.answer is not None:
                answer = msgspec.json.decode(question.answer, type=QuestionAnswer)
                redactor = await redactor_of(tx, approval.session_id)
            return approval

        approval = await self._store.read(read)
        agent = self._agents.get(approval.session_id) if approval else None
        if approval is None or agent is None or approval.status == "pending":
            return
        agent.hosts.answer(approval)
        if redactor is not None:
            # The agent may repeat a secret answer as soon as it has it.
            agent.recorder.learn(redactor)
        try:
            async with asyncio.timeout(ANSWER_WITHIN):
                await agent.requests.answer(approval, answer)
        except TimeoutError:
            log.warning("answer_not_taken", session=agent.session_id, approval=approval_id)
            await agent.end()


def _without_secrets(use: ToolUse, redactor: Redactor) -> ToolUse:
    """Returns a tool use whose title and key, which are stored and shown, hold no secret values. They may have been cut
    in the middle of one."""
    place = len(use.key) - len(f" ({'':{same_action.DIGEST}})")
    name, digest = use.key[:place], use.key[place:]
    if len(name) >= len(f"{use.kind}: ") + same_action.LONGEST_TITLE:
        name, _ = redactor.divide(name)
    title = use.title if len(use.title) < same_action.LONGEST_TITLE else redactor.divide(use.title)[0]
    return msgspec.structs.replace(use, key=redactor.text(name) + digest, title=redactor.text(title))


async def _judge(tx: Tx, agent: Agent, tool_question: ToolUseQuestion) -> JudgedRequest | None:
    """Returns the policy's verdict on a request; None if no turn of its session is running."""
    session = await records.session(tx, agent.session_id)
    open_tasks = await tx.all(TASKS.open, Task, session_id=session.id)
    task = next((task for task in open_tasks if task.status in ("running", "waiting_permission")), None)
    if task is None:
        return None
    verdict = await decide_for_session.judge(tx, session, tool_question.use)
    options = tool_question.question.options
    if verdict.effect == "allow" and once(options, "allow") is None:
        verdict = msgspec.structs.replace(
            verdict, effect="ask", reason=f"{verdict.reason} But {why_not_once(options)}."
        )
    return JudgedRequest(session, task, verdict)


def _decision_entry(verdict: Verdict) -> dict[str, Any] | None:
    """Returns the transcript's record of a decision that no person was asked for."""
    if verdict.effect == "ask":
        return None
    decision = "allowed" if verdict.effect == "allow" else "denied"
    return {"decision": decision, "by": verdict.by, "id": verdict.id, "reason": verdict.reason}
