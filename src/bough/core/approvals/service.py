"""Lists approvals and decides them. The first answer wins; `expiry` answers for people who do not."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from bough.agents.catalog import Catalog
from bough.core.approvals.base import Arguments, By
from bough.core.approvals.kinds import kind_of
from bough.core.approvals.options import decision_of, once, options_of, why_not_once
from bough.core.approvals.questions import checked_answer
from bough.core.policy.choices import remember
from bough.core.store import records
from bough.core.store.idempotency import RecordScope
from bough.core.store.paging import Page, read_page
from bough.core.store.short_ids import find, find_id
from bough.core.store.sql import APPROVALS, QUESTIONS
from bough.core.store.transactions import Change, Store
from bough.errors import Conflict, Denied, Invalid
from bough.model.approval import QUESTION_KIND, Approval, ApprovalStatus, Decision, Option
from bough.model.message import raw
from bough.model.questions.form import QuestionAction, StoredQuestion
from bough.model.rule import Scope
from bough.model.session import Caller
from bough.storage.backend import Tx

STATUSES = ("pending", "allowed", "denied", "cancelled", "expired")
LONGEST_REASON = 2000
DECIDERS = {"person": "a person", "policy": "policy", "agent": "the agent"}

CheckArguments = Callable[[str, Arguments], Awaitable[None]]
"""Refuses arguments with which the call that an approval is about could not be carried out."""


class AnswerBody(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """A person's answer: one of the agent's options, a plain decision, or the answer to a question."""

    option_id: str | None = None
    decision: Decision | None = None
    # The answer to a question: its values go with `accept`, by the names of its fields.
    action: QuestionAction | None = None
    content: dict[str, Any] | None = None
    # How far `allow_always` reaches.
    scope: Scope | None = None
    # Replaces the arguments of a call of one of Bough's tools.
    arguments: dict[str, Any] | None = None
    # Why it is denied, for the agent.
    because: str | None = None
    idempotency_key: str | None = None


class Approvals:
    """Lists and decides approvals."""

    def __init__(self, store: Store, catalog: Catalog, check_arguments: CheckArguments) -> None:
        self._store = store
        self._catalog = catalog
        self._check_arguments = check_arguments

    async def get(self, approval_id: str) -> Approval:
        return await self._store.read(lambda tx: find(tx, "approvals", approval_id, APPROVALS.get, Approval))

    async def list(self, status: str | None, session_id: str | None, limit: int, offset: int) -> Page[Approval]:
        """Returns a page of approvals, oldest first."""
        statuses = _parse_statuses(status)

        async def work(tx: Tx) -> Page[Approval]:
            where = "status IN :statuses"
            params: dict[str, Any] = {"statuses": statuses}
            if session_id is not None:
                where += " AND session_id = :session_id"
                params["session_id"] = await find_id(tx, "sessions", session_id)
            page, count = APPROVALS.page.with_(where=where), APPROVALS.count.with_(where=where)
            return await read_page(tx, page, count, Approval, limit, offset, **params)

        return await self._store.read(work)

    async def decide(self, caller: Caller, approval_id: str, answer: AnswerBody) -> Approval:
        """Takes a person's answer. Raises `Conflict` if the approval is decided already."""
        if caller.kind == "session":
            raise Denied("approval_for_people", "Only people can answer approvals.")
        caller.require("operator", "answer approvals")
        if answer.scope == "everywhere":
            caller.require("admin", "allow something everywhere")
        if answer.arguments is not None:
            await self._check_arguments((await self.get(approval_id)).id, answer.arguments)
        content = await self._check_content(approval_id, answer)

        async def work(change: Change) -> Approval:
            approval = await find(change.tx, "approvals", approval_id, APPROVALS.get, Approval)
            if approval.status != "pending":
                raise _too_late(approval)
            decision, option = _chosen(approval, answer)
            by: By = caller.record()
            if answer.because is not None:
                by["because"] = _because(answer.because, decision)
            if decision == "allow_always":
                by["scope"] = answer.scope or kind_of(approval).remembered(
                    msgspec.structs.replace(approval, decision=decision)
                )
            decided = await conclude(
                change, approval, decision, by, option=option, arguments=answer.arguments, content=content
            )
            _audit(change, caller, decided, scope=answer.scope)
            for other in await self._apply_beyond(change, decided, by, answer.scope):
                _audit(change, caller, other, alongWith=decided.id)
            return decided

        request: list[Any] = [answer.option_id, answer.decision, *([answer.scope] if answer.scope else [])]
        if answer.arguments is not None:
            request.append(answer.arguments)
        if answer.because is not None:
            request.append(answer.because)
        if answer.action is not None:
            request += [answer.action, answer.content]
        scope = RecordScope("approvals.decide", "approvals", approval_id)
        return await self._store.write_once(caller, scope, request, Approval, work)

    async def _check_content(self, approval_id: str, answer: AnswerBody) -> Arguments | None:
        """Returns the values of an accepted question for its agent; None for any other answer. This takes place outside
        of the transaction, because checking a text may take long; a question never changes."""
        accepts = (answer.action or answer.option_id) == "accept"
        if answer.content is not None and not accepts:
            raise Invalid("bad_answer", "content holds the values of a question; omit it unless you accept.")
        if not accepts:
            return None

        async def read(tx: Tx) -> tuple[Approval, StoredQuestion | None]:
            approval = await find(tx, "approvals", approval_id, APPROVALS.get, Approval)
            return approval, await tx.one(QUESTIONS.get, StoredQuestion, approval_id=approval.id)

        approval, question = await self._store.read(read)
        # Whatever is no question or is decided is refused in the transaction.
        if approval.tool_kind != QUESTION_KIND or approval.status != "pending" or question is None:
            return None
        return await checked_answer(question, approval, answer.content or {})

    async def _apply_beyond(self, change: Change, approval: Approval, by: By, scope: Scope | None) -> list[Approval]:
        """Applies a person's answer beyond the approval itself: remembers it, and decides others with it, which it
        returns."""
        kind = kind_of(approval)
        decided: list[Approval] = []
        remembered = kind.remembered(approval)
        if remembered is not None:
            session = await records.session(change.tx, approval.session_id)
            await remember(change, approval, session, scope or remembered)
            if approval.decision == "allow_always":
                decided += await self._answer_covered(change, approval, by)
        for other in await kind.also_decided(change, approval):
            decided.append(await conclude(change, other, approval.decision or "deny", by))
        return decided

    async def _answer_covered(self, change: Change, approval: Approval, by: By) -> list[Approval]:
        """Applies an "always" to the open approvals that it covers, and returns them."""
        decided: list[Approval] = []
        for other in await change.tx.all(APPROVALS.alike, Approval, key=approval.key):
            conclusion = await kind_of(other).covered(change, self._catalog, other, approval, by)
            if conclusion is not None:
                decided.append(
                    await conclude(change, other, conclusion.decision, conclusion.by, reason=conclusion.reason)
                )
        return decided


