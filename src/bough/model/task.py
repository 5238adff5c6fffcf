"""Defines a task: one prompt and its turn (R3), with its states as data."""

from __future__ import annotations

from typing import Literal, get_args

import msgspec

from bough.model.session import PermissionMode

TaskStatus = Literal[
    "queued",
    "steering",
    "dispatching",
    "running",
    "waiting_permission",
    "stopping",
    "interrupted",
    "completed",
    "failed",
    "cancelled",
]
Source = Literal["user", "session", "callback", "btw", "schedule", "initial"]

When = Literal["now", "next", "after_stop"]
"""When a prompt is sent: into the running turn, in its place in the queue, or first, after that turn is stopped."""

TASK_STATUSES: tuple[TaskStatus, ...] = get_args(TaskStatus)

# Every possible move of a task. ARCHITECTURE.md shows the same table, and a test compares them.
MOVES: dict[TaskStatus, frozenset[TaskStatus]] = {
    "queued": frozenset({"dispatching", "steering", "cancelled"}),
    "steering": frozenset({"queued", "completed", "cancelled"}),
    "dispatching": frozenset({"running", "interrupted", "failed", "stopping", "cancelled"}),
    "running": frozenset({"waiting_permission", "completed", "failed", "cancelled", "stopping", "interrupted"}),
    "waiting_permission": frozenset({"running", "completed", "failed", "cancelled", "stopping", "interrupted"}),
    "stopping": frozenset({"cancelled"}),
    "interrupted": frozenset({"dispatching", "failed", "cancelled"}),
    "completed": frozenset(),
    "failed": frozenset(),
    "cancelled": frozenset(),
}

TERMINAL: frozenset[TaskStatus] = frozenset(status for status, moves in MOVES.items() if not moves)
IN_FLIGHT: tuple[TaskStatus, ...] = ("dispatching", "running", "waiting_permission", "stopping")

STEERED = "steered"
"""The stop reason of a prompt that the agent has taken in the middle of a turn; its answer is part of that turn's."""

EARLY_ENDS: dict[str, str] = {
    "max_tokens": (
        "The agent stopped early: the model's answer reached its limit of tokens. The work may be unfinished. "
        "Send another prompt to continue."
    ),
    "max_turn_requests": (
        "The agent stopped early: the turn reached its limit of requests to the model. The work may be unfinished. "
        "Send another prompt to continue."
    ),
    "refusal": "The model refused to answer, so the agent stopped early. It may forget this prompt; send another one.",
}
"""Stop reasons of turns that the agent ended before its work was done, each with the sentence for people."""


class Task(msgspec.Struct, rename="camel"):
    """A row of `tasks`. `held`: interrupted and waiting for a person. `usage` is what the agent reported for this turn;
    `cost` is the growth of the session's cost; `sent_before` is the attempt that was sent before the current one, 0 if
    none was; `permission_mode` is the mode that the turn runs in, None before it is sent. `steers_task_id` is the task
    of the turn that the prompt is put into, or was; a prompt that was queued again has one only if an agent that died
    may have read it."""

    id: str
    session_id: str
    position: int
    prompt: str
    source: Source
    source_session_id: str | None
    status: TaskStatus
    attempt: int
    sent_attempt: int
    held: bool
    stop_reason: str | None
    error: msgspec.Raw | None
    git_before: msgspec.Raw | None
    git_after: msgspec.Raw | None
    usage: msgspec.Raw | None
    cost: msgspec.Raw | None
    cost_before: msgspec.Raw | None
    tool_use_count: int
    created_at: str
    updated_at: str
    started_at: str | None
    ended_at: str | None
    sent_before: int
    permission_mode: PermissionMode | None
    steers_task_id: str | None
    # The limit that an interrupted task waits for: a `ParkedTask`.
    parked: msgspec.Raw | None
    # Whether the turn took place outside of Bough, in the agent's own program. Nobody here has asked for it.
    outside: bool
    # Whether Bough itself sent it, to nudge the stuck turn that it steers.
    nudge: bool
