"""Runs one turn at a time in each session, and records its end whatever happens. The scheduler calls it; `agent_pool`
provides the agents and `state/turn` moves the rows."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

import msgspec
import structlog

from bough.agents.acp.types import Block
from bough.agents.acp.wire import RequestId
from bough.agents.errors import AgentGone, AgentLimited
from bough.agents.keeper_client.disk_check import blames_disk, unwritable
from bough.core.approvals import ask, kinds
from bough.core.checkpoints.rows import FolderState
from bough.core.checkpoints.take import Checkpoints
from bough.core.conversations.ask_agent import AgentReader
from bough.core.conversations.catch_up import CatchUp, note_mark
from bough.core.live_agents.agent import Agent
from bough.core.live_agents.agent_pool import AgentPool
from bough.core.live_agents.questions.permissions import Permissions
from bough.core.live_agents.start import repository_trust
from bough.core.state import turn as turns
from bough.core.state.limits import agent_limits, budgets
from bough.core.state.turn import Claimed, TurnOutcome
from bough.core.store import records
from bough.core.store.sql import KEEPERS, MESSAGES
from bough.core.store.transactions import Change, Store
from bough.core.store.until_available import until_available
from bough.core.transcripts import transcript_limit
from bough.core.turns import turn_log
from bough.core.turns.crash_limit import CrashLimit
from bough.core.turns.full_transcripts import FullTranscripts
from bough.core.turns.lost_turns import LostTurns
from bough.core.turns.park_turns import ParkedAccounts, park_turn
from bough.core.turns.prompt_blocks import files_for, prompt_blocks
from bough.core.turns.steer_turns import SentPrompts, Steering
from bough.core.turns.stop_turns import TurnStops
from bough.core.turns.stuck_turns import StuckTurns
from bough.core.worktrees.session_folders import remove_forged_link, require_folder
from bough.errors import AgentFailed, BoughError, Busy, Internal
from bough.model.approval import QUESTION_KIND, Approval
from bough.model.message import Message
from bough.model.session import Session, directories_of
from bough.model.task import Task
from bough.settings import OnInterrupt, Settings
from bough.storage.backend import Tx

T = TypeVar("T")

log = structlog.get_logger("bough.runner")

# How often an agent is started for one attempt, if the settings that it starts with change meanwhile.
MOST_STARTS = 5
# Seconds for an agent to take the news that its questions are not answered anymore.
CANCEL_WITHIN = 5.0


class Runner:
    """Runs the turns of this server's agents."""

    def __init__(self, store: Store, settings: Settings, agents: AgentPool) -> None:
        self._store = store
        self._settings = settings
        self._crash_limit = CrashLimit(settings.max_deaths)
        self.agents = agents
        self.permissions = Permissions(store, settings, agents)
        self.checkpoints = Checkpoints(store, settings)
        self.lost_turns = LostTurns(store, settings, agents)
        self.stops = TurnStops(store, settings, agents)
        self.steering = Steering(store, settings)
        self.parked = ParkedAccounts(agents.catalog, settings)
        self.reader = AgentReader(store, settings, agents)
        self.catch_up = CatchUp(store, settings, agents, self.reader)
        self._stuck_turns = StuckTurns(store, settings, self.stops.cancel)
        self._full_transcripts = FullTranscripts(self.stops.cancel)

    # Turns

    async def turn(self, session_id: str) -> None:
        """Claims the first prompt of a session's queue and runs its turn to an end."""
        await self.catch_up.before_turn(session_id)
        claimed = await turns.claim(self._store, session_id)
        if claimed is not None:
            turn_log.started(claimed)
            await self._guarded(claimed, lambda: self._attempt(claimed))

    async def resume_turn(self, agent: Agent, claimed: Claimed) -> None:
        """Continues a turn that an earlier server started."""
        turn_log.started(claimed, resumed=True)
        await self._guarded(claimed, lambda: self._resume(agent, claimed))

    async def _guarded(self, claimed: Claimed, work: Callable[[], Awaitable[None]]) -> None:
        """Runs a turn and records an end of it, whatever happens."""
        session_id = claimed.session.id
        try:
            well = await self._concluded(claimed, work)
        except Exception as error:
            log.exception("turn_failed", session=session_id, task=claimed.task.id)
            well = False
            wrapped = Internal("internal", f"Bough failed to run this turn: {type(error).__name__}.")
            failed = TurnOutcome("failed", error=wrapped)
            # Without the recorder, which may be what failed.
            await until_available(
                lambda: self._store.write(lambda change: turns.finish(change, claimed.task, failed, 0, None)),
                "the end of a turn",
                task=claimed.task.id,
            )
        self.steering.forget(claimed.task.id)
        # A server that shuts down cancels the turn and does not get here: the agent stays busy, in its keeper.
        agent = self.agents.get(session_id)
        if agent is not None:
            agent.busy = False
            agent.idle_since = time.monotonic()
            if not well or agent.down or not await self._is_active(session_id):
                await self.agents.suspend(agent)

    async def _concluded(self, claimed: Claimed, work: Callable[[], Awaitable[None]]) -> bool:
        """Runs a turn and stores every expected way for it to end; returns False if its agent must not run another."""
        try:
            await work()
        except AgentGone as error:
            await self._died(claimed, error)
            return False
        except budgets.BudgetExceeded as error:
            overdrawn = error
            await self._close(claimed, lambda change: kinds.LIMIT.ask(change, claimed.task, overdrawn, self._settings))
            turn_log.held(claimed, "budget")
        except repository_trust.Untrusted as error:
            untrusted = error
            await self._close(
                claimed, lambda change: repository_trust.ask(change, claimed.task, untrusted, self._settings)
            )
            turn_log.held(claimed, "repository_trust")
        except Busy as error:
            # The database was busy before the prompt was sent: the next attempt may succeed.
            await self._interrupt(claimed, error, self._settings.on_interrupt)
            return False
        except OSError as error:
            if not blames_disk(error):
                raise
            await self._interrupt(claimed, unwritable(error), self._settings.on_interrupt)
            return False
        except BoughError as error:
            if not (isinstance(error, AgentLimited) and await self._park(claimed, error)):
                await self._end(claimed, TurnOutcome("failed", error=error))
            agent = self.agents.get(claimed.session.id)
            if agent is None or not isinstance(error, AgentFailed):
                return True
            # After a login, only a new process is sure to read it.
            return error.code not in turns.FAILS_AGAIN and await agent.still_answers()
        return True

    async def _is_active(self, session_id: str) -> bool:
        """Tells whether a session may need its agent again; one that ended during its turn does not (T3)."""
        session = await self._read(lambda tx: records.session(tx, session_id))
        if session.status != "active":
            self._crash_limit.forget(session_id)
        return session.status == "active"

    async def _attempt(self, claimed: Claimed) -> None:
        task, session = claimed.task, claimed.session
        await self._store.read(lambda tx: budgets.check(tx, session, task, self._settings))
        await self._store.read(lambda tx: transcript_limit.check(tx, session.id, self._settings))
        # An agent that a crash cut off, or that works on after its turn, may have left one.
        await remove_forged_link(session)
        for folder in (session.cwd, *directories_of(session)):
            await self.checkpoints.check_folder(folder)
            await asyncio.to_thread(require_folder, folder)
        files = asyncio.create_task(self.checkpoints.before(task, session))
        try:
            agent, session, taken = await self._ready(session, files)
            await turns.add_notices(self._store, task, agent.notices)
            if not agent.preface:
                agent.preface = await turns.new_context(session, embed=agent.takes.resources)
            # What the agent said after its last turn belongs to that turn.
            agent.recorder.close()
            await agent.recorder.flush()
            agent.recorder.begin(task.id)
            await turns.add_notices(self._store, task, await agent.configure(session))
            attached = await self._read(lambda tx: files_for(tx, agent, task))
            sent_task = await turns.sent(self._store, task, session.permission_mode, taken, attached.notices)
            if sent_task is None:
                self.checkpoints.abandon(task, session, files)
                await self._end(claimed, TurnOutcome("cancelled"))
                return
            self.checkpoints.begun(taken)
        except (AgentGone, Busy):
            # The next attempt writes the same ref.
            raise
        except BoughError:
            self.checkpoints.abandon(task, session, files)
            raise
        finally:
            files.cancel()
        await self._run(agent, claimed, await self._read(lambda tx: prompt_blocks(tx, sent_task, attached)))

    async def _ready(self, session: Session, files: asyncio.Task[FolderState]) -> tuple[Agent, Session, FolderState]:
        """Returns a running agent with the session's current settings. They may have changed since it began to start:
        people may have lowered its rights."""
        session_id = session.id
        for _ in range(MOST_STARTS):
            agent = await self.agents.wake(session, self.permissions)
            taken = await files
            fresh = await self.agents.current_session(agent)
            if fresh is not None:
                return agent, fresh, taken
            session = await self._store.read(lambda tx: records.session(tx, session_id))
        raise Busy("settings_changing", f"The agent's settings changed {MOST_STARTS} times while it started.")

    async def _run(
        self, agent: Agent, claimed: Claimed, blocks: list[Block], steered: SentPrompts = (), *, resumed: bool = False
    ) -> None:
        """Sends the prompt, unless an earlier server did, and waits for the end of the turn. `steered` are the prompts
        that the earlier server sent into it."""
        task = claimed.task
        prompt = agent.prompt(blocks, f"{task.id}:{task.attempt}")
        watched = self._stuck_turns.during(agent, task, resumed=resumed)
        async with watched, self.steering.during(agent, task, steered):
            result = await self._full_transcripts.run(agent, task, prompt)
        why = None
        if result.stop_reason == "cancelled":
            why = await self._read(lambda tx: turns.called_off(tx, task))
            if why is None:
                raise AgentGone("agent_quit", f"{agent.entry.title} cancelled the turn, though nobody had stopped it.")
            if why == "stopped" and agent.entry.quirks.leaves_commands:
                # Its commands would continue after the turn.
                await agent.end()
        await self._end(claimed, turns.succeeded(result, agent.entry.quirks.usage, why))

    async def _resume(self, agent: Agent, claimed: Claimed) -> None:
        task = claimed.task

        async def read(tx: Tx) -> tuple[list[Message], list[Approval]]:
            messages = await tx.all(MESSAGES.of_task, Message, task_id=task.id)
            return messages, await ask.of_attempt(tx, task.id, task.attempt)

        messages, approvals = await self._read(read)
        agent.busy = True
        agent.recorder.restore(task.id, messages, agent.recorder.last)
        for approval in approvals:
            request_id = msgspec.json.decode(approval.request_id, type=RequestId)
            is_question, decided = approval.tool_kind == QUESTION_KIND, approval.status != "pending"
            agent.requests.remember(approval.id, request_id, is_question=is_question, decided=decided)
        attached = await self._read(lambda tx: files_for(tx, agent, task))
        blocks = await self._read(lambda tx: prompt_blocks(tx, task, attached))
        steered = await self.steering.sent_before(agent, task)
        running = asyncio.create_task(self._run(agent, claimed, blocks, steered, resumed=True))
        try:
            # All prompts are registered before anything is read: an answer may be the first line.
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            agent.listen()
            # Decisions may not have reached the agent; those that did are not sent again.
            for approval in approvals:
                await until_available(
                    lambda id=approval.id: self.permissions.answer(id), "an answer to an agent", approval=approval.id
                )
            if task.status == "stopping":
                await self.stops.cancel(claimed.session.id, task)
            await running
        finally:
            running.cancel()
            await asyncio.wait((running,))

    async def _end(self, claimed: Claimed, outcome: TurnOutcome) -> None:
        agent = self.agents.get(claimed.session.id)
        await remove_forged_link(claimed.session)
        # The last messages are stored while git takes the checkpoint.
        files = asyncio.create_task(self.checkpoints.after(claimed.task, claimed.session))
        try:
            if agent is not None:
                words = asyncio.create_task(agent.recorder.flush())
                await asyncio.wait((words,))
                words.exception()
            taken = await files
        finally:
            files.cancel()
        mark = await self.catch_up.after_turn(claimed.session)

        async def work(change: Change) -> Task | None:
            await note_mark(change, claimed.session.id, mark)
            tools = agent.recorder.tool_count if agent is not None else 0
            # Also a turn that was stopped: the agent answered, so it had taken in what went before the prompt.
            if agent is not None and not agent.preface:
                await change.tx.run(KEEPERS.told, id=agent.keeper_id)
            outcome.steered = self.steering.answers(claimed.task.id)
            if agent is not None and outcome.status == "completed":
                await agent_limits.lift(change, agent.entry, claimed.session)
            return await turns.finish(change, claimed.task, outcome, tools, taken)

        turn_log.ended(claimed, await self._close(claimed, work))
        await self._forget(claimed)

    async def _park(self, claimed: Claimed, error: AgentLimited) -> bool:
        """Parks a turn that a limit ended (Q6); returns False if its session lets it fail instead."""
        session = await self._read(lambda tx: records.session(tx, claimed.session.id))
        if not agent_limits.resumes(session, self._settings):
            return False
        entry = self.agents.catalog.get(session.agent)
        steered = self.steering.answers(claimed.task.id)
        await self._close(
            claimed, lambda change: park_turn(change, claimed.task, error, entry, self._settings, steered)
        )
        turn_log.held(claimed, "limit")
        await self._forget(claimed)
        return True

    async def _forget(self, claimed: Claimed) -> None:
        """Closes what a turn that is over has left open at its agent."""
        agent = self.agents.get(claimed.session.id)
        if agent is not None:
            # A turn may end before its questions are answered, and the agent must not wait for them.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(CANCEL_WITHIN):
                    await agent.requests.cancel()
            agent.close_task(claimed.task.id)

    async def _close(self, claimed: Claimed, work: Callable[[Change], Awaitable[T]]) -> T | None:
        """Stores the end of a turn together with the tail of its transcript, however long the database is away."""
        agent = self.agents.get(claimed.session.id)

        async def store() -> T | None:
            if agent is None:
                return await self._store.write(work)
            return await agent.recorder.finish(work)

        return await until_available(store, "the end of a turn", task=claimed.task.id)

    async def _read(self, work: Callable[[Tx], Awaitable[T]]) -> T:
        """Reads what a running turn needs: the turn must not fail because the database is away for a moment."""
        return await until_available(lambda: self._store.read(work), "a turn")

    async def _died(self, claimed: Claimed, error: AgentFailed) -> None:
        """Gives a turn whose agent died another attempt, unless it was being stopped or the agent keeps dying."""
        task = await self._read(lambda tx: records.task(tx, claimed.task.id))
        stopping = task.status == "stopping"
        if stopping or self._crash_limit.reached(claimed.session.id):
            await self._end(claimed, TurnOutcome("failed", error=error, hopeless=not stopping))
            return
        await self._interrupt(claimed, error, self._settings.on_interrupt)

    async def _interrupt(self, claimed: Claimed, error: BoughError, policy: OnInterrupt) -> None:
        await self._close(claimed, lambda change: kinds.INTERRUPTED.interrupt(change, claimed.task, error, policy))
        turn_log.interrupted(claimed, error)
