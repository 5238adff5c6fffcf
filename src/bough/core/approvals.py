"""Approvals: questions of agents that wait for a person; the first answer wins (P4). Carrying an answer to the agent
is `live`."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from bough.agents.acp.wire import AgentRequest
from bough.core import interruption, rows
from bough.core.lookup import find, find_id
from bough.core.page import Page
from bough.core.rows import APPROVALS
from bough.core.store import CHANNEL_APPROVALS, Change, Store
from bough.errors import Conflict, Invalid
from bough.model.approval import Approval, ApprovalStatus, Decision, Option
from bough.model.message import raw
from bough.model.session import Caller, Session
from bough.model.task import Task
from bough.storage.backend import Tx

STATUSES = ("pending", "allowed", "denied", "cancelled", "expired")
# Kinds of tool calls whose title names all that matters, the file: *always* is said to it, whatever its new text is.
BY_TITLE = ("read", "edit", "search")
KIND_OF: dict[Decision, str] = {"allow": "allow_once", "allow_always": "allow_once", "deny": "reject_once"}


class Question(msgspec.Struct):
    """What an agent asks, on which line: the tool call as it described it, and the answers that it offers."""

    request: AgentRequest
    number: int
    tool_call: dict[str, Any]
    options: list[Option]


class AnswerBody(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """A person's answer: one of the agent's options, or simply allow, allow always, deny."""

    option_id: str | None = None
    decision: Decision | None = None
    idempotency_key: str | None = None


class Approvals:
    """Asks, lists and decides."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def get(self, approval_id: str) -> Approval:
        return await self._store.read(lambda tx: find(tx, "approvals", approval_id, APPROVALS.get, Approval))

    async def list(self, status: str | None, session_id: str | None, limit: int, offset: int) -> Page[Approval]:
        wanted = _parse_statuses(status)

        async def work(tx: Tx) -> Page[Approval]:
            where = "status IN :statuses"
            params: dict[str, Any] = {"statuses": wanted}
            if session_id is not None:
                where += " AND session_id = :session_id"
                params["session_id"] = await find_id(tx, "sessions", session_id)
            found = await tx.all(APPROVALS.page.with_(where=where), Approval, limit=limit, offset=offset, **params)
            return Page(found, await tx.value(APPROVALS.count.with_(where=where), **params) or 0, limit, offset)

        return await self._store.read(work)

    async def decide(self, caller: Caller, approval_id: str, answer: AnswerBody) -> Approval:
        """Takes the first answer; a later one is told who was first."""

        async def work(change: Change) -> Approval:
            approval = await find(change.tx, "approvals", approval_id, APPROVALS.get, Approval)
            if approval.status != "pending":
                raise Conflict(
                    "approval_decided",
                    f"Approval {approval.id} is {approval.status} already.",
                    status=approval.status,
                    decidedBy=msgspec.json.decode(approval.decided_by or b"null"),
                )
            decision, option = _choose(approval, answer)
            status: ApprovalStatus = "denied" if decision == "deny" else "allowed"
            decided = await change.tx.one(
                APPROVALS.decide,
                Approval,
                id=approval.id,
                status=status,
                option_id=option.option_id if option else None,
                decision=decision,
                decided_by=raw({"kind": caller.kind, "id": caller.id}),
                now=change.now,
            )
            assert decided is not None
            change.approval("approval.patched", decided)
            if decided.tool_kind == interruption.INTERRUPTED:
                await interruption.decided(change, decided)
                return decided
            await _go_on(change, decided)
            if decision == "allow_always":
                await _remember(change, decided)
            change.tx.notify(CHANNEL_APPROVALS, decided.id)
            return decided

        scope = f"approvals.decide:{approval_id}"
        return await self._store.write_once(caller, scope, [answer.option_id, answer.decision], Approval, work)


async def ask(change: Change, session: Session, task: Task, question: Question) -> Approval:
    """Writes the question down; the turn waits from now on."""
    call = question.tool_call
    approval = await rows.add_approval(
        change,
        task,
        title=describe(call),
        tool_kind=str(call.get("kind") or "other"),
        tool_call=call,
        options=question.options,
        request_id=question.request.id,
    )
    if await rows.move_task(change, task.id, "waiting_permission") is not None:
        await rows.update_session(change, session.id, activity="waiting_permission")
    return approval


def describe(tool_call: dict[str, Any]) -> str:
    """The question in one line."""
    title = str(tool_call.get("title") or tool_call.get("kind") or "a tool call")
    return " ".join(title.replace("\0", "").split())[:500]


def remembered(session: Session, tool_call: dict[str, Any]) -> bool:
    """Whether a person has said *always* to exactly this call in this session."""
    return _key(tool_call) in msgspec.json.decode(session.allowed_tools, type=list[str])


def once(options: list[Option], kind: str) -> Option | None:
    """The agent's option of a kind; ids differ between agents, kinds do not."""
    return next((option for option in options if option.kind == kind), None)


def _key(tool_call: dict[str, Any]) -> str:
    """By what a call is known again: to people its title, to us every character of it, and of what it is given.

    A title is cut and its white space is folded for people; a command may do its harm with just that part.
    """
    kind = str(tool_call.get("kind") or "other")
    given = None if kind in BY_TITLE else tool_call.get("rawInput")
    exact = msgspec.json.encode([tool_call.get("title"), given], order="sorted")
    return f"{kind}: {describe(tool_call)} ({hashlib.sha256(exact).hexdigest()[:16]})"


def _choose(approval: Approval, answer: AnswerBody) -> tuple[Decision, Option | None]:
    """The decision and the once-only option that carries it; what is said to be always is remembered by us (P3)."""
    options = msgspec.json.decode(approval.options, type=list[Option])
    decision = answer.decision
    if (decision is None) == (answer.option_id is None):
        raise Invalid("bad_answer", "Answer with either optionId or decision.")
    if decision is None:
        chosen = next((option for option in options if option.option_id == answer.option_id), None)
        if chosen is None:
            offered = ", ".join(option.option_id for option in options)
            raise Invalid("unknown_option", f"There is no option {answer.option_id!r}; offered are: {offered}.")
        decision = _decision_of(chosen)
    option = once(options, KIND_OF[decision])
    if option is None and decision != "deny":
        raise Conflict("no_once_option", "The agent offers no way to allow this once; it can only be denied.")
    return decision, option


def _decision_of(option: Option) -> Decision:
    if option.kind.startswith("reject"):
        return "deny"
    return "allow_always" if option.kind == "allow_always" else "allow"


async def _go_on(change: Change, approval: Approval) -> None:
    """The turn runs again when its last question is answered."""
    if await change.tx.value(APPROVALS.pending_of_task, task_id=approval.task_id):
        return
    if await rows.move_task(change, approval.task_id, "running") is not None:
        await rows.update_session(change, approval.session_id, activity="running")


async def _remember(change: Change, approval: Approval) -> None:
    session = await rows.session(change.tx, approval.session_id)
    known = msgspec.json.decode(session.allowed_tools, type=list[str])
    key = _key(msgspec.json.decode(approval.tool_call))
    if key not in known:
        await rows.update_session(change, session.id, allowed_tools=raw([*known, key]))


def _parse_statuses(text: str | None) -> tuple[str, ...]:
    if not text:
        return STATUSES
    wanted = tuple(part.strip() for part in text.split(",") if part.strip())
    if not wanted or any(part not in STATUSES for part in wanted):
        raise Invalid("bad_status", f"Unknown approval status in {text!r}; known are {', '.join(STATUSES)}.")
    return wanted
