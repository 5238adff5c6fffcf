"""Stores a question as an approval, with its deadline. The kinds in `kinds` call this."""

from __future__ import annotations

from typing import Any

import msgspec

from bough.agents.acp.wire import AgentRequest, RequestId
from bough.core.approvals.deadlines import deadline
from bough.core.store import records
from bough.core.store.records import Decided
from bough.core.store.sql import APPROVALS
from bough.core.store.transactions import CHANNEL_APPROVALS, Change
from bough.model.approval import BESIDE_TURN_KINDS, HELD_TURN_KINDS, Approval, Option
from bough.model.message import notice
from bough.model.questions.form import QuestionForm
from bough.model.session import Session
from bough.model.task import Task
from bough.model.tool import ToolUse
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
    approval = await records.add_approval(
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
