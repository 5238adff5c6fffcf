"""One live agent: its process, its connection and its recorder, from waking to rest. Which turn it runs, and what an
end of it means, is `runner`."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Protocol

import msgspec
import structlog

from bough.agents.acp.answers import PromptResult, read_config_options
from bough.agents.acp.client import AgentClient
from bough.agents.acp.connection import Connection
from bough.agents.acp.types import Block, McpServer, TextBlock
from bough.agents.acp.wire import AgentRequest, RequestId, Update
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
# Keys of lines that belong to no task, or to whichever runs.
OWN_KEYS = ("approval:", "settled:", "refused:", "session/", "farewell:")
# Updates in which an agent says how it is set.
CONFIGURED = frozenset({"current_mode_update", "config_option_update"})

Ask = Callable[["Live", Question], Coroutine[Any, Any, None]]


class Opened(msgspec.Struct):
    """A conversation that an agent has opened: its id there, and what can be set in it."""

    agent_session_id: str
    has_modes: bool
    options: list[str]


class Past(Protocol):
    """What a waking agent needs to know of its session."""

    async def servers(self, http: bool, sse: bool) -> list[McpServer]:
        """The MCP servers that it can reach."""
        ...

    async def history(self) -> str:
        """What happened before, for an agent that cannot load it."""
        ...


class _Permission(msgspec.Struct, rename="camel"):
    tool_call: dict[str, Any]
    options: list[Option]


class Live:
    """An agent that is up for one session. It listens to the agent, as the connection's handler, until it rests."""

    def __init__(
        self,
        session_id: str,
        keeper_id: str,
        made_of: str,
        entry: Entry,
        recorder: Recorder,
        link: Link,
        ask: Ask,
    ) -> None:
        self.session_id = session_id
        self.keeper_id = keeper_id
        # A fingerprint of what it was started with.
        self.made_of = made_of
        self.entry = entry
        self.recorder = recorder
        self.idle_since = time.monotonic()
        self.busy = False
        self.resting = False
        # What the agent must still be told of the past, because it could not load it.
        self.history = ""
        self._link = link
        self._connection = Connection(link, self)
        self._client = AgentClient(self._connection)
        self._ask = ask
        # The turn that runs, as TASK:ATTEMPT, and whether it was told to stop.
        self._turn: str | None = None
        self._stopped = False
        self._muted = True
        self._agent_session_id = ""
        self._mode: str | None = None
        self._options: dict[str, str | bool | None] = {}
        self._questions: dict[str, RequestId] = {}
        self._jobs: set[asyncio.Task[Any]] = set()
        recorder.confirm_to(link.confirm)

    # Waking, leaving and resting

    async def wake(self, session: Session, settings: Settings, known: str | None, past: Past) -> Opened:
        """Opens the conversation with an agent that has just been started."""
        self.listen()
        started = await self._client.initialize(settings.initialize_timeout)
        can = started.capabilities
        servers = await past.servers(can.http, can.sse)
        opened = None
        if known is not None and (can.resume or can.load) and self.entry.resume:
            reopen = self._client.resume_session if can.resume else self._client.load_session
            try:
                opened = await reopen(known, session.cwd, servers, timeout=settings.session_timeout)
            except AgentRefused as error:
                log.warning("agent_forgot", session=session.id, agent=self.entry.name, error=error.message)
        if opened is None:
            self.history = await past.history()
            opened = await self._client.new_session(session.cwd, servers, timeout=settings.session_timeout)
        self._agent_session_id = opened.session_id
        self._mode = opened.modes.current_mode_id if opened.modes else None
        self._options = {option.id: option.current for option in opened.config_options}
        self._muted = False
        log.info("agent_up", session=session.id, agent=self.entry.name, pid=self._link.pid, cwd=session.cwd)
        return Opened(opened.session_id, self._mode is not None, list(self._options))

    def take_up(self, opened: Opened) -> None:
        """Goes on with an agent that an earlier server has woken; its settings are sent again with the next prompt."""
        self._agent_session_id = opened.agent_session_id
        self._mode = "" if opened.has_modes else None
        self._options = dict.fromkeys(opened.options)
        self._muted = False
        log.info("agent_found", session=self.session_id, agent=self.entry.name, pid=self._link.pid)

    def listen(self) -> None:
        """From now on what the agent says is heard and stored."""
        self._own(self._connection.run())
        self._own(self.recorder.run())

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
        return self._connection.over

    @property
    def lent(self) -> bool:
        """Whether its turn only waits, and lends its place to others (T5)."""
        return self.busy and bool(self._questions)

    async def rest(self) -> None:
        """Ends the process and everything that it started; what the agent said so far is kept."""
        self.resting = True
        try:
            await self._link.end()
        finally:
            await self._stop_listening()
            if not self.busy:
                self.recorder.close()
            await self.recorder.flush()
        log.info("agent_down", session=self.session_id, agent=self.entry.name, pid=self._link.pid)

    def let_go(self) -> None:
        """From now on nothing that ends on our side is told to the agent."""
        self._connection.detach()

    async def leave(self) -> None:
        """Lets the agent go on alone with its turn; what was heard so far is stored."""
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

    async def prompt(self, blocks: Sequence[Block], turn: str) -> PromptResult:
        """Runs one turn, named TASK:ATTEMPT; the past, if the agent could not load it, goes first."""
        if self.history:
            blocks = [TextBlock(text=self.history), *blocks]
        self._turn, self._stopped = turn, False
        try:
            result = await self._client.prompt(self._agent_session_id, blocks, f"prompt:{turn}")
        finally:
            self._turn = None
        self.history = ""
        return result

    def close_task(self, task_id: str) -> None:
        """No line of this task will be sent again."""
        self._questions.clear()
        for prefix in (f"prompt:{task_id}", f"cancel:{task_id}", *OWN_KEYS):
            self._connection.forget(prefix)

    async def cancel(self, turn: str) -> None:
        """Tells the agent once to stop this turn, if it still runs; its open questions are answered first, as ACP
        wants it."""
        if turn != self._turn or self._stopped:
            return
        self._stopped = True
        for approval_id in list(self._questions):
            await self._reply(approval_id, {"outcome": "cancelled"})
        await self._client.cancel(self._agent_session_id, f"cancel:{turn}")

    async def farewell(self) -> None:
        """Tells an idle agent that nobody will come back to it soon (T4)."""
        with contextlib.suppress(AgentFailed):
            await self._client.cancel(self._agent_session_id, f"farewell:{new_id()}")

    # Permission

    def asked(self, approval_id: str, request_id: RequestId) -> None:
        """A question of the agent is now an approval."""
        self._questions[approval_id] = request_id

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
        # Only now, so that no answer is lost in between: a line that was not heard is asked for again.
        self.recorder.heard(question.number)

    async def _reply(self, approval_id: str, outcome: dict[str, str]) -> None:
        if approval_id in self._questions:
            request_id = self._questions.pop(approval_id)
            with contextlib.suppress(AgentGone):
                await self._connection.reply(request_id, {"outcome": outcome}, key=f"approval:{approval_id}")

    # What the connection tells

    def on_updates(self, updates: list[Update], last: int) -> None:
        for update in updates:
            if update.kind in CONFIGURED:
                self._configured(update)
        if self._muted:
            self.recorder.heard(last)
        else:
            self.recorder.take(updates, last)

    def _configured(self, update: Update) -> None:
        """The agent says how it is set: what the session wants otherwise is set again before the next prompt (P2)."""
        told: dict[str, Any] = msgspec.json.decode(update.raw)
        if update.kind == "current_mode_update":
            self._mode = str(told.get("currentModeId"))
        else:
            self._options |= {option.id: option.current for option in read_config_options(told.get("configOptions"))}

    async def on_request(self, request: AgentRequest, number: int) -> None:
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
        self.recorder.heard(number)

    def on_answer(self, key: str, number: int) -> None:
        # The end of a turn is stored together with all that it ends, or not at all.
        self.recorder.heard(number, hold=key.startswith("prompt:"))

    def on_notification(self, method: str, params: msgspec.Raw) -> None:
        log.debug("agent_notification", session=self.session_id, method=method)

    async def ready(self) -> None:
        await self.recorder.ready()


def environment(entry: Entry, env: dict[str, str]) -> dict[str, str]:
    """Ours without our secrets, then the agent's, then the session's own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(HIDDEN_PREFIXES)}
    return kept | entry.env | env


def continuation(prompt: str) -> list[Block]:
    """What an agent is told whose last attempt at a task was cut off: the task quoted, then to go on."""
    return [TextBlock(text=replay.quoted(prompt)), TextBlock(text=replay.CONTINUE)]
