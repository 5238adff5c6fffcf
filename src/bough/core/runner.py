"""The runner: wakes agents, runs one turn at a time in each, carries cancels and answers to them. Who may run when is
`scheduler`."""

from __future__ import annotations

import asyncio
import time
from collections import deque

import msgspec
import structlog

from bough.agents.acp.types import Block, McpServer, TextBlock
from bough.agents.catalog import Catalog
from bough.agents.errors import AgentGone
from bough.core import approvals, mcp_servers, replay, rows, turns
from bough.core.approvals import Question, remembered
from bough.core.hub import Hub
from bough.core.live import Launch, Live, continuation
from bough.core.recorder import Recorder
from bough.core.rows import APPROVALS, MESSAGES, SESSIONS
from bough.core.store import CHANNEL_APPROVALS, Change, Store
from bough.core.turns import Claimed, Outcome
from bough.errors import AgentFailed, BoughError, Internal
from bough.git.inspect import state as git_state
from bough.model.approval import Approval
from bough.model.message import Message
from bough.model.repo import GitState
from bough.model.session import Session
from bough.model.task import Task
from bough.settings import Settings
from bough.storage.backend import Tx

log = structlog.get_logger("bough.runner")

# An agent that dies this often within this time is given up.
MOST_DEATHS = 3
DEATHS_WITHIN = 300.0
# The state of a huge working copy is not worth more waiting than this before a prompt is sent.
GIT_PATIENCE = 2.0


class Private(msgspec.Struct):
    """What of a session nobody is shown."""

    env: msgspec.Raw
    agent_session_id: str | None


