"""What tools give, in the shape that agents know: sessions, tasks, messages, worktrees, repositories, each a plain
object with snake_case names (5a). What is in the rows is `bough.model`."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import msgspec

from bough.core import callbacks, rows
from bough.core.rows import SESSIONS
from bough.core.services import Services
from bough.model.message import Message
from bough.model.repo import Repo, Worktree, WorktreeState
from bough.model.session import CallbackConfig, Session
from bough.model.task import Task
from bough.storage.backend import Tx

T = TypeVar("T")

LONGEST_RESULT = 20_000
STATUS = {"completed": "completed", "cancelled": "cancelled", "error": "failed"}
ACTIVITY = {"not_started": "idle", "idle": "idle", "running": "running", "waiting_permission": "waiting_permission"}


class Rights(msgspec.Struct):
    mode: str
    allowedTools: list[str]


class Genealogy(msgspec.Struct):
    parent_session_id: str | None
    forked_from_session_id: str | None
    children: list[str]


class SessionResult(msgspec.Struct):
    """A session. `status` is idle, running, waiting_permission, completed, failed or cancelled."""

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
    genealogy: Genealogy
    git_state: dict[str, Any]
    message_count: int
    created_at: str
    last_updated: str


class Created(SessionResult):
    """A new session, and the task of its first prompt."""

    taskId: str | None = None


class TaskResult(msgspec.Struct):
    """A task. `result` is the last thing that the agent said in it."""

    task_id: str
    session_id: str
    status: str
    prompt: str
    source: str
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


LIST = {
    "type": "object",
    "properties": {
        "data": {"type": "array", "items": {"type": "object"}},
        "total": {"type": "integer"},
        "limit": {"type": "integer"},
        "offset": {"type": "integer"},
    },
    "required": ["data", "total", "limit", "offset"],
}
SESSION = {
    "type": "object",
    "properties": {name: {"type": "string"} for name in ("session_id", "agentic_tool", "status", "title")}
    | {"genealogy": {"type": "object"}},
    "required": ["session_id", "status"],
}
WORKTREE = {
    "type": "object",
    "properties": {name: {"type": "string"} for name in ("worktree_id", "path", "status")},
    "required": ["worktree_id", "path"],
}
TASK = {
    "type": "object",
    "properties": {name: {"type": "string"} for name in ("task_id", "session_id", "status")}
    | {"result": {"type": ["string", "null"]}},
    "required": ["task_id", "status"],
}


class _Offspring(msgspec.Struct):
    id: str
    source: str


async def sessions(services: Services, found: list[Session]) -> list[SessionResult]:
    """Sessions with the children of each."""
    ids = [one.id for one in found]
    children: dict[str, list[str]] = {one: [] for one in ids}

    async def work(tx: Tx) -> list[_Offspring]:
        return await tx.all(SESSIONS.offspring, _Offspring, ids=ids) if ids else []

    for one in await services.store.read(work):
        children[one.source].append(one.id)
    return [SessionResult(**fields(one, children[one.id])) for one in found]


async def session(services: Services, found: Session) -> SessionResult:
    return (await sessions(services, [found]))[0]


def status(found: Session) -> str:
    return STATUS.get(found.status) or ACTIVITY[found.activity]


def fields(found: Session, children: list[str]) -> dict[str, Any]:
    return {
        "session_id": found.id,
        "repo_id": found.repo_id,
        "worktree_id": found.worktree_id,
        "cwd": found.cwd,
        "agentic_tool": found.agent,
        "status": status(found),
        "title": found.title,
        "description": found.description,
        "permission_config": Rights(found.permission_mode, msgspec.json.decode(found.allowed_tools)),
        "model": found.model,
        "genealogy": Genealogy(found.parent_session_id, found.forked_from_session_id, children),
        "git_state": msgspec.json.decode(found.git_state),
        "message_count": found.message_count,
        "created_at": found.created_at,
        "last_updated": found.updated_at,
    }


async def tasks(services: Services, found: list[Task]) -> list[TaskResult]:
    """Tasks with what their agents said last."""

    async def work(tx: Tx) -> list[str]:
        return [await callbacks.last_words(tx, one) for one in found]

    said = await services.store.read(work)
    return [_task(one, words) for one, words in zip(found, said, strict=True)]


def _task(found: Task, words: str) -> TaskResult:
    return TaskResult(
        task_id=found.id,
        session_id=found.session_id,
        status=found.status,
        prompt=found.prompt,
        source=found.source,
        stop_reason=found.stop_reason,
        error=msgspec.json.decode(found.error) if found.error is not None else None,
        result=words[:LONGEST_RESULT] or None,
        tool_use_count=found.tool_use_count,
        created_at=found.created_at,
        started_at=found.started_at,
        ended_at=found.ended_at,
    )


def message(found: Message) -> MessageResult:
    """A message as text: what was said, or what a tool was called for and gave."""
    body: dict[str, Any] = msgspec.json.decode(found.content)
    text = str(body.get("text") or "")
    if body.get("type") == "tool":
        result: dict[str, Any] = body.get("result") or {}
        output = result.get("output") or result.get("content") or ""
        said = output if isinstance(output, str) else msgspec.json.encode(output).decode()
        text = f"{body.get('title') or body.get('tool')} ({result.get('status', 'pending')}): {said}"
    elif not text:
        text = msgspec.json.encode({name: value for name, value in body.items() if name != "type"}).decode()
    return MessageResult(
        message_id=found.id,
        session_id=found.session_id,
        task_id=found.task_id,
        role=found.role,
        type=str(body.get("type", "")),
        text=text[:LONGEST_RESULT],
        created_at=found.created_at,
    )


def worktree(found: Worktree, git: WorktreeState | None = None, sessions: list[str] | None = None) -> WorktreeResult:
    return WorktreeResult(
        worktree_id=found.id,
        repo_id=found.repo_id,
        name=found.name,
        path=found.path,
        branch=found.branch,
        base_ref=found.base_ref,
        status=found.status,
        notes=found.notes,
        board_id=found.board_id,
        x=found.x,
        y=found.y,
        created_at=found.created_at,
        git=git,
        sessions=sessions,
    )


def repo(found: Repo) -> RepoResult:
    return RepoResult(found.id, found.name, found.path, found.kind, found.default_branch)


def callback(config: CallbackConfig | None, *, enabled: bool | None) -> CallbackConfig | None:
    return config if enabled is None else CallbackConfig(enabled=enabled)


async def fresh(services: Services, session_id: str) -> Session:
    return await services.store.read(lambda tx: rows.session(tx, session_id))
