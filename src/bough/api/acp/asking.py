"""Questions that wait for a person, brought to one editor: those of the sessions that it has open, and of sessions
below them (P4). The first answer wins, whoever gives it; the others are withdrawn."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

import msgspec
import structlog

from bough.api.acp.rpc import Json, Peer, RpcError
from bough.core import rows
from bough.core.approvals import AnswerBody
from bough.core.services import Services
from bough.core.store import decoded
from bough.errors import BoughError
from bough.model.approval import Approval, Option
from bough.model.session import Caller, Session
from bough.storage.backend import Tx

log = structlog.get_logger("bough.acp")

MOST = 200
KINDS = frozenset({"approval.created", "approval.patched"})
ONCE = [Option("allow", "Allow", "allow_once"), Option("deny", "Deny", "reject_once")]
ALWAYS = Option("always", "Always allow", "allow_always")
DECISIONS: dict[str, Any] = {"allow": "allow", "always": "allow_always", "deny": "deny"}


class _Outcome(msgspec.Struct, rename="camel"):
    outcome: str
    option_id: str | None = None


class _Answer(msgspec.Struct):
    outcome: _Outcome


class _Event(msgspec.Struct):
    data: msgspec.Raw


class Asking:
    """Asks one editor's user."""

    def __init__(self, services: Services, peer: Peer, caller: Caller, watched: Callable[[str], bool]) -> None:
        self._services = services
        self._peer = peer
        self._caller = caller
        self._watched = watched
        self._job: asyncio.Task[None] | None = None
        self._looks: set[asyncio.Task[None]] = set()
        self._asked: dict[str, asyncio.Task[None]] = {}

    def start(self) -> None:
        if self._job is None:
            self._job = asyncio.create_task(self._follow(), name="acp approvals")

    async def close(self) -> None:
        jobs = [*self._asked.values(), *self._looks, *([self._job] if self._job else [])]
        for job in jobs:
            job.cancel()
        if jobs:
            await asyncio.wait(jobs)

    def look(self, _session_id: str) -> None:
        """A session has been opened: what is asked in it, or below it, already is asked here too."""
        job = asyncio.create_task(self._all())
        self._looks.add(job)
        job.add_done_callback(self._looks.discard)

    async def _all(self) -> None:
        page = await self._services.approvals.list("pending", None, MOST, 0)
        for approval in page.rows:
            await self._take(approval)

    async def _follow(self) -> None:
        hub = self._services.hub
        async with hub.subscribe(None, None, kinds=KINDS) as stream, contextlib.aclosing(stream.frames()) as frames:
            async for batch in frames:
                for frame in batch:
                    if frame.kind in KINDS:
                        event = msgspec.json.decode(frame.data, type=_Event)
                        await self._take(decoded(bytes(event.data), Approval))

    async def _take(self, approval: Approval) -> None:
        asked = self._asked.get(approval.id)
        if approval.status != "pending":
            # Cancelled, the request is withdrawn; if it is the one that brought the answer it has ended already.
            if asked is not None:
                asked.cancel()
        elif asked is None and (shown := await self._nearest(approval)) is not None:
            job = asyncio.create_task(self._ask(approval, *shown), name=f"acp asks {approval.id}")
            self._asked[approval.id] = job
            job.add_done_callback(lambda _job: self._asked.pop(approval.id, None))

    async def _nearest(self, approval: Approval) -> tuple[str, Session] | None:
        """The session of this editor that a question is shown in: its own, or the nearest one above it."""

        async def work(tx: Tx) -> tuple[str, Session] | None:
            session = await rows.session(tx, approval.session_id)
            above: Session | None = session
            while above is not None:
                if self._watched(above.id):
                    return above.id, session
                up = above.parent_session_id
                above = await rows.session(tx, up) if up is not None else None
            return None

        return await self._services.store.read(work)

    async def _ask(self, approval: Approval, shown_in: str, session: Session) -> None:
        options = _options(approval)
        params: Json = {
            "sessionId": shown_in,
            "toolCall": _tool_call(approval, session, elsewhere=shown_in != session.id),
            "options": [msgspec.to_builtins(one) for one in options],
        }
        try:
            answer = msgspec.json.decode(await self._peer.request("session/request_permission", params), type=_Answer)
        except (RpcError, msgspec.DecodeError):
            return
        chosen = answer.outcome.option_id
        if answer.outcome.outcome != "selected" or chosen is None:
            return
        body = AnswerBody(decision=DECISIONS[chosen]) if chosen in DECISIONS else AnswerBody(option_id=chosen)
        try:
            await asyncio.shield(self._services.approvals.decide(self._caller, approval.id, body))
        except BoughError as error:
            log.info("acp_answer_refused", approval=approval.id, error=error.message)


def _options(approval: Approval) -> list[Option]:
    """What can be answered: allow, always, deny; or the agent's own options where there are several to choose from."""
    own = msgspec.json.decode(approval.options, type=list[Option])
    if sum(1 for one in own if one.kind == "allow_once") > 1:
        return own
    return [ONCE[0], *([ALWAYS] if approval.key else []), ONCE[1]]


def _tool_call(approval: Approval, session: Session, *, elsewhere: bool) -> Json:
    told: dict[str, Any] = msgspec.json.decode(approval.tool_call)
    who = f"{session.title or session.agent}: " if elsewhere else ""
    call: Json = {"toolCallId": approval.id, "title": f"{who}{approval.title}", "status": "pending"}
    for name in ("rawInput", "content", "locations"):
        if told.get(name):
            call[name] = told[name]
    if "arguments" in told:
        call["rawInput"] = told["arguments"]
    return call
