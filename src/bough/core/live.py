"""One live agent: its process, its connection and its recorder, from waking to rest. Which turn it runs, and what an
end of it means, is `runner`."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any

import msgspec
import structlog

from bough.agents.acp.answers import PromptResult, SessionOpened
from bough.agents.acp.client import AgentClient
from bough.agents.acp.connection import Connection
from bough.agents.acp.types import Block, McpServer, TextBlock
from bough.agents.acp.wire import AgentRequest, Update
from bough.agents.catalog import Entry
from bough.agents.errors import AgentGone, AgentRefused
from bough.agents.link import Link
from bough.core import replay
from bough.core.approvals import Question, once
from bough.core.recorder import Recorder
from bough.errors import AgentFailed
from bough.model.approval import Approval, Option
from bough.model.ids import new_id
from bough.model.session import Session
from bough.settings import Settings

log = structlog.get_logger("bough.agents")

METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602

# What of our own environment an agent must not see: our settings hold paths and addresses, and tokens are nobody's.
HIDDEN_PREFIXES = ("BOUGH_", "AGENT_")

Launch = Callable[..., Awaitable[Link]]
Ask = Callable[["Live", Question], Coroutine[Any, Any, None]]


class _Permission(msgspec.Struct, rename="camel"):
    tool_call: dict[str, Any]
    options: list[Option]


class Live:
    """An agent that is up for one session. It listens to the agent (as the connection's handler) until it rests."""

    def __init__(self, session_id: str, entry: Entry, recorder: Recorder, ask: Ask) -> None:
        self.session_id = session_id
        self.entry = entry
        self.recorder = recorder
        self.idle_since = time.monotonic()
        self.busy = False
        # A turn that only waits lends its place to others (T5).
        self.lent = False
        self._ask = ask
        self._link: Link | None = None
        self._prompting = False
        self._muted = True
        self._agent_session_id = ""
        self._mode: str | None = None
        self._options: dict[str, str | bool | None] = {}
        self._history: str = ""
        self._questions: dict[str, AgentRequest] = {}
        self._jobs: set[asyncio.Task[Any]] = set()

    # Waking and resting

    async def wake(
        self,
        launch: Launch,
        session: Session,
        settings: Settings,
        *,
        env: dict[str, str],
        known: str | None,
        servers: Callable[[bool, bool], Awaitable[list[McpServer]]],
        history: Callable[[], Awaitable[str]],
    ) -> str:
        """Starts the process and opens the conversation; the agent's id for it is given back."""
        link = self._link = await launch(self.entry.command, cwd=session.cwd, env=_environment(self.entry, env))
        self._connection = Connection(link, self)
        self._client = AgentClient(self._connection)
        self._own(self._connection.run())
        self._own(self.recorder.run())
        try:
            opened = await self._open(session, settings, known, servers, history)
        except BaseException:
            await self.rest()
            raise
        self._agent_session_id = opened.session_id
        self._mode = opened.modes.current_mode_id if opened.modes else None
        self._options = {option.id: option.current for option in opened.config_options}
        self._muted = False
        log.info("agent_up", session=session.id, agent=self.entry.name, pid=link.pid, cwd=session.cwd)
        return opened.session_id

    async def _open(
        self,
        session: Session,
        settings: Settings,
        known: str | None,
        servers: Callable[[bool, bool], Awaitable[list[McpServer]]],
        history: Callable[[], Awaitable[str]],
    ) -> SessionOpened:
        started = await self._client.initialize(settings.initialize_timeout)
        can = started.capabilities
        mcp = await servers(can.http, can.sse)
        wait = settings.session_timeout
        if known is not None and (can.resume or can.load) and self.entry.resume:
            reopen = self._client.resume_session if can.resume else self._client.load_session
            try:
                return await reopen(known, session.cwd, mcp, timeout=wait)
            except AgentRefused as error:
                log.warning("agent_forgot", session=session.id, agent=self.entry.name, error=error.message)
        self._history = await history()
        return await self._client.new_session(session.cwd, mcp, timeout=wait)

    def _own(self, work: Coroutine[Any, Any, Any]) -> None:
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
        return self._link is not None and self._connection.over

    async def rest(self) -> None:
        """Ends the process and everything that it started; what the agent said so far is kept."""
        link = self._link
        if link is None:
            return
        try:
            await link.end()
        finally:
            for job in list(self._jobs):
                job.cancel()
            if self._jobs:
                await asyncio.wait(self._jobs)
            await self.recorder.flush()
        log.info("agent_down", session=self.session_id, agent=self.entry.name, pid=link.pid)

    # A turn

    async def configure(self, session: Session) -> None:
        """Brings mode, model and effort to what the session says; nothing is sent that stands already (P2)."""
        mode = self.entry.modes.get(session.permission_mode)
        if mode is not None and self._mode is not None and mode != self._mode:
            await self._client.set_mode(self._agent_session_id, mode)
            self._mode = mode
        for option, value in (
            (self.entry.model_option, session.model),
            (self.entry.effort_option, session.effort),
        ):
            if option in self._options and value is not None and self._options[option] != value:
                current = await self._client.set_config_option(self._agent_session_id, option, value)
                self._options = {one.id: one.current for one in current}

    async def prompt(self, blocks: Sequence[Block], key: str) -> PromptResult:
        """Runs one turn; what happened before this agent came, if it could not load it, goes first."""
        if self._history:
            blocks = [TextBlock(text=self._history), *blocks]
        self._prompting = True
        try:
            result = await self._client.prompt(self._agent_session_id, blocks, key)
        finally:
            self._prompting = False
        self._history = ""
        return result

    async def cancel(self, key: str) -> None:
        """Tells the agent to stop its turn, if it has one; its open questions are answered first, as ACP wants it."""
        if not self._prompting:
            return
        for approval_id in list(self._questions):
            await self._reply(approval_id, {"outcome": "cancelled"})
        await self._client.cancel(self._agent_session_id, key)

    async def farewell(self) -> None:
        """Tells an idle agent that nobody will come back to it soon (T4)."""
        with contextlib.suppress(AgentFailed):
            await self._client.cancel(self._agent_session_id, f"farewell:{new_id()}")

    # Permission

    def asked(self, approval_id: str, request: AgentRequest) -> None:
        """A question of the agent is now an approval."""
        self._questions[approval_id] = request

    async def answer(self, approval: Approval) -> None:
        """Carries a decision to the agent, if it still waits for it."""
        if approval.status in ("allowed", "denied") and approval.option_id is not None:
            outcome = {"outcome": "selected", "optionId": approval.option_id}
        else:
            outcome = {"outcome": "cancelled"}
        await self._reply(approval.id, outcome)

    def open_questions(self) -> list[str]:
        """The approvals that the agent waits for."""
        return list(self._questions)

    async def allow(self, question: Question) -> bool:
        """Answers a question that a person has answered before; false if it cannot be allowed just once."""
        option = once(question.options, "allow_once")
        if option is not None:
            await self._settle(question, {"outcome": "selected", "optionId": option.option_id})
        return option is not None

    async def decline(self, question: Question) -> None:
        """Answers a question that nobody can be asked: its turn is over."""
        await self._settle(question, {"outcome": "cancelled"})

    async def _settle(self, question: Question, outcome: dict[str, str]) -> None:
        with contextlib.suppress(AgentGone):
            await self._connection.reply(question.request.id, {"outcome": outcome}, key=f"settled:{question.number}")

    async def _reply(self, approval_id: str, outcome: dict[str, str]) -> None:
        request = self._questions.pop(approval_id, None)
        if request is not None:
            with contextlib.suppress(AgentGone):
                await self._connection.reply(request.id, {"outcome": outcome}, key=f"approval:{approval_id}")

    # What the connection tells

    def on_updates(self, updates: list[Update], last: int) -> None:
        if self._muted:
            self.recorder.heard(last)
        else:
            self.recorder.take(updates, last)

    async def on_request(self, request: AgentRequest, number: int) -> None:
        self.recorder.heard(number)
        if request.method != "session/request_permission":
            await self._refuse(request, number, METHOD_NOT_FOUND, f"Bough does not offer {request.method}.")
            return
        try:
            wanted = msgspec.json.decode(request.params, type=_Permission)
        except msgspec.DecodeError as error:
            await self._refuse(request, number, INVALID_PARAMS, str(error))
            return
        await self._ask(self, Question(request, number, wanted.tool_call, wanted.options))

    async def _refuse(self, request: AgentRequest, number: int, code: int, message: str) -> None:
        with contextlib.suppress(AgentFailed):
            await self._connection.reply_error(request.id, code, message, key=f"refused:{number}")

    def on_answer(self, key: str, number: int) -> None:
        # The end of a turn is stored together with all that it ends, or not at all.
        self.recorder.heard(number, hold=key.startswith("prompt:"))

    def on_notification(self, method: str, params: msgspec.Raw) -> None:
        log.debug("agent_notification", session=self.session_id, method=method)

    async def ready(self) -> None:
        await self.recorder.ready()


def _environment(entry: Entry, env: dict[str, str]) -> dict[str, str]:
    """Ours without our secrets, then the agent's, then the session's own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(HIDDEN_PREFIXES)}
    return kept | entry.env | env


def continuation(prompt: str) -> list[Block]:
    """What an agent is told whose last attempt at a task was cut off: the task quoted, then to go on."""
    return [TextBlock(text=replay.quoted(prompt)), TextBlock(text=replay.CONTINUE)]
