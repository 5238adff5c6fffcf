"""Moves a call of Bough's own tools through its states: asked, allowed, denied, withdrawn, reported."""

from __future__ import annotations

from typing import Any

import msgspec

from bough.core.state.enqueue import enqueue
from bough.core.state.reports import callbacks
from bough.core.state.reports.quote_sessions import quoted
from bough.core.store import records
from bough.core.store.sql import APPROVALS, CALLS, TASKS, TREES
from bough.core.store.transactions import CHANNEL_APPROVALS, Change
from bough.errors import Invalid
from bough.model.approval import NETWORK_KIND, Approval
from bough.model.call import Call
from bough.model.message import raw
from bough.model.session import Session
from bough.model.task import Task
from bough.model.values.redaction import MASK
from bough.storage.backend import Tx

LONGEST_OUTCOME = 20_000
# The argument that holds what a call expects (`Claim.expected`). Callers cannot send it.
EXPECTED = "expected"
ENDED = ("done", "failed", "denied")


async def turn(tx: Tx, session: Session) -> Task | None:
    """Returns the turn in which a session's agent makes a call: the running one, or else the last one."""
    open_tasks = await tx.all(TASKS.open, Task, session_id=session.id)
    running = next((task for task in open_tasks if task.status not in ("queued", "steering", "interrupted")), None)
    return running or await tx.one(APPROVALS.last_sent, Task, session_id=session.id, task_id="")


async def show_waiting(change: Change, session: Session) -> None:
    """Shows the session as waiting for a person."""
    if session.activity == "running":
        await records.update_session(change, session.id, activity="waiting_permission")


async def show_running(change: Change, session_id: str, task_id: str | None) -> None:
    """Shows the session as running, unless its agent still waits for an approval of another call or a host."""
    session = await records.session(change.tx, session_id)
    task = await change.tx.one(TASKS.get, Task, id=task_id) if task_id else None
    if session.activity != "waiting_permission" or task is None or task.status != "running":
        return
    asked_hosts: Any = await change.tx.value(APPROVALS.pending_of_kind, session_id=session.id, kind=NETWORK_KIND)
    if not asked_hosts and not await change.tx.value(CALLS.held, session_id=session.id):
        await records.update_session(change, session.id, activity="running")


async def hand(change: Change, call: Call) -> Call:
    """Gives the caller a handle, and its turn continues; returns a call that has ended meanwhile as it is."""
    handed = await change.tx.one(CALLS.hand, Call, id=call.id, now=change.now)
    if handed is not None and handed.state == "asked" and handed.session_id is not None:
        await show_running(change, handed.session_id, handed.task_id)
    return handed or await change.tx.one(CALLS.get, Call, id=call.id) or call


async def take_up(change: Change, call: Call) -> Call:
    """Resumes waiting for a call that has not ended."""
    resumed = await change.tx.one(CALLS.take_up, Call, id=call.id, now=change.now)
    if resumed is not None and resumed.state == "asked" and resumed.session_id is not None:
        await show_waiting(change, await records.session(change.tx, resumed.session_id))
    return resumed or call


async def _unmasked(change: Change, call: Call, approval: Approval, arguments: dict[str, Any]) -> dict[str, Any]:
    """Returns a person's arguments for a call. Those that were left as they were shown keep their secret values;
    raises `Invalid` if another still holds a mask."""
    original: dict[str, Any] = msgspec.json.decode(call.arguments)
    shown: dict[str, Any] = (await change.redactor(approval.session_id)).value(original)
    for name, value in arguments.items():
        if value != shown.get(name) and shown.get(name) != original.get(name) and MASK in str(value):
            raise Invalid(
                "masked_argument",
                f"The argument {name} holds a secret value that is shown as {MASK}. Leave the argument as it is, or "
                "write it without the mask.",
            )
    expected = {EXPECTED: original[EXPECTED]} if EXPECTED in original else {}
    return {
        name: original[name] if name in original and value == shown.get(name) else value
        for name, value in arguments.items()
    } | expected


