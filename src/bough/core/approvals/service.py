"""Approvals: questions of agents that wait for an answer; the first one wins (P4). Asking is `asking`, answering for
people who do not `expiry`, carrying answers to agents `questions`."""

from __future__ import annotations

from typing import Any

import msgspec

from bough.agents.acp.wire import AgentRequest
from bough.agents.catalog import Catalog
from bough.core.policy import evaluate, remember
from bough.core.state import budgets, interruption
from bough.core.state import tool_call as call_rows
from bough.core.state.tool_call import CALL
from bough.core.store import records
from bough.core.store.paging import Page
from bough.core.store.short_ids import find, find_id
from bough.core.store.sql import APPROVALS, CHOICES, TREES
from bough.core.store.transactions import CHANNEL_APPROVALS, Change, Store
from bough.core.tool_calls.service import Calls
from bough.errors import Conflict, Denied, Invalid
from bough.model.approval import Approval, ApprovalStatus, Decision, Option
from bough.model.message import raw
from bough.model.rule import Choice, Scope
from bough.model.session import Caller
from bough.storage.backend import Tx

STATUSES = ("pending", "allowed", "denied", "cancelled", "expired")
KIND_OF: dict[Decision, str] = {"allow": "allow_once", "allow_always": "allow_once", "deny": "reject_once"}
SWITCH = "switch_mode"
LONGEST_REASON = 2000


class Question(msgspec.Struct):
    """What an agent asks, on which line: the tool call as it described it, and the answers that it offers."""

    request: AgentRequest
    number: int
    tool_call: dict[str, Any]
    options: list[Option]


