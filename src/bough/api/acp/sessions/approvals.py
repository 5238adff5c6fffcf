"""Asks one editor's user to decide pending approvals of the sessions it has open and of sessions below them. The first
answer from any door wins; all other requests are withdrawn."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

import msgspec
import structlog

from bough.agents.json_rpc import Json, RpcError
from bough.api.acp.protocol.rpc import Peer
from bough.api.acp.sessions.questions import ElicitationSupport, create_elicitation, read_answer
from bough.api.acp.view.replay_and_follow import Attachment
from bough.api.acp.view.shapes import KINDS, locations, parts
from bough.core.approvals.kinds import kind_of
from bough.core.approvals.options import once, options_of
from bough.core.approvals.service import AnswerBody
from bough.core.services import Services
from bough.core.store.decode import decoded
from bough.errors import BoughError, NotFound
from bough.model.approval import QUESTION_KIND, Approval, Option
from bough.model.session import Caller, Session

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
MOST_TRIES = 5
OPTION_KINDS = ("allow_once", "allow_always", "reject_once", "reject_always")


class _Outcome(msgspec.Struct, rename="camel"):
    outcome: str
    option_id: str | None = None


class _Answer(msgspec.Struct):
    outcome: _Outcome


class _Event(msgspec.Struct):
    data: msgspec.Raw


class _Request(msgspec.Struct):
    """An approval that this editor was asked about, and the session it is shown in."""

    approval: Approval
    shown_in: str
    job: asyncio.Task[None]


class ApprovalRequests:
    """Sends approvals to one editor. `opened` returns the editor's attachment of a session."""

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
        # The kinds of questions that the editor can ask.
        self.elicitation = ElicitationSupport()
        self._jobs: set[asyncio.Task[None]] = set()
        self._follows = False
        self._asked: dict[str, _Request] = {}
        # Approvals without a tool call in the session that shows them, with that session's id; each appears there as a
        # tool call of its own.
        self._own_calls: dict[str, str] = {}

    def start(self) -> None:
        """Starts following approvals; further calls do nothing."""
        if not self._follows:
            self._follows = True
            self._work(self._follow())

    async def close(self) -> None:
        jobs = [*(request.job for request in self._asked.values()), *self._jobs]
        for job in jobs:
            job.cancel()
        if jobs:
            await asyncio.wait(jobs)

    def catch_up(self) -> None:
        """Asks about approvals that are already pending, after a session was opened."""
        self._work(self._all())

    def forget(self, session_id: str) -> None:
        """Withdraws the requests of a session that was closed."""
        for request in self._asked.values():
            if request.shown_in == session_id:
                request.job.cancel()

    async def take(self, approval: Approval) -> None:
        """Handles an approval that is new or was decided."""
        request = self._asked.get(approval.id)
        if approval.status != "pending":
            # Cancelling the job withdraws the request; if this editor answered, the job has already ended.
            if request is not None:
                request.job.cancel()
            if (shown_in := self._own_calls.pop(approval.id, None)) is not None:
                status = "completed" if approval.status == "allowed" else "failed"
                await self._update(shown_in, "tool_call_update", {"toolCallId": approval.id, "status": status})
            return
        if not self._caller.may("operator"):
            return
        shown = await self._nearest(approval)
        if shown is not None and approval.id not in self._asked:
            job = asyncio.create_task(self._ask(approval, *shown), name=f"acp asks {approval.id}")
            self._asked[approval.id] = _Request(approval, shown[0].session.id, job)
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
                    # Approvals of sessions that are open here arrive with their other events, in order.
                    if frame.kind in EVENTS and self._opened(frame.session_id or "") is None:
                        event = msgspec.json.decode(frame.data, type=_Event)
                        await self.take(decoded(bytes(event.data), Approval))

    async def _nearest(self, approval: Approval) -> tuple[Attachment, Session] | None:
        """Returns the open session to show an approval in, which is its own or the nearest one above, and the session
        that asks; None if no such session is open."""
        path = await self._services.sessions.with_ancestors(approval.session_id)
        for session in path:
            if (attachment := self._opened(session.id)) is not None:
                return attachment, path[0]
        return None

    async def _ask(self, approval: Approval, shown: Attachment, session: Session) -> None:
        # From here on, the decision's event reaches us; an earlier one may have been missed.
        try:
            if (await self._services.approvals.get(approval.id)).status != "pending":
                return
        except NotFound:
            return
        tool_call: dict[str, Any] = msgspec.json.decode(approval.tool_call)
        is_below = shown.session.id != session.id
        call_id = None if is_below else shown.call(str(tool_call.get("toolCallId")))
        if approval.tool_kind == QUESTION_KIND and self.elicitation.takes(approval):
            await self._ask_question(approval, shown.session.id, call_id, session if is_below else None)
            return
        call = _tool_call(approval, tool_call, session if is_below else None)
        call |= {"toolCallId": call_id or approval.id, "status": "pending"}
        if call_id is None and approval.id not in self._own_calls:
            self._own_calls[approval.id] = shown.session.id
            await self._update(shown.session.id, "tool_call", call)
        if approval.tool_kind == QUESTION_KIND:
            # The editor can only show it; people answer it elsewhere.
            return
        options = _options(approval)
        params: Json = {
            "sessionId": shown.session.id,
            "toolCall": call,
            "options": [msgspec.to_builtins(option) for option in options],
            "_meta": {"bough": {"approvalId": approval.id, "sessionId": session.id, "reason": approval.reason}},
        }
        try:
            answer = msgspec.json.decode(await self._peer.request("session/request_permission", params), type=_Answer)
        except (RpcError, msgspec.DecodeError) as error:
            log.info("acp_bad_answer", approval=approval.id, error=str(error))
            return
        chosen = answer.outcome.option_id
        if answer.outcome.outcome == "selected" and any(chosen == option.option_id for option in options):
            await self._decide(approval, str(chosen), own_options=options[-1] is DENY)

    async def _ask_question(
        self, approval: Approval, shown_in: str, call_id: str | None, child: Session | None
    ) -> None:
        """Asks a question, and again for each answer that does not fit it."""
        params = create_elicitation(approval, shown_in, call_id, child)
        message = params["message"]
        for _ in range(MOST_TRIES):
            try:
                body = read_answer(await self._peer.request("elicitation/create", params))
            except (RpcError, msgspec.DecodeError) as error:
                log.info("acp_bad_answer", approval=approval.id, error=str(error))
                return
            refusal = await self._send(approval, body)
            if refusal is None or refusal.code != "bad_content":
                return
            params["message"] = f"{message}\n\n{refusal.message}"

    async def _update(self, session_id: str, kind: str, call: Json) -> None:
        await self._peer.notify("session/update", {"sessionId": session_id, "update": {"sessionUpdate": kind, **call}})

    async def _decide(self, approval: Approval, chosen: str, *, own_options: bool) -> None:
        await self._send(approval, ANSWERS[chosen] if own_options else AnswerBody(option_id=chosen))

    async def _send(self, approval: Approval, body: AnswerBody) -> BoughError | None:
        """Decides an approval; returns the error if the answer is refused."""
        try:
            # The decision's event cancels this task, which must not cancel the decision.
            await asyncio.shield(self._services.approvals.decide(self._caller, approval.id, body))
        except BoughError as error:
            log.info("acp_answer_refused", approval=approval.id, error=error.message)
            return error
        return None


