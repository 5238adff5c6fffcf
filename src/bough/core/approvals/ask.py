"""Asking: a question of an agent is written down for a person, or its answer if policy has one; and what must be said
about that later. Whether to ask is `policy`, answering `approvals`."""

from __future__ import annotations

from typing import Any

import msgspec

from bough.core.approvals.service import Question, once
from bough.core.policy import tool_use
from bough.core.policy.deadlines import deadline
from bough.core.policy.decide import Verdict
from bough.core.store import records
from bough.core.store.records import Decided
from bough.core.store.sql import APPROVALS
from bough.core.store.transactions import CHANNEL_APPROVALS, Change
from bough.model.approval import Approval
from bough.model.message import notice
from bough.model.session import Session
from bough.model.task import Task
from bough.model.tool import ToolUse
from bough.settings import Settings
from bough.storage.backend import Tx


class Asked(msgspec.Struct):
    """A question, the use of a tool that it is about, and the tool call as it is folded."""

    question: Question
    use: ToolUse
    body: dict[str, Any]


async def ask(
    change: Change, session: Session, task: Task, asked: Asked, verdict: Verdict, settings: Settings
) -> Approval:
    """Writes a question down, and the turn waits from now on; or its answer, if policy has one."""
    use, question = asked.use, asked.question
    expires_at, on_expiry = deadline(session, settings) if verdict.effect == "ask" else (None, None)
    approval = await records.add_approval(
        change,
        task,
        title=use.title,
        tool_kind=use.kind,
        tool_call=tool_use.call(asked.body),
        options=question.options,
        request_id=question.request.id,
        reason=verdict.reason,
        key=use.key,
        expires_at=expires_at,
        on_expiry=on_expiry,
        decided=_decided(question, verdict),
    )
    if approval.status == "denied":
        await tell(change, approval)
    elif approval.status == "pending":
        if await records.move_task(change, task.id, "waiting_permission") is not None:
            await records.update_session(change, session.id, activity="waiting_permission")
        if expires_at is not None:
            change.tx.notify(CHANNEL_APPROVALS, approval.id)
    return approval


def _decided(question: Question, verdict: Verdict) -> Decided | None:
    if verdict.effect == "ask":
        return None
    option = once(question.options, "allow" if verdict.effect == "allow" else "deny")
    status = "allowed" if verdict.effect == "allow" else "denied"
    by = {"kind": "policy", "id": verdict.id}
    return Decided(status, verdict.effect, option.option_id if option else None, by)


async def tell(change: Change, approval: Approval) -> None:
    """A denial that nobody chose is seen in the transcript."""
    text = f"Denied by policy: {approval.title}. {approval.reason}"
    await records.add_message(change, approval.session_id, approval.task_id, "system", notice(text))


async def notes(tx: Tx, task: Task) -> str:
    """What an agent must be told with its next prompt: why policy or people denied it something since the last one,
    since an answer to a question has no room for a reason."""
    if task.sent_attempt:
        last, attempt = task.id, task.sent_attempt
    else:
        before = await tx.one(APPROVALS.last_sent, Task, session_id=task.session_id, task_id=task.id)
        if before is None:
            return ""
        last, attempt = before.id, before.sent_attempt
    asked = await tx.all(APPROVALS.of_attempt, Approval, task_id=last, attempt=attempt)
    denied = [(one, msgspec.json.decode(one.decided_by or b"{}")) for one in asked if one.decision == "deny"]
    policy = [f"- {one.title}: {one.reason}" for one, by in denied if by.get("kind") == "policy"]
    people = [f"- {one.title}: {by['because']}" for one, by in denied if by.get("because")]
    if policy:
        policy.insert(0, "What you asked to do before was denied by policy, without a person being asked:")
    if people:
        people.insert(0, "What you asked to do before was denied by a person, who said why:")
    return "\n".join([*policy, *people])