class AnswerBody(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """A person's answer: one of the agent's options, or simply allow, allow always (how far?), deny."""

    option_id: str | None = None
    decision: Decision | None = None
    scope: Scope | None = None
    # What a call of one of Bough's tools is carried out with instead of what its agent said.
    arguments: dict[str, Any] | None = None
    # Why it is denied, in words for the agent.
    because: str | None = None
    idempotency_key: str | None = None


class Approvals:
    """Lists and decides."""

    def __init__(self, store: Store, catalog: Catalog, calls: Calls) -> None:
        self._store = store
        self._catalog = catalog
        self._calls = calls

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
        if caller.kind == "session":
            raise Denied("approval_for_people", "Approvals are for people to answer, not for sessions.")
        if answer.arguments is not None:
            await self._calls.check((await self.get(approval_id)).id, answer.arguments)

        async def work(change: Change) -> Approval:
            approval = await find(change.tx, "approvals", approval_id, APPROVALS.get, Approval)
            if approval.status != "pending":
                raise _too_late(approval)
            decision, option = _chosen(approval, answer)
            by: dict[str, Any] = {"kind": caller.kind, "id": caller.id}
            if answer.because is not None:
                by["because"] = _because(answer.because, decision)
            decided = await conclude(change, approval, decision, by, option=option, arguments=answer.arguments)
            session = await records.session(change.tx, decided.session_id)
            if decided.tool_kind == interruption.LIMIT and decision != "deny":
                await budgets.let_go_on(change, session)
                for other in await change.tx.all(TREES.limits, Approval, root=session.root_session_id):
                    await conclude(change, other, decision, by)
            elif decided.tool_kind == interruption.TRUST and decision != "deny":
                # Asked anew at each start of the agent otherwise.
                await remember.remember(change, decided, session, answer.scope or "worktree")
            elif decision == "allow_always" and decided.tool_kind not in interruption.HOLDS_TURN:
                await remember.remember(change, decided, session, answer.scope or "session")
                await _answer_alike(change, self._catalog, decided, by)
            return decided

        scope = f"approvals.decide:{approval_id}"
        request: list[Any] = [answer.option_id, answer.decision, *([answer.scope] if answer.scope else [])]
        if answer.arguments is not None:
            request.append(answer.arguments)
        if answer.because is not None:
            request.append(answer.because)
        return await self._store.write_once(caller, scope, request, Approval, work)


def once(options: list[Option], decision: Decision) -> Option | None:
    """The agent's option for a decision, for this once; ids differ between agents, kinds do not. Of several that allow
    none is taken: they are answers to a question of another sort, and only a person can choose between them."""
    found = [option for option in options if option.kind == KIND_OF[decision]]
    return found[0] if len(found) == 1 or (found and decision == "deny") else None


def why_not_once(options: list[Option]) -> str:
    """Why there is no one option that allows this once."""
    if any(option.kind == KIND_OF["allow"] for option in options):
        return "the agent offers several ways to allow this; choose one of them"
    return "the agent offers no way to allow this once; it can only be denied"


async def conclude(
    change: Change,
    approval: Approval,
    decision: Decision,
    by: dict[str, Any],
    *,
    option: Option | None = None,
    status: ApprovalStatus | None = None,
    reason: str | None = None,
    arguments: dict[str, Any] | None = None,
) -> Approval:
    """Writes the answer to an open question down, with all that it means; its agent hears of it after commit. `option`
    is the agent's that was chosen, if one was."""
    option = option or once(options_of(approval), decision)
    decided = await change.tx.one(
        APPROVALS.decide,
        Approval,
        id=approval.id,
        status=status or ("denied" if decision == "deny" else "allowed"),
        option_id=option.option_id if option else None,
        decision=decision,
        decided_by=raw(by),
        reason=reason or approval.reason,
        now=change.now,
    )
    assert decided is not None
    change.approval("approval.patched", decided)
    if decided.tool_kind == CALL:
        await call_rows.decided(change, decided, by_person=by["kind"] == "person", arguments=arguments)
        return decided
    if decided.tool_kind in interruption.HOLDS_TURN:
        await interruption.decided(change, decided)
        return decided
    if decided.tool_kind == SWITCH and decision != "deny":
        await _leave_plan(change, decided)
    await _go_on(change, decided)
    change.tx.notify(CHANNEL_APPROVALS, decided.id)
    return decided


async def _leave_plan(change: Change, approval: Approval) -> None:
    """An agent that is let out of plan goes on in the mode that asks; ours is the same (P2)."""
    session = await records.session(change.tx, approval.session_id)
    if session.permission_mode == "plan":
        await records.update_session(change, session.id, permission_mode="default")


async def _go_on(change: Change, approval: Approval) -> None:
    """The turn runs again when its last question is answered."""
    if await change.tx.value(APPROVALS.pending_of_task, task_id=approval.task_id):
        return
    if await records.move_task(change, approval.task_id, "running") is not None:
        await call_rows.show_going_on(change, approval.session_id, approval.task_id)


async def _answer_alike(change: Change, catalog: Catalog, approval: Approval, by: dict[str, Any]) -> None:
    """*Always* answers what is asked at this moment too, as far as it reaches."""
    for other in await change.tx.all(APPROVALS.alike, Approval, key=approval.key):
        if other.tool_kind == CALL:
            await _allow_call_alike(change, approval, other)
            continue
        session = await records.session(change.tx, other.session_id)
        use = await evaluate.read_again(change.tx, catalog, session, other)
        verdict = await evaluate.judge(change.tx, session, use)
        if verdict.effect == "allow" and verdict.by == "choice" and once(options_of(other), "allow"):
            await conclude(change, other, "allow", by, reason=verdict.reason)


async def _allow_call_alike(change: Change, approval: Approval, other: Approval) -> None:
    """A call that waits is allowed with another by the same word; what raises rights has no key."""
    session = await records.session(change.tx, other.session_id)
    known = await change.tx.all(
        CHOICES.matching, Choice, key=other.key, agent=session.agent, session_id=session.id, cwd=session.cwd
    )
    if known:
        # Nobody has looked at this one: it is judged again before it is carried out.
        by = {"kind": "policy", "id": known[0].id}
        await conclude(change, other, "allow", by, reason=f"Allowed with {approval.title!r}.")


def options_of(approval: Approval) -> list[Option]:
    return msgspec.json.decode(approval.options, type=list[Option])


def _chosen(approval: Approval, answer: AnswerBody) -> tuple[Decision, Option | None]:
    """What was decided, and which option of the agent's says so: the one that was chosen if it is for this once. The
    agent itself is only ever told once; what is said to be always is remembered by us (P3)."""
    decision = answer.decision
    options = options_of(approval)
    chosen = None
    if (decision is None) == (answer.option_id is None):
        raise Invalid("bad_answer", "Answer with either optionId or decision.")
    if decision is None:
        chosen = next((option for option in options if option.option_id == answer.option_id), None)
        if chosen is None:
            offered = ", ".join(option.option_id for option in options)
            raise Invalid("unknown_option", f"There is no option {answer.option_id!r}; offered are: {offered}.")
        decision = _decision_of(chosen)
    if answer.scope is not None and decision != "allow_always":
        raise Invalid("bad_answer", "scope says how far allow_always reaches; any other decision is for this once.")
    if decision == "allow_always" and approval.tool_kind == SWITCH:
        raise Conflict("never_always", "A change of the agent's mode is asked about every time; allow it once.")
    if answer.arguments is not None and (approval.tool_kind != CALL or decision == "deny"):
        raise Invalid("bad_answer", "arguments change what a call of one of Bough's tools does when it is allowed.")
    if decision == "allow_always" and approval.tool_kind == CALL and approval.key is None:
        raise Conflict("never_always", "What goes beyond a session's own rights is asked every time; allow it once.")
    if chosen is None or chosen.kind not in ("allow_once", "reject_once"):
        chosen = once(options, decision)
    if chosen is None and decision != "deny":
        raise Conflict("no_once_option", f"It cannot simply be allowed: {why_not_once(options)}.")
    return decision, chosen


def _because(text: str, decision: Decision) -> str:
    if decision != "deny":
        raise Invalid("bad_answer", "because says why something is denied.")
    line = " ".join(text.split())
    if not line or len(line) > LONGEST_REASON or not line.isprintable():
        raise Invalid("bad_answer", f"because has between 1 and {LONGEST_REASON} characters, all printable.")
    return line


def _decision_of(option: Option) -> Decision:
    if option.kind.startswith("reject"):
        return "deny"
    return "allow_always" if option.kind == "allow_always" else "allow"


def _too_late(approval: Approval) -> Conflict:
    by: dict[str, str | None] = msgspec.json.decode(approval.decided_by or b"{}")
    who = {"person": "a person", "policy": "policy"}.get(by.get("kind") or "", "Bough itself")
    return Conflict(
        "approval_decided",
        f"Approval {approval.id} is {approval.status} already; {who} was first.",
        status=approval.status,
        decidedBy=by,
    )


def _parse_statuses(text: str | None) -> tuple[str, ...]:
    if not text:
        return STATUSES
    wanted = tuple(part.strip() for part in text.split(",") if part.strip())
    if not wanted or any(part not in STATUSES for part in wanted):
        raise Invalid("bad_status", f"Unknown approval status in {text!r}; known are {', '.join(STATUSES)}.")
    return wanted
