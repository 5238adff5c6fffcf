"""The runner: wakes agents, runs one turn at a time in each, carries cancels and answers to them. Who may run when is
`scheduler`; what a turn does to the rows is `turns`."""

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
from bough.agents.catalog import Catalog
from bough.agents.errors import AgentGone
from bough.agents.launcher import Launcher
from bough.core import rows, turns
from bough.core.hub import Hub
from bough.core.live import Live, Opened, continuation, environment
from bough.core.past import SessionPast
from bough.core.questions import Questions
from bough.core.recorder import Recorder
from bough.core.rows import APPROVALS, KEEPERS, MESSAGES, SESSIONS
from bough.core.store import CHANNEL_EVENTS, Change, Store
from bough.core.turns import Claimed, Outcome
from bough.errors import AgentFailed, BoughError, Internal
from bough.git.inspect import state as git_state
from bough.model.approval import Approval
from bough.model.ids import new_id
from bough.model.message import Message, raw
from bough.model.repo import GitState
from bough.model.session import Session
from bough.model.task import Task
from bough.settings import Settings
from bough.storage.backend import Tx

log = structlog.get_logger("bough.runner")

# An agent that dies `max_deaths` times within this time is given up.
DEATHS_WITHIN = 300.0
# The state of a huge working copy is not worth more waiting than this before a prompt is sent.
GIT_PATIENCE = 2.0


class Private(msgspec.Struct):
    """What of a session nobody is shown."""

    env: msgspec.Raw
    agent_session_id: str | None


class Keeper(msgspec.Struct):
    """A row of `keepers`: who holds a session's agent, and how much of what it said is stored."""

    id: str
    session_id: str
    ready: bool
    stored: int
    has_modes: bool
    options: msgspec.Raw
    needs_history: bool
    created_at: str


