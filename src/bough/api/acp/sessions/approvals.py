"""Questions that wait for a person, brought to one editor: those of the sessions that it has open, and of sessions
below them (P4). The first answer wins, whoever gives it; the others are withdrawn."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

import msgspec
import structlog

from bough.agents.json_rpc import Json, RpcError
from bough.api.acp.protocol.rpc import Peer
from bough.api.acp.view.attachment import Attachment
from bough.api.acp.view.shapes import KINDS, locations, parts
from bough.core.approvals.service import SWITCH, AnswerBody, once, options_of
from bough.core.services import Services
from bough.core.store.sql import SESSIONS
from bough.core.store.transactions import decoded
from bough.errors import BoughError, NotFound
from bough.model.approval import Approval, Option
from bough.model.session import Caller, Session
from bough.storage.backend import Tx

log = structlog.get_logger("bough.acp")

PAGE = 200
EVENTS = frozenset({"approval.created", "approval.patched"})
ALLOW = Option("allow", "Allow", "allow_once")
ALWAYS = Option("always", "Always allow", "allow_always")
DENY = Option("deny", "Deny", "reject_once")
ANSWERS = {
    ALLOW.option_id: AnswerBody(decision="allow"),
    ALWAYS.option_id: AnswerBody(decision="allow_always"),
    DENY.option_id: AnswerBody(decision="deny"),
}
OPTION_KINDS = ("allow_once", "allow_always", "reject_once", "reject_always")


class _Outcome(msgspec.Struct, rename="camel"):
    outcome: str
    option_id: str | None = None


class _Answer(msgspec.Struct):
    outcome: _Outcome


class _Event(msgspec.Struct):
    data: msgspec.Raw


class _Question(msgspec.Struct):
    """A question as it is put to this editor: in which of its sessions, and under which id of a tool call."""

    approval: Approval
    shown_in: str
    job: asyncio.Task[None]


class Asking:
    """Asks one editor's user. `opened` finds the editor's attachment of a session."""

    def __init__(
        self,
        services: Services,
        peer: Peer,
        caller: Caller,
        opened: Callable[[str], Attachment | None],
        failed: Callable[[BaseException], None],
    ) -> None:
        self._services = services
        self._peer = peer
        self._caller = caller
        self._opened = opened
        self._failed = failed
        self._jobs: set[asyncio.Task[None]] = set()
        self._follows = False
        self._asked: dict[str, _Question] = {}
        # Questions about what is no tool call of the session that they are shown in, and that session: there each is
        # one of its own.
        self._apart: dict[str, str] = {}

    def start(self) -> None:
        """Hears of questions from now on, once."""
        if not self._follows:
            self._follows = True
            self._work(self._follow())

    async def close(self) -> None:
        jobs = [*(one.job for one in self._asked.values()), *self._jobs]
        for job in jobs:
            job.cancel()
        if jobs:
            await asyncio.wait(jobs)

    def look(self) -> None:
        """A session has been opened: what is asked in it, or below it, already is asked here too."""
        self._work(self._all())

    def forget(self, session_id: str) -> None:
        """A session has been closed: its editor is asked nothing in it any more."""
        for one in self._asked.values():
            if one.shown_in == session_id:
                one.job.cancel()

    async def take(self, approval: Approval) -> None:
        """A question is new, or has been answered."""
        asked = self._asked.get(approval.id)
        if approval.status != "pending":
            # Cancelled, the request is withdrawn; if it is the one that brought the answer it has ended already.
            if asked is not None:
                asked.job.cancel()
            if (shown_in := self._apart.pop(approval.id, None)) is not None:
                status = "completed" if approval.status == "allowed" else "failed"
                await self._update(shown_in, "tool_call_update", {"toolCallId": approval.id, "status": status})
            return
        found = await self._nearest(approval)
        if found is not None and approval.id not in self._asked:
            job = asyncio.create_task(self._ask(approval, *found), name=f"acp asks {approval.id}")
            self._asked[approval.id] = _Question(approval, found[0].session.id, job)
            job.add_done_callback(lambda job: self._done(job, approval.id))

    def _work(self, work: Any) -> None:
        job: asyncio.Task[None] = asyncio.create_task(work)
        self._jobs.add(job)
        job.add_done_callback(self._done)

    def _done(self, job: asyncio.Task[None], approval_id: str = "") -> None:
        self._jobs.discard(job)
        self._asked.pop(approval_id, None)
        if not job.cancelled() and (error := job.exception()) is not None and not self._peer.gone:
            self._failed(error)

    async def _all(self) -> None:
        offset = 0
        while True:
            page = await self._services.approvals.list("pending", None, PAGE, offset)
            for approval in page.rows:
                await self.take(approval)
            offset += PAGE
            if offset >= page.total:
                return

    async def _follow(self) -> None:
        hub = self._services.hub
        async with hub.subscribe(None, None, kinds=EVENTS) as stream, contextlib.aclosing(stream.frames()) as frames:
            async for batch in frames:
                for frame in batch:
                    # What is asked in a session that is open here comes with its other events, in their order.
                    if frame.kind in EVENTS and self._opened(frame.session_id or "") is None:
                        event = msgspec.json.decode(frame.data, type=_Event)
                        await self.take(decoded(bytes(event.data), Approval))

    async def _nearest(self, approval: Approval) -> tuple[Attachment, Session] | None:
        """Where a question is shown to this editor: in its own session, or the nearest above it that is open; and the
        session that asks."""

        async def work(tx: Tx) -> tuple[Attachment, Session] | None:
            session = above = await tx.one(SESSIONS.get, Session, id=approval.session_id)
            while session is not None and above is not None:
                if (found := self._opened(above.id)) is not None:
                    return found, session
                up = above.parent_session_id or above.forked_from_session_id
                above = await tx.one(SESSIONS.get, Session, id=up) if up is not None else None
            return None

        return await self._services.store.read(work)

    async def _ask(self, approval: Approval, shown: Attachment, session: Session) -> None:
        # From here on its end is heard of; before, it may have been missed.
        try:
            if (await self._services.approvals.get(approval.id)).status != "pending":
                return
        except NotFound:
            return
        told: dict[str, Any] = msgspec.json.decode(approval.tool_call)
        elsewhere = shown.session.id != session.id
        call_id = None if elsewhere else shown.call(str(told.get("toolCallId")))
        call = _tool_call(approval, told, session if elsewhere else None)
        call |= {"toolCallId": call_id or approval.id, "status": "pending"}
        if call_id is None and approval.id not in self._apart:
            self._apart[approval.id] = shown.session.id
            await self._update(shown.session.id, "tool_call", call)
        options = _options(approval)
        params: Json = {
            "sessionId": shown.session.id,
            "toolCall": call,
            "options": [msgspec.to_builtins(one) for one in options],
            "_meta": {"bough": {"approvalId": approval.id, "sessionId": session.id, "reason": approval.reason}},
        }
        try:
            answer = msgspec.json.decode(await self._peer.request("session/request_permission", params), type=_Answer)
        except (RpcError, msgspec.DecodeError) as error:
            log.info("acp_bad_answer", approval=approval.id, error=str(error))
            return
        chosen = answer.outcome.option_id
        if answer.outcome.outcome == "selected" and any(chosen == one.option_id for one in options):
            await self._decide(approval, str(chosen), ours=options[-1] is DENY)

    async def _update(self, session_id: str, kind: str, call: Json) -> None:
        await self._peer.notify("session/update", {"sessionId": session_id, "update": {"sessionUpdate": kind, **call}})

    async def _decide(self, approval: Approval, chosen: str, *, ours: bool) -> None:
        body = ANSWERS[chosen] if ours else AnswerBody(option_id=chosen)
        try:
            # Its event cancels this task, which has nothing to take back then.
            await asyncio.shield(self._services.approvals.decide(self._caller, approval.id, body))
        except BoughError as error:
            log.info("acp_answer_refused", approval=approval.id, error=error.message)


def _options(approval: Approval) -> list[Option]:
    """What can be answered: allow, always, deny; or the agent's own options where there are several to choose from."""
    own = [one for one in options_of(approval) if one.kind in OPTION_KINDS]
    if sum(1 for one in own if one.kind == "allow_once") > 1:
        return own
    if once(own, "allow") is None:
        return [DENY]
    return [ALLOW, *([ALWAYS] if approval.key and approval.tool_kind != SWITCH else []), DENY]


def _tool_call(approval: Approval, told: dict[str, Any], child: Session | None) -> Json:
    who = f"{child.title or child.agent}: " if child is not None else ""
    call: Json = {"title": f"{who}{approval.title}"}
    kind = told.get("kind")
    if isinstance(kind, str) and kind in KINDS:
        call["kind"] = kind
    if found := parts(told.get("content")):
        call["content"] = found
    if found := locations(told.get("locations")):
        call["locations"] = found
    given = told.get("arguments", told.get("rawInput"))
    if given:
        call["rawInput"] = given
    return call
