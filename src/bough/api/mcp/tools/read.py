"""Tools that read sessions, tasks and messages. They change nothing and need no approval."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from bough.api.mcp.tools import results
from bough.api.mcp.tools.base import NoArguments, Params, SessionById, Tool, ToolContext
from bough.api.mcp.tools.results import CurrentSession, Listed, MessageResult, SessionResult, TaskResult
from bough.api.mcp.tools.search import SEARCH
from bough.api.mcp.tools.shared_wording import Id
from bough.api.mcp.tools.wait import WAIT
from bough.core.sessions.requests import SessionFilter
from bough.errors import Invalid
from bough.model.task import TaskStatus

Limit = Annotated[int, Meta(ge=1, le=200)]
Offset = Annotated[int, Meta(ge=0)]
MOST_SEARCHED = 10_000
# The stored status for each status that tools use.
STORED = {
    "idle": "active",
    "running": "active",
    "waiting_permission": "active",
    "completed": "completed",
    "failed": "error",
    "cancelled": "cancelled",
}
SessionStatus = Literal["idle", "running", "waiting_permission", "completed", "failed", "cancelled"]


class SessionsParams(Params):
    worktree_id: str | None = None
    status: SessionStatus | None = None
    limit: Limit = 50
    offset: Offset = 0


class TaskOnly(Params):
    task_id: Id


class TasksParams(Params):
    session_id: Id
    status: TaskStatus | None = None
    limit: Limit = 50
    offset: Offset = 0


class MessagesParams(Params):
    session_id: str | None = None
    task_id: str | None = None
    limit: Annotated[Limit, Meta(description="Newest first (default 50).")] = 50
    offset: Annotated[Offset, Meta(description="Newest messages to skip.")] = 0
    search: Annotated[str | None, Meta(description="Only messages with this text.")] = None


async def _get(ctx: ToolContext, params: SessionById) -> SessionResult:
    return await results.session(ctx.services, await ctx.readable_session(params.session_id))


async def _current(ctx: ToolContext, _params: NoArguments) -> CurrentSession:
    own = await ctx.own_session("Use agor_sessions_get with a sessionId; agor_sessions_list shows the sessions.")
    services = ctx.services
    (result,) = await results.sessions(services, [own])
    worktree = await services.worktrees.get(own.worktree_id) if own.worktree_id else None
    return CurrentSession(
        **msgspec.structs.asdict(result),
        worktree=results.worktree(worktree) if worktree else None,
        repo=results.repo(await services.repos.get(own.repo_id)),
    )


async def _list(ctx: ToolContext, params: SessionsParams) -> Listed[SessionResult]:
    services = ctx.services
    filters = SessionFilter(
        worktree_id=params.worktree_id,
        status=STORED[params.status] if params.status else None,
        archived=False,
        activity=params.status if params.status and STORED[params.status] == "active" else None,
        roots=await ctx.readable_roots(),
    )
    page = await services.sessions.list(filters, params.limit, params.offset)
    return Listed(await results.sessions(services, page.rows), page.total, page.limit, page.offset)


async def _task(ctx: ToolContext, params: TaskOnly) -> TaskResult:
    return await results.task(ctx.services, await ctx.readable_task(params.task_id))


async def _tasks(ctx: ToolContext, params: TasksParams) -> Listed[TaskResult]:
    session = await ctx.readable_session(params.session_id)
    page = await ctx.services.tasks.list(session.id, params.status, params.limit, params.offset)
    return Listed(await results.tasks(ctx.services, page.rows), page.total, page.limit, page.offset)


async def _messages(ctx: ToolContext, params: MessagesParams) -> Listed[MessageResult]:
    if (params.session_id is None) == (params.task_id is None):
        raise Invalid("bad_arguments", "Pass either sessionId or taskId.")
    services = ctx.services
    task = await ctx.readable_task(params.task_id) if params.task_id is not None else None
    if task is not None:
        session = await services.sessions.get(task.session_id)
    else:
        session = await ctx.readable_session(params.session_id or "")
    filtered = task is not None or bool(params.search)
    most = MOST_SEARCHED if filtered else params.limit + params.offset
    messages = [results.message(message) for message in await services.transcript.page(session.id, limit=most)]
    if task is not None:
        messages = [message for message in messages if message.task_id == task.id]
    if params.search:
        text = params.search.casefold()
        messages = [message for message in messages if text in message.text.casefold()]
    total = len(messages) if filtered else session.message_count
    end = max(0, len(messages) - params.offset)
    page = messages[max(0, end - params.limit) : end]
    return Listed([results.truncated(message) for message in page], total, params.limit, params.offset)


SESSIONS = results.listing("session_id", "agentic_tool", "status")
TASKS = results.listing("task_id", "session_id", "status")
MESSAGES = results.listing("message_id", "role", "type", "text")

TOOLS: tuple[Tool[Any], ...] = (
    Tool("agor_sessions_get", "Read a session.", SessionById, results.SESSION, _get),
    Tool(
        "agor_sessions_get_current",
        "Read your own session, with its worktree and repo.",
        NoArguments,
        results.CURRENT,
        _current,
    ),
    Tool(
        "agor_sessions_list",
        "List the sessions of your tree and of trees you created, newest first.",
        SessionsParams,
        SESSIONS,
        _list,
    ),
    WAIT,
    Tool("agor_tasks_get", "Read a task; result is its agent's last text.", TaskOnly, results.TASK, _task),
    Tool("agor_tasks_list", "List the tasks of a session; long texts are truncated.", TasksParams, TASKS, _tasks),
    Tool("agor_messages_list", "Read the transcript of a session or a task.", MessagesParams, MESSAGES, _messages),
    SEARCH,
)
