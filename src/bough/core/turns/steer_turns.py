"""Sends prompts into running turns (Q8): each once, in order, as its row says. What comes too late is queued first.

The scheduler tells which sessions have such prompts; the runner calls `during` for each turn.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Sequence

import structlog

from bough.agents.acp.types import Block
from bough.core.live_agents.agent import Agent
from bough.core.state import steering
from bough.core.state.limits import budgets
from bough.core.store import records
from bough.core.store.transactions import Change, Store
from bough.core.store.until_available import until_available
from bough.core.turns.prompt_blocks import files_for, steering_blocks
from bough.errors import AgentFailed
from bough.model.task import Task
from bough.settings import Settings
from bough.storage.backend import Tx

log = structlog.get_logger("bough.runner")

# Seconds for an agent to answer, after its turn has ended, whether it has taken a prompt. Then it is ended, so that the
# prompt can be sent again.
ANSWER_WITHIN = 10.0


SentPrompts = Sequence[tuple[Task, list[Block]]]
"""Prompts that were sent into a turn, with what the agent was sent."""


class TurnSteering:
    """The prompts that are sent into one turn."""

    def __init__(self, store: Store, settings: Settings, agent: Agent, task: Task) -> None:
        self._store = store
        self._settings = settings
        self._agent = agent
        self._task = task
        self._due = asyncio.Event()
        self._due.set()
        # Whether the agent has taken each prompt that it answered about.
        self.answers: dict[str, bool] = {}
        self._closing = False
        self._sending: asyncio.Task[None] | None = None

    def wake(self) -> None:
        """Looks for prompts that are to be sent."""
        self._due.set()

    async def resume(self) -> SentPrompts:
        """Returns the prompts that an earlier server has sent, without an answer that is stored."""

        async def read(tx: Tx) -> SentPrompts:
            tasks = [task for task in await steering.on_their_way(tx, self._task) if task.attempt]
            return [(task, steering_blocks(task, await files_for(tx, self._agent, task))) for task in tasks]

        return await until_available(lambda: self._store.read(read), "a prompt for a running turn")

    def start(self, sent_before: SentPrompts) -> None:
        """Begins to send. The answers to prompts of an earlier server are awaited first."""
        self._sending = asyncio.create_task(self._run(sent_before), name=f"steer {self._task.id}")

    async def conclude(self) -> None:
        """Waits for the agent's last answer once the turn has ended; ends an agent that gives none."""
        sending = self._sending
        assert sending is not None
        self._closing = True
        self._due.set()
        try:
            done, _ = await asyncio.wait((sending,), timeout=ANSWER_WITHIN)
        finally:
            await self.abandon()
        if not done:
            log.warning("steering_unanswered", session=self._agent.session_id, task=self._task.id)
            await self._agent.end()

    async def abandon(self) -> None:
        """Stops sending, because this server stops: the next one awaits the answers."""
        if self._sending is not None:
            self._sending.cancel()
            await asyncio.wait((self._sending,))

    async def _run(self, sent_before: SentPrompts) -> None:
        with contextlib.suppress(AgentFailed):
            for task, blocks in sent_before:
                await self._send(task, blocks)
            while not self._closing:
                await self._due.wait()
                self._due.clear()
                for task in await self._waiting():
                    if self._closing:
                        return
                    await self._send_next(task)

    async def _waiting(self) -> list[Task]:
        read = self._store.read
        tasks = await until_available(
            lambda: read(lambda tx: steering.on_their_way(tx, self._task)), "a prompt for a running turn"
        )
        return [task for task in tasks if not task.attempt]

    async def _send_next(self, task: Task) -> None:
        async def work(change: Change) -> tuple[Task, list[Block]] | None:
            session = await records.session(change.tx, task.session_id)
            try:
                await budgets.check(change.tx, session, task, self._settings)
            except budgets.BudgetExceeded:
                # It is held, and a person is asked, when its own turn begins.
                await steering.queue_again(change, task, heard=False)
                return None
            sent = await steering.sent(change, task)
            if sent is None:
                return None
            attached = await files_for(change.tx, self._agent, sent)
            return sent, steering_blocks(sent, attached)

        ready = await until_available(lambda: self._store.write(work), "a prompt for a running turn", task=task.id)
        if ready is not None:
            await self._send(*ready)

    async def _send(self, task: Task, blocks: list[Block]) -> None:
        title = self._agent.entry.title

        async def store(number: int, has_it: bool) -> None:
            async def work(change: Change) -> None:
                if has_it:
                    await steering.taken(change, task)
                else:
                    await steering.queue_again(change, task, heard=False, agent=title)

            # Does nothing if the turn is over: its end then stores the answer.
            await until_available(
                lambda: self._agent.recorder.settle(number, work), "a prompt for a running turn", task=task.id
            )

        self.answers[task.id] = await self._agent.steer(blocks, f"steer:{task.id}", store)
        log.info("steered", session=task.session_id, task=task.id, taken=self.answers[task.id])


class Steering:
    """Sends prompts into the running turns of this server."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._settings = settings
        self._turns: dict[str, TurnSteering] = {}
        # The answers of turns that have ended, until their ends are stored.
        self._answers: dict[str, dict[str, bool]] = {}

    def wake(self, session_id: str) -> None:
        """Looks for prompts that are to be sent into a session's running turn."""
        turn = self._turns.get(session_id)
        if turn is not None:
            turn.wake()

    @contextlib.asynccontextmanager
    async def during(self, agent: Agent, task: Task, sent_before: SentPrompts) -> AsyncGenerator[None]:
        """Sends prompts into a turn while it runs, and waits for the last answers when it has ended."""
        turn = self._turns[agent.session_id] = TurnSteering(self._store, self._settings, agent, task)
        turn.start(sent_before)
        try:
            yield
        except asyncio.CancelledError:
            await turn.abandon()
            raise
        except BaseException:
            await turn.conclude()
            raise
        else:
            await turn.conclude()
        finally:
            del self._turns[agent.session_id]
            self._answers[task.id] = turn.answers

    async def sent_before(self, agent: Agent, task: Task) -> SentPrompts:
        """Returns the prompts that an earlier server has sent into a turn, without an answer that is stored."""
        return await TurnSteering(self._store, self._settings, agent, task).resume()

    def answers(self, task_id: str) -> dict[str, bool]:
        """Returns whether the agent has taken each prompt of a turn that has ended."""
        return self._answers.get(task_id, {})

    def forget(self, task_id: str) -> None:
        """Forgets the answers of a turn whose end is stored."""
        self._answers.pop(task_id, None)
