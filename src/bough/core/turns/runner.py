"""The runner: runs one turn at a time in each session and makes an end of it, whatever happens; carries cancels. Who
may run when is `scheduler`, what a turn does to the rows `turns`, the agents themselves `agent_pool`."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import structlog

from bough.agents.acp.types import Block, TextBlock
from bough.agents.acp.wire import RequestId
from bough.agents.errors import AgentGone
from bough.core.approvals import ask
from bough.core.checkpoints.take import Checkpoints, Taken
from bough.core.state import budgets, callbacks
from bough.core.state import turn as turns
from bough.core.state.interruption import interrupt
from bough.core.state.turn import Claimed, Outcome
from bough.core.store import records
from bough.core.store.sql import APPROVALS, KEEPERS, MESSAGES
from bough.core.store.transactions import CHANNEL_EVENTS, Change, Store
from bough.core.transcripts import agent_notes
from bough.core.turns import prompt_files, trust
from bough.core.turns.agent import Agent
from bough.core.turns.agent_pool import AgentPool
from bough.core.turns.context import continuation
from bough.core.turns.permissions import Permissions
from bough.core.turns.prompt_files import PromptFiles
from bough.errors import AgentFailed, BoughError, Busy, Internal
from bough.model.approval import Approval
from bough.model.message import Message
from bough.model.session import Session
from bough.model.task import Task
from bough.settings import OnInterrupt, Settings
from bough.storage.backend import Tx

log = structlog.get_logger("bough.runner")

# An agent that dies `max_deaths` times within this time is given up.
DEATHS_WITHIN = 300.0
# An agent is started so often for one attempt, if what it is started with changes meanwhile.
MOST_STARTS = 5
# The end of a turn is tried to be stored, with such pauses, until the database is there again.
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0


class Runner:
    """Runs the turns of this server's agents."""

    def __init__(self, store: Store, settings: Settings, agents: AgentPool) -> None:
        self._store = store
        self._settings = settings
        self._deaths: dict[str, deque[float]] = {}
        self.agents = agents
        self.permissions = Permissions(store, settings, agents)
        self.checkpoints = Checkpoints(store, settings)

    # Turns

    async def turn(self, session_id: str) -> None:
        """Runs the head of a session's queue to its end, whatever that is."""
        claimed = await turns.claim(self._store, session_id)
        if claimed is not None:
            await self._guarded(claimed, lambda: self._attempt(claimed))

    async def go_on(self, agent: Agent, claimed: Claimed) -> None:
        """Takes up a turn that an earlier server has begun."""
        await self._guarded(claimed, lambda: self._take_up(agent, claimed))

    async def _guarded(self, claimed: Claimed, work: Callable[[], Awaitable[None]]) -> None:
        """Runs a turn, and makes an end of it whatever happens."""
        session_id = claimed.session.id
        try:
            well = await self._concluded(claimed, work)
        except Exception as error:
            log.exception("turn_failed", session=session_id, task=claimed.task.id)
            well = False
            wrapped = Internal("internal", f"Bough failed to run this turn: {type(error).__name__}.")
            failed = Outcome("failed", error=wrapped)
            # Not by way of the recorder, which may be what failed.
            await self._store.write(lambda change: turns.finish(change, claimed.task, failed, 0, None))
        # Not reached when the server ends under a turn: its agent stays busy then, and is left to its keeper.
        agent = self.agents.get(session_id)
        if agent is not None:
            agent.busy = False
            agent.idle_since = time.monotonic()
            if not well or agent.down or not await self._goes_on(session_id):
                await self.agents.suspend(agent)

    async def _concluded(self, claimed: Claimed, work: Callable[[], Awaitable[None]]) -> bool:
        """Runs a turn to an end that its rows can tell; false if its agent is not to be trusted with another."""
        try:
            await work()
        except AgentGone as error:
            await self._died(claimed, error)
            return False
        except budgets.Overdrawn as error:
            overdrawn = error
            await self._close(claimed, lambda change: budgets.ask(change, claimed.task, overdrawn, self._settings))
        except trust.Untrusted as error:
            untrusted = error
            await self._close(claimed, lambda change: trust.ask(change, claimed.task, untrusted, self._settings))
        except Busy as error:
            # The database, before anything was sent: the next attempt may find it well again.
            await self._interrupt(claimed, error, "continue")
            return False
        except BoughError as error:
            await self._end(claimed, Outcome("failed", error=error))
        return True

    async def _goes_on(self, session_id: str) -> bool:
        """Whether a session may want its agent again; what was ended under its turn has none any more (T3)."""
        session = await self._store.read(lambda tx: records.session(tx, session_id))
        if session.status != "active":
            self._deaths.pop(session_id, None)
        return session.status == "active"

    async def _attempt(self, claimed: Claimed) -> None:
        task, session = claimed.task, claimed.session
        await self._store.read(lambda tx: budgets.check(tx, session, task, self._settings))
        files = asyncio.create_task(self.checkpoints.before(task, session))
        try:
            agent, session, taken = await self._ready(session, files)
            await turns.tell(self._store, task, agent.notices)
            if not agent.preface:
                agent.preface = turns.new_links(session)
            # What an agent said after its last turn belongs to that.
            agent.recorder.close()
            await agent.recorder.flush()
            agent.recorder.begin(task.id)
            await turns.tell(self._store, task, await agent.configure(session))
            handed = await self._handed(agent, task)
            if not await turns.sent(self._store, task, taken, handed.notices):
                await self._end(claimed, Outcome("cancelled"))
                return
            self.checkpoints.begun(taken)
        finally:
            files.cancel()
        await self._run(agent, claimed, await self._blocks(task, handed))

    async def _ready(self, session: Session, files: asyncio.Task[Taken]) -> tuple[Agent, Session, Taken]:
        """An agent that is up, as its session wants it when all is ready and not when it began to start: people may
        have lowered its rights since."""
        session_id = session.id
        for _ in range(MOST_STARTS):
            agent = await self.agents.wake(session, self.permissions)
            taken = await files
            fresh = await self.agents.current_session(agent)
            if fresh is not None:
                return agent, fresh, taken
            session = await self._store.read(lambda tx: records.session(tx, session_id))
        raise Busy("settings_changing", f"What the agent starts with has changed {MOST_STARTS} times while it started.")

    async def _handed(self, agent: Agent, task: Task) -> PromptFiles:
        """The files that go with a prompt, as its agent takes them."""
        return await self._store.read(lambda tx: prompt_files.handed(tx, task.id, agent.takes, agent.entry.title))

    async def _blocks(self, task: Task, handed: PromptFiles) -> list[Block]:
        """What the agent is sent for a task: what it must know first, then what to do."""

        async def work(tx: Tx) -> list[str]:
            denied = await ask.notes(tx, task)
            return [*([denied] if denied else []), *await agent_notes.delivered_with(tx, task)]

        told: list[Block] = [*(TextBlock(text=text) for text in await self._store.read(work)), *handed.blocks]
        if task.sent_attempt not in (0, task.attempt):
            return [*told, *continuation(task.prompt)]
        if task.source == "callback":
            return [
                *told,
                TextBlock(text=task.prompt),
                TextBlock(text=callbacks.GO_ON if task.source_session_id else callbacks.DECIDED),
            ]
        return [*told, TextBlock(text=task.prompt)]

    async def _run(self, agent: Agent, claimed: Claimed, blocks: list[Block]) -> None:
        """Sends the prompt and waits for the end of the turn; a prompt that was sent already is not sent again."""
        task = claimed.task
        result = await agent.prompt(blocks, f"{task.id}:{task.attempt}")
        why = None
        if result.stop_reason == "cancelled":
            why = await self._store.read(lambda tx: turns.called_off(tx, task))
            if why is None:
                raise AgentGone("agent_quit", f"{agent.entry.title} broke the turn off, though nobody had stopped it.")
            if why == "stopped" and agent.entry.quirks.leaves_commands:
                # Its command would go on behind the turn's back.
                await agent.end()
        await self._end(claimed, turns.succeeded(result, agent.entry.quirks.usage, why))

    async def _take_up(self, agent: Agent, claimed: Claimed) -> None:
        task = claimed.task

        async def read(tx: Tx) -> tuple[list[Message], list[Approval]]:
            said = await tx.all(MESSAGES.of_task, Message, task_id=task.id)
            return said, await tx.all(APPROVALS.of_attempt, Approval, task_id=task.id, attempt=task.attempt)

        said, asked = await self._store.read(read)
        agent.busy = True
        agent.recorder.restore(task.id, said, agent.recorder.last)
        for approval in asked:
            agent.asked(approval.id, msgspec.json.decode(approval.request_id, type=RequestId))
        blocks = await self._blocks(task, await self._handed(agent, task))
        running = asyncio.create_task(self._run(agent, claimed, blocks))
        try:
            # The prompt is registered before anything is read: its answer may be the first line.
            await asyncio.sleep(0)
            agent.listen()
            # What was decided may not have reached the agent; what did reach it is not written again.
            for approval in asked:
                await self.permissions.answer(approval.id)
            if task.status == "stopping":
                await self.cancel(claimed.session.id, task)
            await running
        finally:
            running.cancel()
            await asyncio.wait((running,))

    async def _end(self, claimed: Claimed, outcome: Outcome) -> None:
        agent = self.agents.get(claimed.session.id)
        # The last words are on their way while git looks.
        files = asyncio.create_task(self.checkpoints.after(claimed.task, claimed.session))
        try:
            if agent is not None:
                words = asyncio.create_task(agent.recorder.flush())
                await asyncio.wait((words,))
                words.exception()
            taken = await files
        finally:
            files.cancel()

        async def work(change: Change) -> Task | None:
            tools = agent.recorder.tool_count if agent is not None else 0
            # Also a turn that was stopped: the agent answered, so it had taken in what went before the prompt.
            if agent is not None and not agent.preface:
                await change.tx.run(KEEPERS.told, id=agent.keeper_id)
            return await turns.finish(change, claimed.task, outcome, tools, taken)

        await self._close(claimed, work)
        if agent is not None:
            agent.close_task(claimed.task.id)

    async def _close(self, claimed: Claimed, work: Callable[[Change], Awaitable[Any]]) -> None:
        """The last transaction of a turn: the tail of its transcript and what else it means. It must work some day."""
        agent = self.agents.get(claimed.session.id)
        pause = FIRST_PAUSE
        while True:
            try:
                if agent is None:
                    await self._store.write(work)
                else:
                    await agent.recorder.finish(work)
                return
            except Busy as error:
                log.warning("end_of_turn_not_stored", task=claimed.task.id, error=error.message, again_in=pause)
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)

    async def _died(self, claimed: Claimed, error: AgentFailed) -> None:
        """Another attempt, unless it was being stopped or dies all the time."""
        task = await self._store.read(lambda tx: records.task(tx, claimed.task.id))
        stopping = task.status == "stopping"
        if stopping or self._hopeless(claimed.session.id):
            await self._end(claimed, Outcome("failed", error=error, hopeless=not stopping))
            return
        await self._interrupt(claimed, error, self._settings.on_interrupt)

    async def _interrupt(self, claimed: Claimed, error: BoughError, policy: OnInterrupt) -> None:
        await self._close(claimed, lambda change: interrupt(change, claimed.task, error, policy))

    def _hopeless(self, session_id: str) -> bool:
        now = time.monotonic()
        # Deaths that are too long ago to count are forgotten, whatever became of their sessions.
        self._deaths = {known: times for known, times in self._deaths.items() if now - times[-1] < DEATHS_WITHIN}
        deaths = self._deaths.setdefault(session_id, deque(maxlen=self._settings.max_deaths))
        deaths.append(now)
        return len(deaths) == self._settings.max_deaths and deaths[-1] - deaths[0] < DEATHS_WITHIN

    # Stopping

    async def cancel(self, session_id: str, task: Task) -> None:
        """Stops the turn of a task: asks the agent, and ends its process if it does not answer in time."""
        agent = self.agents.get(session_id)
        if agent is None or not agent.busy:
            return
        try:
            async with asyncio.timeout(self._settings.stop_timeout):
                await agent.cancel(f"{task.id}:{task.attempt}")
                await self.ended(task.id)
        except (TimeoutError, AgentFailed):
            log.warning("agent_ignored_cancel", session=session_id, task=task.id)
            await agent.end()

    async def ended(self, task_id: str) -> None:
        """Waits until a task has ended."""
        changed = asyncio.Event()
        forget = self._store.db.listen(CHANNEL_EVENTS, lambda _payload: changed.set())
        try:
            while True:
                task = await self._store.read(lambda tx: records.task(tx, task_id))
                if task.ended_at is not None:
                    return
                await changed.wait()
                changed.clear()
        finally:
            forget()
