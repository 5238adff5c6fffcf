"""Builds the results of tools: sessions, tasks, messages, worktrees and repos as objects with snake_case names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

import msgspec

from bough.core.services import Services
from bough.model.message import Message
from bough.model.repo import Repo, Worktree, WorktreeState
from bough.model.session import Session
from bough.model.task import Task

T = TypeVar("T")

LONGEST_RESULT = 20_000
# For each task in a list; agor_tasks_get returns more.
LONGEST_LISTED = 2_000
MOST_TASKS = 20
STATUS = {"completed": "completed", "cancelled": "cancelled", "error": "failed"}
ACTIVITY = {"not_started": "idle", "idle": "idle", "running": "running", "waiting_permission": "waiting_permission"}


class Rights(msgspec.Struct):
    mode: str
    allowedTools: list[str]


class Genealogy(msgspec.Struct):
    parent_session_id: str | None
    forked_from_session_id: str | None
    children: list[str]


class SessionResult(msgspec.Struct, omit_defaults=True):
    """A session. `status` is idle, running, waiting_permission, completed, failed or cancelled; `tasks` are the ids of
    its newest tasks, newest first; `ending` is the status it gets when its turn is over;
    `stuck` whether its turn is stalled or looping."""

    session_id: str
    repo_id: str
    worktree_id: str | None
    cwd: str
    agentic_tool: str
    status: str
    title: str
    description: str
    permission_config: Rights
    model: str | None
    contextFiles: list[str]
    mcp_server_ids: list[str]
    genealogy: Genealogy
    git_state: dict[str, Any]
    message_count: int
    tasks: list[str]
    created_at: str
    last_updated: str
    ending: str | None = None
    stuck: str | None = None


class CurrentSession(SessionResult, kw_only=True):
    """The calling session with its worktree and repo."""

    worktree: WorktreeResult | None
    repo: RepoResult


class Created(SessionResult):
    """A new session and the task of its first prompt."""

    taskId: str | None = None


class TaskResult(msgspec.Struct):
    """A task. `result` is the agent's last text in it."""

    task_id: str
    session_id: str
    status: str
    prompt: str
    source: str
    source_session_id: str | None
    stop_reason: str | None
    error: dict[str, Any] | None
    result: str | None
    tool_use_count: int
    created_at: str
    started_at: str | None
    ended_at: str | None


class MessageResult(msgspec.Struct):
    message_id: str
    session_id: str
    task_id: str | None
    role: str
    type: str
    text: str
    created_at: str


class WorktreeResult(msgspec.Struct, omit_defaults=True):
    worktree_id: str
    repo_id: str
    name: str
    path: str
    branch: str | None
    base_ref: str | None
    status: str
    notes: str
    board_id: str | None
    x: float | None
    y: float | None
    created_at: str
    git: WorktreeState | None = None
    sessions: list[str] | None = None


class RepoResult(msgspec.Struct):
    repo_id: str
    name: str
    path: str
    kind: str
    default_branch: str | None


class Listed(msgspec.Struct, Generic[T]):
    data: list[T]
    total: int
    limit: int
    offset: int


def _object(required: list[str], **kinds: Any) -> dict[str, Any]:
    """Returns the schema of an object; a property given as a word or a list is a type."""
    properties: dict[str, Any] = {
        name: kind if isinstance(kind, dict) else {"type": kind} for name, kind in kinds.items()
    }
    return {"type": "object", "properties": properties, "required": required}


def listing(*required: str) -> dict[str, Any]:
    """Returns the schema of a list of objects that have at least these properties."""
    data = {"type": "array", "items": {"type": "object", "required": list(required)}}
    return _object(["data", "total", "limit", "offset"], data=data, total="integer")


MAYBE = ["string", "null"]
SESSION = _object(
    ["session_id", "status"],
    session_id="string",
    worktree_id=MAYBE,
    agentic_tool="string",
    status="string",
    title="string",
    description="string",
    permission_config="object",
    genealogy="object",
    git_state="object",
    message_count="integer",
    tasks="array",
)
CURRENT = SESSION | {
    "properties": {**SESSION["properties"], "worktree": {"type": ["object", "null"]}, "repo": {"type": "object"}}
}
WORKTREE = _object(["worktree_id", "path"], worktree_id="string", path="string", branch=MAYBE, status="string")
# The fields of `FinishedWork` are not described: the list has to be short.
FINISHED = _object([])
RUN = _object(["run_id", "state"], run_id="string", state="string", answers="boolean")
RUN_LOG = _object(["run_id", "state", "log"], run_id="string", state="string", log="string")
SCHEDULE = _object(["schedule_id"], schedule_id="string", times="string")
TASK = _object(["task_id", "status"], task_id="string", session_id="string", status="string", result=MAYBE)


