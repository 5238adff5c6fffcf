"""One running agent: its process, its connection and its recorder, from start to end. `agent_pool` creates and ends it,
and the runner of `turns` sends it prompts."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Coroutine, Sequence
from typing import Any

import msgspec
import structlog

from bough.agents.acp.answers import PromptResult
from bough.agents.acp.client import AgentClient
from bough.agents.acp.connection import AgentConnection
from bough.agents.acp.types import Block
from bough.agents.acp.wire import AgentRequest, SessionUpdate
from bough.agents.catalog import CatalogEntry
from bough.agents.catalog.entry import ModeSettings
from bough.agents.catalog.prepare import PreparedStart
from bough.agents.keeper import process_tree
from bough.agents.link import Link
from bough.core.approvals.ask import Elicitation
from bough.core.live_agents.agent_settings import CONFIGURED, AgentSettings, KnownSettings, SettingChange
from bough.core.live_agents.agent_steering import AgentSteering, StoreAnswer
from bough.core.live_agents.failures import FailureDetector
from bough.core.live_agents.offers import Offer, read_offer
from bough.core.live_agents.permission_handler import PermissionHandler
from bough.core.live_agents.prompt_files import PromptCapabilities
from bough.core.live_agents.questions.agent_requests import AgentRequests, read_notice
from bough.core.live_agents.questions.unknown_hosts import AgentHosts
from bough.core.live_agents.start.context import SessionContext, with_preface
from bough.core.live_agents.start.conversation import open_conversation
from bough.core.store.until_available import until_available
from bough.core.transcripts.recorder import Recorder
from bough.errors import AgentFailed
from bough.model.session import Session
from bough.model.values.ids import new_id
from bough.settings import Settings

log = structlog.get_logger("bough.agents")

# Seconds for an idle agent to take a message that it need not answer.
FAREWELL_WITHIN = 5.0
# Seconds for an agent to change its mode in the middle of a turn. Some answer nothing else while they work.
APPLY_WITHIN = 10.0
# Seconds to store what an agent said before its process was ended; the rest of an outage is not waited for.
FLUSH_WITHIN = 10.0
# Prefixes of the keys of lines that belong to no particular task.
OWN_KEYS = ("approval:", "settled:", "refused:", "session/", "farewell:", "steer:")


class OpenedConversation(msgspec.Struct):
    """A conversation that an agent has opened: the agent's id for it, its settings, what it accepts in prompts, and the
    models and efforts that people can choose."""

    agent_session_id: str
    known: KnownSettings
    takes: PromptCapabilities
    offer: Offer | None = None


class Agent:
    """A running agent of one session. It is the handler of its connection until it ends."""

    def __init__(
        self,
        session_id: str,
        keeper_id: str,
        made_of: str,
        entry: CatalogEntry,
        recorder: Recorder,
        link: Link,
        handler: PermissionHandler,
    ) -> None:
        self.session_id = session_id
        self.keeper_id = keeper_id
        # A fingerprint of the settings that it was started with.
        self.made_of = made_of
        self.entry = entry
        self.recorder = recorder
        self.idle_since = time.monotonic()
        self.busy = False
        # When it last sent anything about its work, by the monotonic clock; 0 if it has not yet.
        self.heard_at = 0.0
        # How many tool calls of its turn only wait for other sessions.
        self.waits = 0
        self.ending = False
        # What precedes the next prompt; cleared when a turn has ended normally.
        self.preface: list[Block] = []
        # Notices for people about its start.
        self.notices: list[str] = []
        self.takes = PromptCapabilities()
        self._link = link
        self._connection = AgentConnection(link, self)
        self._client = AgentClient(self._connection)
        self._steering = AgentSteering(self._client, entry, recorder)
        self.requests = AgentRequests(self._connection, recorder, entry.questions)
        self.hosts = AgentHosts(session_id, link)
        self._handler = handler
        # The turn that runs, as TASK:ATTEMPT, and whether it was told to stop.
        self._turn: str | None = None
        self._stopped = False
        self._muted = True
        self._agent_session_id = ""
        self._agent_settings = AgentSettings(entry)
        self._wanted = ModeSettings()
        self._failures = FailureDetector(entry)
        self._jobs: set[asyncio.Task[Any]] = set()
        recorder.confirm_to(link.confirm)

    # Start and end

    async def open(
        self, session: Session, prepared: PreparedStart, settings: Settings, known: str | None, past: SessionContext
    ) -> OpenedConversation:
        """Opens the conversation with an agent that has just been started."""
        self.listen()
        with self._failures.explained():
            talk = await open_conversation(self._client, self.entry, session, prepared, settings, known, past)
        self.preface, self.notices, self.takes = talk.preface, talk.notices, talk.takes
        self._agent_session_id = talk.opened.session_id
        self._muted = False
        log.info("agent_up", session=session.id, agent=self.entry.name, pid=self._link.pid, cwd=session.cwd)
        tuned = self._agent_settings.opened(talk.opened)
        offer = read_offer(self.entry, prepared.version, talk.opened)
        return OpenedConversation(talk.opened.session_id, tuned, talk.takes, offer)

    def resume(self, opened: OpenedConversation) -> None:
        """Continues with an agent that an earlier server started; its settings are sent again with the next prompt."""
        self._agent_session_id = opened.agent_session_id
        self._agent_settings.resume(opened.known)
        self.takes = opened.takes
        self._muted = False
        log.info("agent_found", session=self.session_id, agent=self.entry.name, pid=self._link.pid)

    def listen(self) -> None:
        """Starts to read and record what the agent sends."""
        self._start_job(self._connection.run())
        self._start_job(self.recorder.run())
        self.hosts.listen(lambda host: self._start_job(self._handler.connect(self, host)))

    def _start_job(self, work: Coroutine[Any, Any, Any]) -> None:
        task = asyncio.create_task(work)
        self._jobs.add(task)
        task.add_done_callback(self._job_done)

    def _job_done(self, task: asyncio.Task[Any]) -> None:
        self._jobs.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.warning("agent_job_failed", session=self.session_id, agent=self.entry.name, error=str(error))

    @property
    def down(self) -> bool:
        """Whether its process has ended by itself."""
        return self._connection.over

    async def cpu_seconds(self) -> float:
        """Returns the processor time of its process and everything that it has started."""
        return await asyncio.to_thread(process_tree.cpu_seconds, self._link.pid)

    def begin_wait(self) -> None:
        """Notes that a tool call of its turn only waits for other sessions; repeating such calls is not a loop."""
        self.waits += 1
        self.recorder.calls.clear()

    def end_wait(self) -> None:
        self.waits -= 1

    @property
    def lent(self) -> bool:
        """Whether its turn only waits, so that others may use its slot (T5)."""
        return self.busy and (bool(self.requests.waiting) or self.waits > 0)

    async def end(self) -> None:
        """Ends the process and everything that it started, and stores what the agent sent so far."""
        self.ending = True
        try:
            await self._link.end()
        finally:
            await self._stop_listening()
            if not self.busy:
                self.recorder.close()
            # Nobody keeps what the agent said last but this.
            await until_available(
                self.recorder.flush, "an agent's last words", within=FLUSH_WITHIN, session=self.session_id
            )
        log.info("agent_down", session=self.session_id, agent=self.entry.name, pid=self._link.pid)

    def detach(self) -> None:
        """Detaches from the agent: from now on it is told nothing about what ends on our side."""
        self._connection.detach()

    async def leave(self) -> None:
        """Leaves the agent running in its keeper, and stores what it sent so far."""
        await self._stop_listening()
        await self.recorder.flush()
        await self._link.leave()
        log.info("agent_left", session=self.session_id, agent=self.entry.name, pid=self._link.pid)

    async def _stop_listening(self) -> None:
        for job in list(self._jobs):
            job.cancel()
        if self._jobs:
            await asyncio.wait(self._jobs)

    # A turn

    def want(self, mode: ModeSettings) -> None:
        """Sets the mode settings that the agent must have from the next prompt on."""
        self._wanted = mode

    async def apply_mode(self, mode: ModeSettings) -> None:
        """Sets another mode in the middle of a turn. Raises `AgentFailed` or `TimeoutError` if the agent does not take
        it; what it must have is then unchanged."""
        before, self._wanted = self._wanted, mode
        try:
            async with asyncio.timeout(APPLY_WITHIN):
                await self._agent_settings.set_mode(self._client, self._agent_session_id, mode.mode)
        except BaseException:
            self._wanted = before
            raise

    async def configure(self, session: Session) -> list[str]:
        """Sets mode, model and effort as the session says, as far as they differ (P2). Returns notices about what could
        not be set."""
        with self._failures.unbroken():
            await self._agent_settings.set_mode(self._client, self._agent_session_id, self._wanted.mode)
            await self._agent_settings.pin(self._client, self._agent_session_id)
            return await self._agent_settings.set_choices(self._client, self._agent_session_id, session)

    @property
    def task_id(self) -> str | None:
        """The task whose turn is running."""
        return self._turn.partition(":")[0] if self._turn is not None else None

    async def revert(self, move: SettingChange) -> None:
        """Reverts a setting that the agent changed by itself."""
        if move.option is None:
            await self._agent_settings.set_mode(self._client, self._agent_session_id, self._wanted.mode)
        else:
            await self._agent_settings.pin(self._client, self._agent_session_id)

    async def prompt(self, blocks: Sequence[Block], turn: str) -> PromptResult:
        """Runs one turn, named TASK:ATTEMPT; the preface goes before the prompt."""
        # It may have changed its mode since it was configured; from here on `moved` handles that.
        self._agent_settings.check(self._wanted.mode)
        self._turn, self._stopped = turn, False
        self._failures.begin()
        try:
            with self._failures.unbroken(), self._failures.explained():
                prefaced = with_preface(self.preface, blocks)
                result = await self._client.prompt(self._agent_session_id, prefaced, f"prompt:{turn}")
        finally:
            self._turn = None
        self._failures.check(result.stop_reason, self.recorder.last_text())
        self.preface = []
        return result

    async def steer(self, blocks: Sequence[Block], key: str, store: StoreAnswer) -> bool:
        """Puts a prompt into the running turn, and returns whether the agent has taken it."""
        return await self._steering.send(self._agent_session_id, blocks, key, store)

    async def still_answers(self) -> bool:
        """Tells whether the agent still serves its conversation, after a turn that ended with an error."""
        try:
            await self._agent_settings.probe(self._client, self._agent_session_id, self._wanted.mode)
        except AgentFailed as error:
            log.info("agent_broken", session=self.session_id, agent=self.entry.name, error=error.message)
            return False
        return True

    def close_task(self, task_id: str) -> None:
        """Forgets the lines of a task, which are not sent again."""
        self.requests.forget()
        self.hosts.forget()
        for prefix in (f"prompt:{task_id}", f"cancel:{task_id}", *OWN_KEYS):
            self._connection.forget(prefix)

    async def cancel(self, turn: str) -> None:
        """Tells the agent once to stop this turn, if it still runs; answers open requests first, as ACP demands."""
        if turn != self._turn or self._stopped:
            return
        self._stopped = True
        await self.requests.cancel()
        await self._client.cancel(self._agent_session_id, f"cancel:{turn}")

    async def farewell(self) -> None:
        """Tells an idle agent that its session has timed out (T4)."""
        with contextlib.suppress(AgentFailed, TimeoutError):
            async with asyncio.timeout(FAREWELL_WITHIN):
                await self._client.cancel(self._agent_session_id, f"farewell:{new_id()}")

    # Handler of the connection

    def on_updates(self, updates: list[SessionUpdate], last: int) -> None:
        self.heard_at = time.monotonic()
        for update in updates:
            if update.kind in CONFIGURED:
                for move in self._agent_settings.observe(update):
                    if self._turn is not None and (move.option is not None or move.value != self._wanted.mode):
                        self._start_job(self._handler.moved(self, move))
            else:
                self._failures.observe(update)
        if self._muted:
            self.recorder.received(last)
        else:
            self.recorder.take([update for update in updates if not self._failures.is_noise(update)], last)

    async def on_request(self, request: AgentRequest, number: int) -> None:
        question = await self.requests.read(request, number)
        if isinstance(question, Elicitation):
            await self._handler.ask_question(self, question)
        elif question is not None:
            await self._handler.ask(self, question)

    def on_answer(self, key: str, number: int) -> None:
        # The answer to a prompt is confirmed only when the end of the turn is stored.
        if not self._steering.on_answer(key, number):
            self.recorder.received(number, hold=key.startswith("prompt:"))

    async def settled(self, key: str) -> None:
        await self._steering.settled(key)

    def on_lost(self, text: str) -> None:
        self.recorder.add_notice(text)

    def on_notification(self, method: str, params: msgspec.Raw) -> None:
        notice = read_notice(params)
        if method == "$/cancel_request" and notice.request_id is not None and not self.ending:
            if (approval_id := self.requests.approval_of(notice.request_id)) is not None:
                self._start_job(self._handler.withdraw(self, approval_id))
        elif method == "elicitation/complete" and notice.elicitation_id:
            self._start_job(self._handler.complete_question(self, notice.elicitation_id))
        log.debug("agent_notification", session=self.session_id, method=method)

    async def ready(self) -> None:
        await self.recorder.ready()