async def decided(
    change: Change, approval: Approval, *, by_person: bool, arguments: dict[str, Any] | None = None
) -> None:
    """Marks a call to be carried out, perhaps with other arguments, or denied; the executor is notified."""
    call = await change.tx.one(CALLS.of_approval, Call, approval_id=approval.id)
    if call is None or call.state != "asked":
        return
    allowed = approval.decision != "deny"
    await change.tx.one(
        CALLS.decide,
        Call,
        id=call.id,
        state="acting" if allowed else "denied",
        granted=allowed and by_person,
        arguments=call.arguments if arguments is None else raw(await _unmasked(change, call, approval, arguments)),
        outcome=None if allowed else raw(denial(approval, by_person)),
        now=change.now,
    )
    if by_person:
        session = await records.session(change.tx, approval.session_id)
        await change.tx.run(TREES.attend, root=session.root_session_id, now=change.now)
    await show_running(change, approval.session_id, call.task_id)
    change.tx.notify(CHANNEL_APPROVALS, approval.id)


def denial(approval: Approval, by_person: bool) -> dict[str, Any]:
    sentence = "A person has denied this" if by_person else "This was denied"
    reason = because(approval) if by_person else approval.reason
    why = f": {reason.rstrip('.')}." if reason else "."
    return {
        "code": "call_denied",
        "message": f"{sentence}{why} Do not try it again in another way; continue without it.",
    }


def because(approval: Approval) -> str | None:
    """Returns the reason that a person gave for a denial."""
    return msgspec.json.decode(approval.decided_by).get("because") if approval.decided_by is not None else None


async def withdraw(change: Change, session_id: str, why: str) -> None:
    """Withdraws the open questions about a session's calls, because its turn was stopped or it has ended."""
    for approval in await change.tx.all(CALLS.asked_by, Approval, session_id=session_id):
        withdrawn = await change.tx.one(
            APPROVALS.decide,
            Approval,
            id=approval.id,
            status="cancelled",
            option_id=None,
            decision=None,
            decided_by=raw({"kind": "system", "id": None}),
            reason=approval.reason,
            answer=None,
            now=change.now,
        )
        call = await change.tx.one(CALLS.of_approval, Call, approval_id=approval.id)
        assert withdrawn is not None
        assert call is not None
        change.approval("approval.patched", withdrawn)
        outcome = raw({"code": "call_withdrawn", "message": why})
        await change.tx.one(
            CALLS.decide,
            Call,
            id=call.id,
            state="denied",
            granted=False,
            arguments=call.arguments,
            outcome=outcome,
            now=change.now,
        )
        # No report follows: whoever withdrew it knows.
        await change.tx.run(CALLS.answered, id=call.id, now=change.now)
        change.tx.notify(CHANNEL_APPROVALS, approval.id)


async def report_outcome(change: Change, call: Call) -> None:
    """Queues the outcome of a call as a report to the session that made it, or shows it if the session takes none."""
    fresh = await change.tx.one(CALLS.get, Call, id=call.id)
    if fresh is None or fresh.session_id is None or fresh.told_task_id is not None or fresh.answered_at is not None:
        return
    session = await records.session(change.tx, fresh.session_id)
    secrets = await change.redactor(session.id)
    outcome = secrets.json(fresh.outcome) if fresh.outcome is not None else None
    text = outcome_text(msgspec.structs.replace(fresh, title=secrets.text(fresh.title), outcome=outcome))
    shown = raw(
        {"type": "outcome", "text": text, "tool": fresh.tool, "callId": fresh.id, "approvalId": fresh.approval_id}
        | {"status": fresh.state}
    )
    task = None
    if await callbacks.refuses(change, session) is None:
        if session.status != "active":
            session = await callbacks.reopen_unasked(change, session)
        task = await enqueue(change, session, text, source="callback", from_session=None, content=shown)
    else:
        await records.add_message(change, session.id, None, "system", shown)
    await change.tx.one(CALLS.tell, Call, id=fresh.id, task_id=task.id if task else "", now=change.now)


def outcome_text(call: Call) -> str:
    """Returns the outcome of a call in words, with its result quoted."""
    body = "" if call.outcome is None else bytes(call.outcome).decode()[:LONGEST_OUTCOME]
    how = {"done": "was allowed and is done", "failed": "was allowed but failed", "denied": "was denied"}[call.state]
    return f"Your call of {call.tool} ({call.id}) {how}: {call.title}\n{quoted(body)}"


def outcome(call: Call) -> dict[str, Any]:
    return msgspec.json.decode(call.outcome) if call.outcome is not None else {}