class Runner:
    """Owns every live agent of this server."""

    def __init__(self, store: Store, hub: Hub, settings: Settings, catalog: Catalog, launch: Launch) -> None:
        self._store = store
        self._hub = hub
        self._settings = settings
        self._catalog = catalog
        self._launch = launch
        self._deaths: dict[str, deque[float]] = {}
        self._answering: set[asyncio.Task[None]] = set()
        self.lives: dict[str, Live] = {}

    # Turns

    async def turn(self, session_id: str) -> None:
        """Runs the head of a session's queue to its end, whatever that is."""
        claimed = await turns.claim(self._store, session_id)
        if claimed is None:
            return
        live = None
        try:
            live = await self._awake(claimed.session)
            await self._attempt(live, claimed)
        except AgentGone as error:
            await self._died(claimed, live, error)
        except BoughError as error:
            await self._end(claimed, live, Outcome("failed", error=error))
        except Exception as error:
            log.exception("turn_failed", session=session_id, task=claimed.task.id)
            wrapped = Internal("internal", f"Bough failed to run this turn: {type(error).__name__}.")
            await self._end(claimed, live, Outcome("failed", error=wrapped))
        finally:
            if live is not None:
                live.busy = live.lent = False
                live.idle_since = time.monotonic()
                if live.down:
                    await self.rest(session_id)

    async def _awake(self, session: Session) -> Live:
        live = self.lives.get(session.id)
        if live is not None and not live.down:
            live.busy = True
            return live
        if live is not None:
            await self.rest(session.id)
        entry = self._catalog.get(session.agent)
        live = Live(session.id, entry, Recorder(self._store, self._hub, session.id), self._ask)
        live.busy = True
        self.lives[session.id] = live
        try:
            private = await self._store.read(lambda tx: tx.one(SESSIONS.private, Private, id=session.id))
            assert private is not None
            opened = await live.wake(
                self._launch,
                session,
                self._settings,
                env=msgspec.json.decode(private.env, type=dict[str, str]),
                known=private.agent_session_id,
                servers=lambda http, sse: self._servers(session, http, sse),
                history=lambda: self._history(session.id),
            )
        except BaseException:
            del self.lives[session.id]
            raise
        if opened != private.agent_session_id:
            await self._store.write(
                lambda change: change.tx.run(SESSIONS.set_agent_session, id=session.id, agent_session_id=opened)
            )
        return live

    async def _servers(self, session: Session, http: bool, sse: bool) -> list[McpServer]:
        ids = msgspec.json.decode(session.mcp_server_ids, type=list[str])
        found, left_out = await self._store.read(lambda tx: mcp_servers.for_agent(tx, ids, http=http, sse=sse))
        if left_out:
            log.warning("mcp_servers_left_out", session=session.id, agent=session.agent, servers=left_out)
        return found

    async def _history(self, session_id: str) -> str:
        async def work(tx: Tx) -> list[Message]:
            return await tx.all(MESSAGES.all, Message, session_id=session_id)

        messages = await self._store.read(work, long=True)
        # The prompt that is about to be sent is the last one; it is not history yet.
        while messages and messages[-1].role == "user":
            messages.pop()
        return replay.transcript(messages)

    async def _attempt(self, live: Live, claimed: Claimed) -> None:
        task, session = claimed.task, claimed.session
        git = asyncio.create_task(self._git(session))
        try:
            await live.recorder.flush()
            live.recorder.begin(task.id)
            await live.configure(session)
            if not await turns.sent(self._store, task, await git):
                await self._end(claimed, live, Outcome("cancelled"))
                return
        finally:
            git.cancel()
        key = f"prompt:{task.id}:{task.attempt}"
        blocks: list[Block] = [TextBlock(text=task.prompt)]
        if task.sent_attempt > 0:
            blocks = continuation(task.prompt)
        result = await live.prompt(blocks, key)
        await self._end(claimed, live, turns.succeeded(result))

    async def _git(self, session: Session) -> GitState | None:
        try:
            async with asyncio.timeout(GIT_PATIENCE):
                return await git_state(session.cwd)
        except (TimeoutError, BoughError):
            return None

    async def _end(self, claimed: Claimed, live: Live | None, outcome: Outcome) -> None:
        git = await self._git(claimed.session)
        task = msgspec.structs.replace(claimed.task, cost=claimed.session.cost)
        tools = 0
        flush = self._store.write
        if live is not None:
            live.recorder.close()
            tools = live.recorder.tool_count
            flush = live.recorder.flush

        async def work(change: Change) -> Task | None:
            return await turns.finish(change, task, outcome, tools, git)

        await flush(work)

    async def _died(self, claimed: Claimed, live: Live | None, error: AgentFailed) -> None:
        """Another attempt, unless it was being stopped or dies all the time."""
        session_id = claimed.session.id
        deaths = self._deaths.setdefault(session_id, deque(maxlen=MOST_DEATHS))
        deaths.append(time.monotonic())
        hopeless = len(deaths) == MOST_DEATHS and deaths[-1] - deaths[0] < DEATHS_WITHIN
        task = await self._store.read(lambda tx: rows.task(tx, claimed.task.id))
        if hopeless or task.status == "stopping":
            await self._end(claimed, live, Outcome("failed", error=error))
            if hopeless and task.status != "stopping":
                await self._store.write(lambda change: turns.give_up(change, session_id, error))
            return
        flush = self._store.write
        if live is not None:
            live.recorder.close()
            flush = live.recorder.flush

        async def work(change: Change) -> None:
            await turns.cut_off(change, claimed.task, error)

        await flush(work)

    # Stopping and resting

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
        forget = self._store.db.listen("bough_events", lambda _payload: changed.set())
        try:
            while True:
                task = await self._store.read(lambda tx: rows.task(tx, task_id))
                if task.ended_at is not None:
                    return
                await changed.wait()
                changed.clear()
        finally:
            forget()

    async def rest(self, session_id: str) -> None:
        """Ends an agent's process; the next prompt wakes another."""
        live = self.lives.pop(session_id, None)
        if live is not None:
            await live.rest()

    async def close(self) -> None:
        """Ends every agent of this server."""
        await asyncio.gather(*(self.rest(session_id) for session_id in list(self.lives)))

    # Permission

    async def _ask(self, live: Live, question: Question) -> None:
        """An agent asks: answered from memory, or written down for a person."""
        live.recorder.tool(question.tool_call)

        async def work(change: Change) -> Approval | None:
            session = await rows.session(change.tx, live.session_id)
            open_tasks = await change.tx.all(rows.TASKS.open, Task, session_id=live.session_id)
            task = next((one for one in open_tasks if one.status in ("running", "waiting_permission")), None)
            if task is None or remembered(session, question.tool_call):
                return None
            return await approvals.ask(change, session, task, question)

        approval = await live.recorder.flush(work)
        if approval is None:
            await self._answer_unasked(live, question)
            return
        live.asked(approval.id, question.request)
        live.lent = True
        await self._answer(approval.id)

    async def _answer_unasked(self, live: Live, question: Question) -> None:
        session = await self._store.read(lambda tx: rows.session(tx, live.session_id))
        if not (remembered(session, question.tool_call) and await live.allow(question)):
            await live.decline(question)

    async def follow_answers(self) -> None:
        """Carries decisions to agents until cancelled."""
        heard: asyncio.Queue[str] = asyncio.Queue()
        forget = self._store.db.listen(CHANNEL_APPROVALS, heard.put_nowait)
        try:
            while True:
                payload = await heard.get()
                for approval_id in [payload] if payload else self._open_questions():
                    await self._answer(approval_id)
        finally:
            forget()

    def _open_questions(self) -> list[str]:
        return [one for live in self.lives.values() for one in live.open_questions()]

    async def _answer(self, approval_id: str) -> None:
        approval = await self._store.read(lambda tx: tx.one(APPROVALS.get, Approval, id=approval_id))
        live = self.lives.get(approval.session_id) if approval else None
        if approval is None or live is None or approval.status == "pending":
            return
        live.lent = len(live.open_questions()) > 1
        await live.answer(approval)
