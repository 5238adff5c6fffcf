"""Stores a question as an approval, with its deadline. The kinds in `kinds` call this."""

from __future__ import annotations

from typing import Any

import msgspec

from bough.agents.acp.wire import AgentRequest, RequestId
from bough.core.approvals.deadlines import deadline
from bough.core.state.calls import tool_call
from bough.core.store import records
from bough.core.store.sql import APPROVALS
from bough.core.store.transactions import CHANNEL_APPROVALS, Change
from bough.model.approval import BESIDE_TURN_KINDS, HELD_TURN_KINDS, Approval, ApprovalStatus, Decision, Option
from bough.model.message import notice, raw
from bough.model.questions.form import QuestionForm
from bough.model.session import Session
from bough.model.task import Task
from bough.model.tool import ToolUse
from bough.model.values.ids import new_id
from bough.model.values.visible import visible, visible_call
from bough.settings import Settings
from bough.storage.backend import Tx


class Question(msgspec.Struct):
    """A permission request of an agent: the line it came on, the tool call and the options it offers."""

    request: AgentRequest
    number: int
    tool_call: dict[str, Any]
    options: list[Option]


class Elicitation(msgspec.Struct):
    """A question of an agent to a person: the line it came on and its form."""

    request: AgentRequest
    number: int
    form: QuestionForm


class ToolUseQuestion(msgspec.Struct):
    """A question with the tool use that it is about and the folded tool call."""

    question: Question
    use: ToolUse
    body: dict[str, Any]


class Decided(msgspec.Struct):
    """Holds a decision: its status, the agent's option that carries it, and who made it."""

    status: ApprovalStatus
    decision: Decision
    option_id: str | None
    by: dict[str, Any]


async def write(
    change: Change,
    session: Session,
    task: Task,
    settings: Settings,
    *,
    kind: str,
    title: str,
    tool_call: dict[str, Any],
    options: list[Option],
    request_id: RequestId | None = None,
    reason: str | None = None,
    key: str | None = None,
    deny_on_expiry: bool = False,
    decided: Decided | None = None,
) -> Approval:
    """Stores an approval. One that a person must decide gets the session's deadline; `deny_on_expiry` if it must never
    be allowed for a person who does not answer."""
    expires_at, on_expiry = deadline(session, settings) if decided is None else (None, None)
    approval = await add(
        change,
        task,
        title=title,
        tool_kind=kind,
        tool_call=tool_call,
        options=options,
        request_id=request_id,
        reason=reason,
        key=key,
        expires_at=expires_at,
        on_expiry="deny" if on_expiry and deny_on_expiry else on_expiry,
        decided=decided,
    )
    if expires_at is not None:
        change.tx.notify(CHANNEL_APPROVALS, approval.id)
    return approval


async def add(
    change: Change,
    asking: Task,
    *,
    title: str,
    tool_kind: str,
    tool_call: dict[str, Any],
    options: list[Option],
    request_id: RequestId | None,
    reason: str | None = None,
    key: str | None = None,
    expires_at: str | None = None,
    on_expiry: str | None = None,
    decided: Decided | None = None,
) -> Approval:
    """Adds an approval: a pending question, or a decision that was made without a person. Whatever a person may read
    shows hidden characters as escapes and no secret value, at every door."""
    secrets = await change.redactor(asking.session_id)
    visible_tool_call = visible_call(tool_call)
    shown_call: dict[str, Any] = secrets.value(visible_tool_call)
    if shown_call != visible_tool_call:
        # What was asked cannot be read from the row anymore, so only a person may allow it.
        shown_call["masked"] = True
    approval = await change.tx.one(
        APPROVALS.add,
        Approval,
        id=new_id(),
        session_id=asking.session_id,
        task_id=asking.id,
        attempt=asking.attempt,
        title=secrets.text(visible(title)),
        tool_kind=tool_kind,
        tool_call=raw(shown_call),
        options=raw([msgspec.structs.replace(option, name=secrets.text(visible(option.name))) for option in options]),
        request_id=raw(request_id),
        reason=secrets.text(visible(reason)) if reason is not None else None,
        key=secrets.text(key) if key is not None else None,
        expires_at=expires_at,
        on_expiry=on_expiry,
        status=decided.status if decided else "pending",
        decision=decided.decision if decided else None,
        option_id=decided.option_id if decided else None,
        decided_by=raw(decided.by) if decided else None,
        decided_at=change.now if decided else None,
        now=change.now,
    )
    assert approval is not None
    change.approval("approval.created", approval)
    return approval


async def continue_turn(change: Change, approval: Approval) -> None:
    """Lets the turn run again when its last question is answered; the agent hears of the answer after commit."""
    pending = await records.pending_approvals(change.tx, approval.task_id)
    if not pending and await records.move_task(change, approval.task_id, "running"):
        await tool_call.show_running(change, approval.session_id, approval.task_id)
    change.tx.notify(CHANNEL_APPROVALS, approval.id)


async def show_denial(change: Change, approval: Approval) -> None:
    """Shows a denial that no person chose in the transcript."""
    end = "" if approval.title.endswith(("?", ".")) else "."
    text = f"Denied by policy: {approval.title}{end} {approval.reason}"
    await records.add_message(change, approval.session_id, approval.task_id, "system", notice(text))


async def of_attempt(tx: Tx, task_id: str, attempt: int) -> list[Approval]:
    """Returns the approvals that one agent process requested during an attempt, in the order of its requests."""
    other_kinds = (*HELD_TURN_KINDS, *BESIDE_TURN_KINDS)
    return await tx.all(APPROVALS.of_attempt, Approval, task_id=task_id, attempt=attempt, other_kinds=other_kinds)


async def denial_notes(tx: Tx, task: Task) -> str:
    """Returns what the agent is told with its next prompt about denials since the last one. The answer to a permission
    request has no room for a reason."""
    if task.sent_before:
        last, attempt = task.id, task.sent_before
    else:
        before = await tx.one(APPROVALS.last_sent, Task, session_id=task.session_id, task_id=task.id)
        if before is None:
            return ""
        last, attempt = before.id, before.sent_attempt
    approvals = await of_attempt(tx, last, attempt)
    denied = [
        (approval, msgspec.json.decode(approval.decided_by or b"{}"))
        for approval in approvals
        if approval.decision == "deny"
    ]
    policy = [f"- {approval.title}: {approval.reason}" for approval, by in denied if by.get("kind") == "policy"]
    people = [f"- {approval.title}: {by['because']}" for approval, by in denied if by.get("because")]
    if policy:
        policy.insert(0, "Policy denied these earlier requests, without asking a person:")
    if people:
        people.insert(0, "A person denied these earlier requests and gave the reason:")
    return "\n".join([*policy, *people])