class _Row(msgspec.Struct, rename="camel"):
    """The columns of a session's row that results need."""

    id: str
    repo_id: str
    worktree_id: str | None
    cwd: str
    agent: str
    title: str
    description: str
    status: str
    activity: str
    permission_mode: str
    allowed_tools: list[str]
    model: str | None
    context_files: list[str]
    mcp_server_ids: list[str]
    parent_session_id: str | None
    forked_from_session_id: str | None
    git_state: dict[str, Any]
    message_count: int
    metadata: dict[str, Any]
    stuck: str | None
    created_at: str
    updated_at: str


async def sessions(services: Services, records: Sequence[Session]) -> list[SessionResult]:
    """Returns the results for sessions, with the children of each."""
    rows = [_row(record) for record in records]
    ids = [row.id for row in rows]
    children = await services.sessions.children(ids)
    tasks = await services.tasks.newest_ids(ids, MOST_TASKS)
    return [SessionResult(**_fields(row, list(children[row.id]), tasks[row.id])) for row in rows]


async def session(services: Services, row: Session) -> SessionResult:
    return (await sessions(services, [row]))[0]


def created(row: Session, task_id: str | None) -> Created:
    return Created(**_fields(_row(row), [], [task_id] if task_id else []), taskId=task_id)


def status(row: Session | _Row) -> str:
    return STATUS.get(row.status) or ACTIVITY[row.activity]


def _row(row: Session) -> _Row:
    return msgspec.json.decode(msgspec.json.encode(row), type=_Row)


def _fields(row: _Row, children: list[str], tasks: list[str]) -> dict[str, Any]:
    return {
        "session_id": row.id,
        "repo_id": row.repo_id,
        "worktree_id": row.worktree_id,
        "cwd": row.cwd,
        "agentic_tool": row.agent,
        "status": status(row),
        "title": row.title,
        "description": row.description,
        "permission_config": Rights(row.permission_mode, row.allowed_tools),
        "model": row.model,
        "contextFiles": row.context_files,
        "mcp_server_ids": row.mcp_server_ids,
        "genealogy": Genealogy(row.parent_session_id, row.forked_from_session_id, children),
        "git_state": row.git_state,
        "message_count": row.message_count,
        "tasks": tasks,
        "created_at": row.created_at,
        "last_updated": row.updated_at,
        "ending": row.metadata.get("ending"),
        "stuck": row.stuck,
    }


async def task(services: Services, row: Task) -> TaskResult:
    """Returns the result for a task, with its agent's last text."""
    (words,) = await services.tasks.last_words([row])
    return _task(row, words, LONGEST_RESULT)


async def tasks(services: Services, rows: list[Task]) -> list[TaskResult]:
    """Returns the results for a list of tasks, with long texts truncated."""
    texts = await services.tasks.last_words(rows)
    return [_task(task, words, LONGEST_LISTED) for task, words in zip(rows, texts, strict=True)]


def _task(row: Task, words: str, most: int) -> TaskResult:
    return TaskResult(
        task_id=row.id,
        session_id=row.session_id,
        status=row.status,
        prompt=_truncated(row.prompt, most),
        source=row.source,
        source_session_id=row.source_session_id,
        stop_reason=row.stop_reason,
        error=msgspec.json.decode(row.error) if row.error is not None else None,
        result=_truncated(words, most) or None,
        tool_use_count=row.tool_use_count,
        created_at=row.created_at,
        started_at=row.started_at,
        ended_at=row.ended_at,
    )


def _truncated(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}…"


def message(row: Message) -> MessageResult:
    """Returns a message as text: what was said, or a tool call with its output."""
    body: dict[str, Any] = msgspec.json.decode(row.content)
    return MessageResult(
        message_id=row.id,
        session_id=row.session_id,
        task_id=row.task_id,
        role=row.role,
        type=str(body.get("type", "")),
        text=_message_text(body),
        created_at=row.created_at,
    )


def _message_text(body: dict[str, Any]) -> str:
    if body.get("type") == "tool":
        result: dict[str, Any] = body.get("result") or {}
        output = result.get("output") or result.get("content") or ""
        output_text = output if isinstance(output, str) else msgspec.json.encode(output).decode()
        return f"{body.get('title') or body.get('tool')} ({result.get('status', 'pending')}): {output_text}"
    text = str(body.get("text") or "")
    return text or msgspec.json.encode({name: value for name, value in body.items() if name != "type"}).decode()


def truncated(result: MessageResult) -> MessageResult:
    """Truncates a message's text for a list."""
    result.text = _truncated(result.text, LONGEST_RESULT)
    return result


def worktree(row: Worktree, git: WorktreeState | None = None, sessions: list[str] | None = None) -> WorktreeResult:
    return WorktreeResult(
        worktree_id=row.id,
        repo_id=row.repo_id,
        name=row.name,
        path=row.path,
        branch=row.branch,
        base_ref=row.base_ref,
        status=row.status,
        notes=row.notes,
        board_id=row.board_id,
        x=row.x,
        y=row.y,
        created_at=row.created_at,
        git=git,
        sessions=sessions,
    )


def repo(row: Repo) -> RepoResult:
    return RepoResult(row.id, row.name, row.path, row.kind, row.default_branch)