def _options(approval: Approval) -> list[Option]:
    """Returns allow, always and deny, or the agent's own options if there are several ways to allow."""
    own = [option for option in options_of(approval) if option.kind in OPTION_KINDS]
    if sum(1 for option in own if option.kind == "allow_once") > 1:
        return own
    if once(own, "allow") is None:
        return [DENY]
    return [ALLOW, *([ALWAYS] if kind_of(approval).offers_always(approval) else []), DENY]


def _tool_call(approval: Approval, tool_call: dict[str, Any], child: Session | None) -> Json:
    prefix = f"{child.title or child.agent}: " if child is not None else ""
    call: Json = {"title": f"{prefix}{approval.title}"}
    if approval.tool_kind == QUESTION_KIND:
        hint = f"Answer this question on Bough's page or with: bough approval answer {approval.id}"
        return {**call, "content": [{"type": "content", "content": {"type": "text", "text": hint}}]}
    kind = tool_call.get("kind")
    if isinstance(kind, str) and kind in KINDS:
        call["kind"] = kind
    if content := parts(tool_call.get("content")):
        call["content"] = content
    if places := locations(tool_call.get("locations")):
        call["locations"] = places
    arguments = tool_call.get("arguments", tool_call.get("rawInput"))
    if arguments:
        call["rawInput"] = arguments
    return call
