"""Moves a turn through its rows: claimed, sent, ended. Each step is one transaction."""

from __future__ import annotations

import asyncio
from typing import Any, Literal, cast

import msgspec

from bough.agents.acp.answers import PromptResult
from bough.agents.acp.types import Block
from bough.agents.catalog.entry import UsageMeaning
from bough.core.checkpoints.rows import FolderState, meet, record
from bough.core.state import session_lifecycle, steering, task_ended
from bough.core.state.context_files import context_blocks, context_files
from bough.core.state.limits.cost import grown_cost
from bough.core.state.reports import callbacks
from bough.core.store import records
from bough.core.store.session_secrets import redacted_error
from bough.core.store.sql import APPROVALS, LIMITS, TASKS, TREES
from bough.core.store.transactions import Change, Store
from bough.core.store.until_available import until_available
from bough.errors import BoughError, Busy
from bough.model import message
from bough.model.approval import BESIDE_TURN_KINDS
from bough.model.message import raw
from bough.model.session import PermissionMode, Session
from bough.model.task import EARLY_ENDS, Task, TaskStatus
from bough.storage.backend import Tx

# How much of an agent's last stderr output people are shown.
LONGEST_STDERR = 4000
GIVEN_UP = (
    "The agent has died too often in the last minutes. The session has ended, and its queued prompts are cancelled."
)
QUEUE_PAUSED = "The queue behind it is paused until the next prompt or a resume."
HELD_BACK = f"The prompt was not sent. {QUEUE_PAUSED}"
# Errors that the next prompt would meet too, although the agent took the prompt.
FAILS_AGAIN = ("agent_login", "transcript_full")


CalledOff = Literal["stopped", "denied"]
DENIED = "The agent ended its turn, because what it asked for was denied."


class Claimed(msgspec.Struct):
    """A task that this server runs now, and its session at that time."""

    task: Task
    session: Session


class TurnOutcome(msgspec.Struct):
    """The way a turn ended."""

    status: TaskStatus
    stop_reason: str | None = None
    error: BoughError | None = None
    usage: dict[str, Any] | None = None
    # The agent fails again and again, so the session ends with the turn (T3).
    hopeless: bool = False
    # Whether the agent took each prompt that was sent into the turn, by its task, as far as it answered.
    steered: dict[str, bool] = {}


async def claim(store: Store, session_id: str) -> Claimed | None:
    """Claims the head of the queue. Its prompt enters the conversation with its first attempt."""

    async def work(change: Change) -> Claimed | None:
        task = await change.tx.one(TASKS.claim, Task, session_id=session_id, now=change.now)
        if task is None:
            return None
        change.task("task.patched", task)
        await change.tx.run(LIMITS.note_resume, task_id=task.id, now=change.now)
        if task.attempt == 1 or (task.steers_task_id is not None and not task.sent_attempt):
            await records.enter_transcript(change, task)
        if task.attempt == 1:
            task = await callbacks.join_waiting(change, task)
        session = await records.update_session(change, session_id, activity="running", active_at=change.now)
        return Claimed(task, session)

    return await store.write(work)


async def sent(store: Store, task: Task, mode: PermissionMode, taken: FolderState, notices: list[str]) -> Task | None:
    """Records that this attempt is about to be sent, the mode that its agent was set to, and what is left out. The turn
    keeps that mode, whatever becomes of the session's (P2).

    Returns None if the turn was stopped meanwhile. Raises `Busy` if the session's mode was changed meanwhile.
    """

    async def work(change: Change) -> Task | None:
        if await records.move_task(change, task.id, "running") is None:
            known = await records.task(change.tx, task.id)
            # Stored before, though the reply was lost: nothing has left yet.
            return known if known.status == "running" and known.sent_attempt == task.attempt else None
        session = await records.session(change.tx, task.session_id)
        if session.permission_mode != mode:
            # People may have lowered its rights. The agent has the old ones, so the next attempt sets it again.
            raise Busy("settings_changing", "The session's mode changed just before the prompt was sent.")
        columns: dict[str, Any] = {
            "sent_attempt": task.attempt,
            "sent_before": task.sent_attempt,
            "permission_mode": mode,
        }
        if task.sent_attempt == 0:
            columns["cost_before"] = session.cost
            columns["git_before"] = await _shown_git(change, task, taken)
            await record(change, taken)
        sent_task = await records.update_task(change, task.id, **columns)
        await meet(change, task, session.cwd)
        for text in notices:
            await records.add_message(change, task.session_id, task.id, "system", message.notice(text))
        await callbacks.update_delivery(change, task, "delivered")
        await change.tx.run(TREES.tell_asides, session_id=session.id, task_id=task.id)
        files = context_files(session)
        if files != session.metadata.linked_paths:
            await records.update_session(change, session.id, linked_files=raw(files))
        return sent_task

    return await until_available(lambda: store.write(work), "a prompt", task=task.id)


async def add_notices(store: Store, task: Task, texts: list[str]) -> None:
    """Adds notices about how an agent started to the transcript, each once per session."""
    if not texts:
        return

    async def work(change: Change) -> None:
        session = await records.session(change.tx, task.session_id)
        known = session.metadata.told_texts
        fresh = [text for text in texts if text not in known]
        for text in fresh:
            await records.add_message(change, task.session_id, task.id, "system", message.notice(text))
        if fresh:
            await records.update_session(change, session.id, told_notices=raw([*known, *fresh]))

    await store.write(work)


async def new_context(session: Session, *, embed: bool) -> list[Block]:
    """Returns the context files that were added after the conversation started."""
    added = [file for file in context_files(session) if file not in session.metadata.linked_paths]
    return await asyncio.to_thread(context_blocks, session, added, embed=embed) if added else []