class Runner:
    """Owns every live agent of this server."""

    def __init__(self, store: Store, hub: Hub, settings: Settings, catalog: Catalog, launcher: Launcher) -> None:
        self._store = store
        self._hub = hub
        self._settings = settings
        self._catalog = catalog
        self._launcher = launcher
        self._deaths: dict[str, deque[float]] = {}
        self.lives: dict[str, Live] = {}
        self.questions = Questions(store, self.lives)

    # Turns

    async def turn(self, session_id: str) -> None:
        """Runs the head of a session's queue to its end, whatever that is."""
        claimed = await turns.claim(self._store, session_id)
        if claimed is not None:
            await self._guarded(claimed, lambda: self._attempt(claimed))

    async def go_on(self, live: Live, claimed: Claimed) -> None:
        """Takes up a turn that an earlier server has begun."""
        await self._guarded(claimed, lambda: self._take_up(live, claimed))

    async def _guarded(self, claimed: Claimed, work: Callable[[], Awaitable[None]]) -> None:
        """Runs a turn, and makes an end of it whatever happens."""
        session_id = claimed.session.id
        try:
            await work()
        except AgentGone as error:
            await self._died(claimed, error)
        except BoughError as error:
            await self._end(claimed, Outcome("failed", error=error))
        except Exception as error:
            log.exception("turn_failed", session=session_id, task=claimed.task.id)
            wrapped = Internal("internal", f"Bough failed to run this turn: {type(error).__name__}.")
            await self._end(claimed, Outcome("failed", error=wrapped))
        # Not reached when the server ends under a turn: its agent stays busy then, and is left to its keeper.
        live = self.lives.get(session_id)
        if live is not None:
            live.busy = live.lent = False
            live.idle_since = time.monotonic()
            if live.down:
                await self.rest(session_id)

    async def _attempt(self, claimed: Claimed) -> None:
        task, session = claimed.task, claimed.session
        git = asyncio.create_task(self._git(session))
        try:
            live = await self._awake(session)
            await live.recorder.flush()
            live.recorder.begin(task.id)
            await live.configure(session)
            if not await turns.sent(self._store, task, await git):
                await self._end(claimed, Outcome("cancelled"))
                return
        finally:
            git.cancel()
        await self._run(live, claimed)

    async def _run(self, live: Live, claimed: Claimed) -> None:
        """Sends the prompt and waits for the end of the turn; a prompt that was sent already is not sent again."""
        task = claimed.task
        blocks: list[Block] = [TextBlock(text=task.prompt)]
        if task.sent_attempt not in (0, task.attempt):
            blocks = continuation(task.prompt)
        result = await live.prompt(blocks, f"prompt:{task.id}:{task.attempt}")
        await self._end(claimed, turns.succeeded(result))

    async def _take_up(self, live: Live, claimed: Claimed) -> None:
        task = claimed.task

        async def read(tx: Tx) -> tuple[list[Message], list[Approval]]:
            said = await tx.all(MESSAGES.of_task, Message, task_id=task.id)
            return said, await tx.all(APPROVALS.of_task, Approval, task_id=task.id)

        said, asked = await self._store.read(read)
        live.busy = True
        live.recorder.restore(task.id, said, live.recorder.last)
        for approval in asked:
            live.asked(approval.id, msgspec.json.decode(approval.request_id, type=RequestId))
        live.lent = task.status == "waiting_permission"
        running = asyncio.create_task(self._run(live, claimed))
        try:
            # The prompt is registered before anything is read: its answer may be the first line.
            await asyncio.sleep(0)
            live.listen()
            # What was decided may not have reached the agent; what did reach it is not written again.
            for approval in asked:
                if approval.status != "pending":
                    await live.answer(approval)
            if task.status == "stopping":
                await self.cancel(claimed.session.id, task)
            await running
        finally:
            running.cancel()
            await asyncio.wait((running,))

    async def _git(self, session: Session) -> GitState | None:
        try:
            async with asyncio.timeout(GIT_PATIENCE):
                return await git_state(session.cwd)
        except (TimeoutError, BoughError):
            return None

    async def _end(self, claimed: Claimed, outcome: Outcome) -> None:
        git = await self._git(claimed.session)
        live = self.lives.get(claimed.session.id)

        async def work(change: Change) -> Task | None:
            tools = live.recorder.tool_count if live is not None else 0
            if live is not None and outcome.status == "completed":
                await change.tx.run(KEEPERS.told, id=live.keeper_id)
            return await turns.finish(change, claimed.task, outcome, tools, git)

        await self._close(live, work)
        if live is not None:
            live.close_task(claimed.task.id)

    async def _close(self, live: Live | None, work: Callable[[Change], Awaitable[Any]]) -> None:
        """The last transaction of a turn: the tail of its transcript and what else it means."""
        if live is None:
            await self._store.write(work)
        else:
            live.recorder.close()
            await live.recorder.flush(work)

    async def _died(self, claimed: Claimed, error: AgentFailed) -> None:
        """Another attempt, unless it was being stopped or dies all the time."""
        session_id = claimed.session.id
        deaths = self._deaths.setdefault(session_id, deque(maxlen=self._settings.max_deaths))
        deaths.append(time.monotonic())
        hopeless = len(deaths) == self._settings.max_deaths and deaths[-1] - deaths[0] < DEATHS_WITHIN
        task = await self._store.read(lambda tx: rows.task(tx, claimed.task.id))
        if hopeless or task.status == "stopping":
            await self._end(claimed, Outcome("failed", error=error))
            if hopeless and task.status != "stopping":
                await self._store.write(lambda change: turns.give_up(change, session_id, error))
            return
        await self._close(self.lives.get(session_id), lambda change: turns.cut_off(change, claimed.task, error))

    # Waking and resting

    async def _awake(self, session: Session) -> Live:
        live = self.lives.get(session.id)
        if live is not None and (live.down or live.resting):
            await self.rest(session.id)
            live = None
        if live is None:
            live = await self._wake(session)
        live.busy = True
        return live

    async def _wake(self, session: Session) -> Live:
        entry = self._catalog.get(session.agent)
        private = await self._store.read(lambda tx: tx.one(SESSIONS.private, Private, id=session.id))
        assert private is not None
        keeper_id = new_id()
        await self._store.write(
            lambda change: change.tx.run(KEEPERS.add, id=keeper_id, session_id=session.id, now=change.now)
        )
        try:
            env = environment(entry, msgspec.json.decode(private.env, type=dict[str, str]))
            link = await self._launcher.start(keeper_id, entry.command, cwd=session.cwd, env=env)
        except BaseException:
            await self._dropped(keeper_id)
            raise
        recorder = Recorder(self._store, self._hub, session.id, keeper_id)
        live = Live(session.id, keeper_id, entry, recorder, link, self.questions.ask)
        live.busy = True
        self.lives[session.id] = live
        try:
            past = SessionPast(self._store, session)
            opened = await live.wake(session, self._settings, private.agent_session_id, past)
            await self._store.write(lambda change: self._ready(change, live, opened))
        except BaseException:
            await self.rest(session.id)
            raise
        return live

    async def _ready(self, change: Change, live: Live, opened: Opened) -> None:
        await change.tx.run(
            KEEPERS.ready,
            id=live.keeper_id,
            stored=live.recorder.last,
            has_modes=opened.has_modes,
            options=raw(opened.options),
            needs_history=bool(live.history),
        )
        await change.tx.run(SESSIONS.set_agent_session, id=live.session_id, agent_session_id=opened.agent_session_id)

    async def find(self, keeper: Keeper, session: Session) -> Live:
        """Takes over an agent that an earlier server has woken; what it said since then comes with `listen`."""
        link = await self._launcher.attach(keeper.id, keeper.stored)
        private = await self._store.read(lambda tx: tx.one(SESSIONS.private, Private, id=session.id))
        assert private is not None
        recorder = Recorder(self._store, self._hub, session.id, keeper.id)
        recorder.heard(keeper.stored)
        entry = self._catalog.get(session.agent)
        live = self.lives[session.id] = Live(session.id, keeper.id, entry, recorder, link, self.questions.ask)
        options = msgspec.json.decode(keeper.options, type=list[str])
        live.take_up(Opened(private.agent_session_id or "", keeper.has_modes, options))
        if keeper.needs_history:
            live.history = await SessionPast(self._store, session).history()
        return live

    async def rest(self, session_id: str) -> None:
        """Ends an agent's process; the next prompt wakes another."""
        live = self.lives.get(session_id)
        if live is None:
            return
        try:
            await live.rest()
        finally:
            if self.lives.get(session_id) is live:
                del self.lives[session_id]
        await self._dropped(live.keeper_id)

    async def _dropped(self, keeper_id: str) -> None:
        await self._launcher.drop(keeper_id)
        await self._store.write(lambda change: change.tx.run(KEEPERS.remove, id=keeper_id))

    def let_go(self) -> None:
        """The server is about to end: agents at work are to go on without it."""
        for live in self.lives.values():
            live.let_go()

    async def close(self) -> None:
        """Leaves agents at work to their keepers, and puts the others to rest."""
        stop = self._settings.stop_agents
        left = [live for live in self.lives.values() if live.busy and not stop]
        resting = [live.session_id for live in self.lives.values() if live not in left]
        await asyncio.gather(*(live.leave() for live in left), *(self.rest(one) for one in resting))

    # Stopping

    async def cancel(self, session_id: str, task: Task) -> None:
        """Stops the turn of a task: asks the agent, and ends its process if it does not answer in time."""
        live = self.lives.get(session_id)
        if live is None or not live.busy:
            return
        try:
            async with asyncio.timeout(self._settings.stop_timeout):
                await live.cancel(f"cancel:{task.id}:{task.attempt}")
                await self.ended(task.id)
        except (TimeoutError, AgentFailed):
            log.warning("agent_ignored_cancel", session=session_id, task=task.id)
            await live.rest()

    async def ended(self, task_id: str) -> None:
        """Waits until a task has ended."""
        changed = asyncio.Event()
        forget = self._store.db.listen(CHANNEL_EVENTS, lambda _payload: changed.set())
        try:
            while True:
                task = await self._store.read(lambda tx: rows.task(tx, task_id))
                if task.ended_at is not None:
                    return
                await changed.wait()
                changed.clear()
        finally:
            forget()