async def conclude(
    change: Change,
    approval: Approval,
    decision: Decision,
    by: By,
    *,
    option: Option | None = None,
    status: ApprovalStatus | None = None,
    reason: str | None = None,
    arguments: Arguments | None = None,
    content: Arguments | None = None,
) -> Approval:
    """Writes down the answer to an open approval and does what its kind says. `option` is the agent's option that was
    chosen, if one was; `content` answers a question."""
    option = option or once(options_of(approval), decision)
    answer = await kind_of(approval).record_answer(change, approval, option, content)
    decided = await change.tx.one(
        APPROVALS.decide,
        Approval,
        id=approval.id,
        status=status or ("denied" if decision == "deny" else "allowed"),
        option_id=option.option_id if option else None,
        decision=decision,
        decided_by=raw(by),
        reason=reason or approval.reason,
        answer=answer,
        now=change.now,
    )
    assert decided is not None
    change.approval("approval.patched", decided)
    await kind_of(decided).decide(change, decided, by, arguments)
    return decided


def _audit(change: Change, caller: Caller, approval: Approval, **details: Any) -> None:
    change.audit(
        caller,
        "approval.decided",
        session_id=approval.session_id,
        subject_id=approval.id,
        decision=approval.decision,
        tool=approval.tool_kind,
        **details,
    )


def _chosen(approval: Approval, answer: AnswerBody) -> tuple[Decision, Option | None]:
    """Returns the decision, and the agent's option that carries it. The agent is only ever answered for this one time:
    Bough itself remembers an "always"."""
    decision = answer.decision
    options = options_of(approval)
    chosen = None
    is_question = approval.tool_kind == QUESTION_KIND
    if sum(part is not None for part in (decision, answer.option_id, answer.action)) != 1:
        raise Invalid("bad_answer", "Answer with one of optionId, decision and, for a question, action.")
    if answer.action is not None and not is_question:
        raise Invalid("bad_answer", "action answers a question; answer this with decision or optionId.")
    if is_question and decision in ("allow", "allow_always"):
        raise Invalid("bad_answer", 'This is a question: answer with {"action": "accept", "content": {…}}.')
    if decision is None:
        option_id = answer.option_id if answer.action is None else answer.action
        chosen = next((option for option in options if option.option_id == option_id), None)
        if chosen is None:
            offered = ", ".join(option.option_id for option in options)
            raise Invalid("unknown_option", f"There is no option {option_id!r}; offered are: {offered}.")
        decision = decision_of(chosen)
    if answer.scope is not None and decision != "allow_always":
        raise Invalid("bad_answer", "scope says how far allow_always reaches; omit it for any other decision.")
    kind_of(approval).check(approval, decision, answer.arguments)
    if chosen is None or chosen.kind not in ("allow_once", "reject_once"):
        chosen = once(options, decision)
    if chosen is None and decision != "deny":
        raise Conflict("no_once_option", f"It cannot simply be allowed: {why_not_once(options)}.")
    return decision, chosen


def _because(text: str, decision: Decision) -> str:
    if decision != "deny":
        raise Invalid("bad_answer", "because gives the reason for a denial; omit it when you allow.")
    line = " ".join(text.split())
    if not line or len(line) > LONGEST_REASON or not line.isprintable():
        raise Invalid("bad_answer", f"because must have 1 to {LONGEST_REASON} characters, all printable.")
    return line


def _too_late(approval: Approval) -> Conflict:
    by: dict[str, str | None] = msgspec.json.decode(approval.decided_by or b"{}")
    decider = by.get("user") or DECIDERS.get(by.get("kind") or "", "Bough itself")
    return Conflict(
        "approval_decided",
        f"Approval {approval.id} is {approval.status} already; {decider} was first.",
        status=approval.status,
        decidedBy=by,
    )


def _parse_statuses(text: str | None) -> tuple[str, ...]:
    if not text:
        return STATUSES
    statuses = tuple(part.strip() for part in text.split(",") if part.strip())
    if not statuses or any(status not in STATUSES for status in statuses):
        raise Invalid("bad_status", f"Unknown approval status in {text!r}. Use one of: {', '.join(STATUSES)}.")
    return statuses
