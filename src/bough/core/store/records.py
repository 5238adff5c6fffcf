"""Reads and changes single rows inside a transaction. Each change emits its event."""

from __future__ import annotations

from typing import Any

import msgspec

from bough.core.store.session_secrets import redactor_of_new
from bough.core.store.short_ids import find
from bough.core.store.sql import APPROVALS, HOME, MESSAGES, SESSIONS, TASKS
from bough.core.store.transactions import Change
from bough.model.agents.preset import SessionPreset
from bough.model.agents.sandbox import Sandbox, SandboxProfile
from bough.model.approval import BESIDE_TURN_KINDS
from bough.model.message import QUEUED_BASE, Message, Role, raw
from bough.model.session import Caller, Headless, Kind, PermissionMode, RacePosition, Session
from bough.model.task import MOVES, Task, TaskStatus
from bough.model.values.ids import new_id
from bough.model.values.times import just_after
from bough.storage import queries
from bough.storage.backend import Tx


async def session(tx: Tx, session_id: str) -> Session:
    return await find(tx, "sessions", session_id, SESSIONS.get, Session)


async def update_session(change: Change, session_id: str, **columns: Any) -> Session:
    """Changes columns of a session and publishes it. Pausing or resuming the queue drops the reason of an earlier
    pause, unless a new one is among the columns; another activity ends the mark of a stuck turn."""
    if "queue_paused" in columns:
        columns.setdefault("pause_reason", None)
    if "activity" in columns:
        # A turn that begins, ends or waits is not stuck.
        columns = {"stuck": None, "stuck_since": None, **columns}
    for name in {"title", "description"} & columns.keys():
        columns[name] = (await change.redactor(session_id)).text(columns[name])
    query = SESSIONS.patch.setting(columns)
    fresh = await change.tx.one(query, Session, id=session_id, now=change.now, **columns)
    assert fresh is not None
    change.session("session.patched", fresh)
    return fresh


async def add_session(
    change: Change,
    caller: Caller,
    *,
    session_id: str,
    repo_id: str,
    worktree_id: str | None,
    cwd: str,
    agent: str,
    title: str,
    description: str,
    permission_mode: PermissionMode,
    model: str | None,
    effort: str | None,
    mcp_server_ids: msgspec.Raw,
    env: dict[str, str],
    context_files: msgspec.Raw,
    callback: msgspec.Raw,
    git_state: msgspec.Raw,
    headless: Headless | None,
    sandbox: Sandbox | None,
    sandbox_profile: SandboxProfile | None,
    kind: Kind = "root",
    source: Session | None = None,
    branch_task_id: str | None = None,
    race: RacePosition | None = None,
    env_trusted: bool | None = None,
    approval_timeout: float | None = None,
    resume_after_limit: bool | None = None,
    preset: SessionPreset | None = None,
    config_options: msgspec.Raw | None = None,
) -> Session:
    """Inserts a session and stores its environment values in a separate table. A fork, child or side question has a
    `source`. `env_trusted` is given for inherited values: whether an admin has set them. Secret values in its texts are
    masked."""
    secrets = await redactor_of_new(change.tx, env, mcp_server_ids, source.id if source is not None else None)
    below = kind in ("subsession", "btw")
    session = await change.tx.one(
        SESSIONS.add,
        Session,
        id=session_id,
        repo_id=repo_id,
        worktree_id=worktree_id,
        cwd=cwd,
        agent=agent,
        title=secrets.text(title),
        description=secrets.text(description),
        permission_mode=permission_mode,
        allowed_tools=raw([]),
        model=model,
        effort=effort,
        mcp_server_ids=mcp_server_ids,
        env=raw(dict.fromkeys(env, "***")),
        context_files=context_files,
        callback=callback,
        kind=kind,
        parent_session_id=source.id if source is not None and below else None,
        forked_from_session_id=source.id if source is not None and kind != "subsession" else None,
        root_session_id=source.root_session_id if source is not None else session_id,
        branch_task_id=branch_task_id,
        created_by=raw(caller.record()),
        git_state=secrets.json(git_state),
        headless=headless,
        approval_timeout=approval_timeout,
        resume_after_limit=resume_after_limit,
        sandbox=sandbox,
        sandbox_profile=sandbox_profile,
        depth=depth_below(source, kind) if source is not None else 0,
        race_id=race.race_id if race is not None else None,
        race_number=race.race_number if race is not None else None,
        preset_id=preset.id if preset is not None else None,
        preset=preset.name if preset is not None else None,
        config_options=config_options,
        now=change.now,
    )
    assert session is not None
    instructions = secrets.text(preset.instructions) if preset is not None else ""
    trusted = caller.may("admin") if env_trusted is None else env_trusted
    private = {"env": raw(env), "env_trusted": trusted, "instructions": instructions}
    await change.tx.run(SESSIONS.add_private, id=session.id, **private)
    change.session("session.created", session)
    change.audit(
        caller,
        "session.created",
        session_id=session.id,
        subject_id=session.id,
        kind=kind,
        source=source.id if source is not None else None,
        agent=agent,
        cwd=cwd,
        mode=permission_mode,
        sandbox=sandbox,
        sandbox_profile=sandbox_profile,
        preset=preset.name if preset is not None else None,
        # Only the names: values are secret.
        env=sorted(env) or None,
    )
    return session