async def called_off(tx: Tx, task: Task) -> CalledOff | None:
    """Returns why an agent gave up a turn: it was stopped, or something was denied, which makes some agents end the
    turn."""
    known = await records.task(tx, task.id)
    if known.status == "stopping":
        return "stopped"
    denials = await tx.value(APPROVALS.denied, task_id=task.id, attempt=task.attempt, other_kinds=BESIDE_TURN_KINDS)
    return "denied" if denials else None


def succeeded(result: PromptResult, counts: UsageMeaning, why: CalledOff | None = None) -> TurnOutcome:
    """Builds the outcome from the agent's answer; `counts` says what its tokens count."""
    usage = None
    if result.usage is not None and counts != "none":
        usage = {**msgspec.to_builtins(result.usage), "source": "prompt_response", "counts": counts}
    if why == "denied":
        return TurnOutcome("completed", "denied", usage=usage)
    return TurnOutcome("cancelled" if why == "stopped" else "completed", result.stop_reason, usage=usage)


async def _shown_git(change: Change, task: Task, taken: FolderState | None) -> msgspec.Raw | None:
    """Returns the git state to store. Agents choose the names of branches, which may be secret values."""
    if taken is None or taken.git is None:
        return None
    return (await change.redactor(task.session_id)).json(raw(taken.git))


async def finish(
    change: Change, task: Task, outcome: TurnOutcome, tools: int, taken: FolderState | None
) -> Task | None:
    """Ends a task in the transaction that stores the end of its transcript. Does nothing if the task has ended, or has
    another attempt by now."""
    known = await records.task(change.tx, task.id)
    if known.attempt != task.attempt:
        return None
    session = await records.session(change.tx, task.session_id)
    error, status, stop_reason = outcome.error, outcome.status, outcome.stop_reason
    error = redacted_error(error, await change.redactor(session.id)) if error else None
    # A turn that is being stopped has been stopped, whatever the agent answers and however it fails.
    if known.status == "stopping" and status != "cancelled":
        status, error, stop_reason = "cancelled", None, None
    ended = await records.end_task(
        change,
        task.id,
        status,
        stop_reason=stop_reason or ("stopped" if status == "cancelled" else None),
        error=raw({"code": error.code, "message": error.message}) if error else None,
        usage=raw(await _of_turn(change.tx, task, outcome.usage)) if outcome.usage else None,
        cost=grown_cost(session, known),
        git_after=await _shown_git(change, task, taken),
        tool_use_count=tools,
    )
    if ended is None:
        return None
    await steering.turn_over(change, ended, outcome.steered)
    if taken is not None:
        await record(change, taken)
    if known.sent_attempt:
        await meet(change, task, session.cwd)
    await session_lifecycle.withdraw_approvals(change, task.id)
    unsent = status == "failed" and known.sent_attempt != known.attempt
    pauses = unsent or (error is not None and error.code in FAILS_AGAIN)
    if error is not None:
        what_next = GIVEN_UP if outcome.hopeless else HELD_BACK if unsent else QUEUE_PAUSED if pauses else ""
        await records.add_message(change, task.session_id, task.id, "system", failure(error, what_next))
    elif status == "cancelled" and session.status == "active":
        text = message.cancelled("The turn was stopped.", "stopped")
        await records.add_message(change, task.session_id, task.id, "system", text)
    elif stop_reason == "denied":
        await records.add_message(change, task.session_id, task.id, "system", message.notice(DENIED))
    elif stop_reason in EARLY_ENDS:
        early = message.notice(EARLY_ENDS[stop_reason], stop_reason=stop_reason)
        await records.add_message(change, task.session_id, task.id, "system", early)
    await task_ended.ended(change, ended)
    # The next prompt would fail like this one, so the queue waits for a person.
    session = await records.update_session(
        change,
        task.session_id,
        activity="idle",
        active_at=change.now,
        queue_paused=session.queue_paused or pauses,
        pause_reason=error.message if pauses and error is not None else session.metadata.pause_reason,
    )
    if outcome.hopeless and error is not None and session.status == "active":
        await session_lifecycle.end(change, session, "error", error.code)
    elif session.status == "active":
        await session_lifecycle.turn_over(change, session)
    change.wake()
    return ended


def failure(error: BoughError, what_next: str = "") -> msgspec.Raw:
    """Builds the transcript message of an error, with the agent's last output and the consequences."""
    details: dict[str, Any] = {}
    stderr = str(error.details.get("stderr") or "").strip()
    if stderr:
        details["stderr"] = stderr[-LONGEST_STDERR:]
    sentence = error.message if error.message.endswith((".", "!", "?")) else f"{error.message}."
    return message.error(error.code, f"{sentence} {what_next}".rstrip(), **details)


async def _of_turn(tx: Tx, task: Task, usage: dict[str, Any]) -> dict[str, Any]:
    """Returns this turn's tokens, also for an agent that counts over the whole conversation."""
    if usage["counts"] != "session":
        return usage
    before: bytes | None = await tx.value(TASKS.last_usage, session_id=task.session_id, task_id=task.id)
    session = await records.session(tx, task.session_id)
    if before is None and session.metadata.fork_history == "native":
        # A copied conversation continues the count of its origin.
        origin, point = session.forked_from_session_id, session.branch_task_id
        before = await tx.value(TREES.usage_before, session_id=origin, task_id=point)
    known: dict[str, Any] = cast("dict[str, Any]", msgspec.json.decode(before)).get("session", {}) if before else {}
    total = {name: value for name, value in usage.items() if isinstance(value, int)}
    # Less than before: the agent has restarted its count.
    begins = any(value < known.get(name, 0) for name, value in total.items())
    grown = {name: value - (0 if begins else known.get(name, 0)) for name, value in total.items()}
    return usage | grown | {"session": total}