def depth_below(source: Session, kind: Kind) -> int:
    """Returns how deep a branch of a session stands in the tree: only children stand a level deeper."""
    return source.depth + (1 if kind == "subsession" else 0)


async def task(tx: Tx, task_id: str) -> Task:
    return await find(tx, "tasks", task_id, TASKS.get, Task)


async def update_task(change: Change, task_id: str, **columns: Any) -> Task:
    query = TASKS.patch.setting(columns)
    fresh = await change.tx.one(query, Task, id=task_id, now=change.now, **columns)
    assert fresh is not None
    change.task("task.patched", fresh)
    return fresh


async def move_task(change: Change, task_id: str, status: TaskStatus) -> Task | None:
    """Moves a task along one of its MOVES. Returns None if its current status does not allow the move."""
    origins = tuple(origin for origin, moves in MOVES.items() if status in moves)
    fresh = await change.tx.one(TASKS.move, Task, id=task_id, status=status, origins=origins, now=change.now)
    if fresh is not None:
        change.task("task.patched", fresh)
    return fresh


async def end_task(
    change: Change,
    task_id: str,
    status: TaskStatus,
    *,
    stop_reason: str | None = None,
    error: msgspec.Raw | None = None,
    usage: msgspec.Raw | None = None,
    cost: msgspec.Raw | None = None,
    git_after: msgspec.Raw | None = None,
    tool_use_count: int = 0,
) -> Task | None:
    """Ends a task and marks its session unread if the turn completed or failed. Returns None if the task has already
    ended."""
    ended = await change.tx.one(
        TASKS.finish,
        Task,
        id=task_id,
        status=status,
        stop_reason=stop_reason,
        error=error,
        usage=usage,
        cost=cost,
        git_after=git_after,
        tool_use_count=tool_use_count,
        now=change.now,
    )
    if ended is not None:
        change.task("task.patched", ended)
        if status in ("completed", "failed"):
            await change.tx.run(
                HOME.note_end, session_id=ended.session_id, task_id=ended.id, status=status, now=change.now
            )
    return ended


async def pending_approvals(tx: Tx, task_id: str) -> int:
    """Counts the approvals that a turn waits for."""
    count: Any = await tx.value(APPROVALS.pending_of_task, task_id=task_id, other_kinds=BESIDE_TURN_KINDS)
    return count


async def add_message(
    change: Change, session_id: str, task_id: str | None, role: Role, content: msgspec.Raw
) -> Message:
    """Appends a message to the transcript."""
    after: Any = await change.tx.value(SESSIONS.take_positions, id=session_id, count=1)
    message = await insert_message(change, new_id(), session_id, task_id, after - 1, role, content)
    await change.tx.run(SESSIONS.touch, id=session_id, added=1, now=change.now)
    return message


async def message_time(change: Change, session_id: str) -> str:
    """Returns the time at which this change writes messages of a session: the current time, or one just after the last
    change if the clock was set back. Readers who ask for what changed since a time must not miss anything (A1)."""
    if session_id not in change.message_times:
        newest: str | None = await change.tx.value(MESSAGES.newest, session_id=session_id)
        if newest is None:
            # A fork is read together with what was said before it.
            newest = await change.tx.value(MESSAGES.newest_of_origin, session_id=session_id)
        if newest is None or newest < change.now:
            change.message_times[session_id] = change.now
        else:
            change.message_times[session_id] = just_after(newest)
    return change.message_times[session_id]


async def insert_message(
    change: Change,
    message_id: str,
    session_id: str,
    task_id: str | None,
    position: int,
    role: Role,
    content: msgspec.Raw,
) -> Message:
    """Stores a message without the session's secret values."""
    content = (await change.redactor(session_id)).json(content)
    await change.tx.one(SESSIONS.grow, tuple[int, int | None], id=session_id, size=len(bytes(content)))
    message = await change.tx.one(
        MESSAGES.add,
        Message,
        id=message_id,
        session_id=session_id,
        task_id=task_id,
        position=position,
        role=role,
        content=content,
        now=await message_time(change, session_id),
    )
    assert message is not None
    change.message("message.created", message)
    return message


async def insert_messages(change: Change, messages: list[Message]) -> None:
    """Stores messages that already have positions and hold no secret values."""
    columns = [name for name in Message.__struct_fields__ if name != "timestamp"]
    rows = [{name: getattr(message, name) for name in columns} for message in messages]
    for query, params in queries.in_bulk(MESSAGES.add_all, rows):
        await change.tx.run(query, **params)
    for message in messages:
        change.message("message.created", message)


async def enter_transcript(change: Change, entering: Task, carrier: Task | None = None) -> None:
    """Gives a queued prompt's message its position and time in the conversation; it then belongs to the turn of the
    `carrier`, if another task's turn sends it."""
    after: Any = await change.tx.value(SESSIONS.take_positions, id=entering.session_id, count=1)
    message = await change.tx.one(
        MESSAGES.enter,
        Message,
        task_id=entering.id,
        carrier_id=(carrier or entering).id,
        position=after - 1,
        queued_base=QUEUED_BASE,
        now=await message_time(change, entering.session_id),
    )
    if message is not None:
        change.message("message.patched", message)
