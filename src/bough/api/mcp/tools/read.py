"""The tools that read sessions, tasks and messages, and that wait for them (5a). They change nothing and ask nobody;
how far they reach is `Desk`'s to say."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from bough.api.mcp.tools import results
from bough.api.mcp.tools.base import Desk, Nothing, Params, Tool
from bough.api.mcp.tools.phrases import Id
from bough.api.mcp.tools.results import Current, Listed, MessageResult, SessionResult, TaskResult
from bough.core.events.wait import MOST, Wait
from bough.core.sessions.requests import SessionFilter
from bough.errors import Invalid
from bough.model.task import TaskStatus

Limit = Annotated[int, Meta(ge=1, le=200)]
Offset = Annotated[int, Meta(ge=0)]
LONGEST_WAIT = 45
MOST_SEARCHED = 10_000
# The lifecycle that is stored for each status that tools know.
STORED = {
    "idle": "active",
    "running": "active",
    "waiting_permission": "active",
    "completed": "completed",
    "failed": "error",
    "cancelled": "cancelled",
}
SessionStatus = Literal["idle", "running", "waiting_permission", "completed", "failed", "cancelled"]


class One(Params):
    session_id: Id


class Sessions(Params):
    worktree_id: str | None = None
    status: SessionStatus | None = None
    limit: Limit = 50
    offset: Offset = 0


class Waited(Params):
    task_ids: tuple[str, ...] = ()
    session_ids: tuple[str, ...] = ()
    mode: Literal["any", "all"] = "all"
    timeout_seconds: Annotated[float, Meta(ge=0, le=LONGEST_WAIT)] = LONGEST_WAIT


class OneTask(Params):
    task_id: Id


class TasksOf(Params):
    session_id: Id
    status: TaskStatus | None = None
    limit: Limit = 50
    offset: Offset = 0


class MessagesOf(Params):
    session_id: str | None = None
    task_id: str | None = None
    limit: Annotated[Limit, Meta(description="The newest so many (default 50).")] = 50
    offset: Annotated[Offset, Meta(description="Leave out the newest so many.")] = 0
    search: Annotated[str | None, Meta(description="Only those that contain this.")] = None


async def _get(desk: Desk, wanted: One) -> SessionResult:
    return await results.session(desk.services, await desk.see(wanted.session_id))


async def _current(desk: Desk, _wanted: Nothing) -> Current:
    me = await desk.me("Use agor_sessions_get with a sessionId; agor_sessions_list shows the sessions.")
    services = desk.services
    (found,) = await results.sessions(services, [me])
    worktree = await services.worktrees.get(me.worktree_id) if me.worktree_id else None
    return Current(
        **msgspec.structs.asdict(found),
        worktree=results.worktree(worktree) if worktree else None,
        repo=results.repo(await services.repos.get(me.repo_id)),
    )


async def _list(desk: Desk, wanted: Sessions) -> Listed[SessionResult]:
    services = desk.services
    within = SessionFilter(
        worktree_id=wanted.worktree_id,
        status=STORED[wanted.status] if wanted.status else None,
        archived=False,
        activity=wanted.status if wanted.status and STORED[wanted.status] == "active" else None,
        roots=await desk.roots(),
    )
    page = await services.sessions.list(within, wanted.limit, wanted.offset)
    return Listed(await results.sessions(services, page.rows), page.total, page.limit, page.offset)


async def _wait(desk: Desk, wanted: Waited) -> dict[str, Any]:
    services = desk.services
    if not 0 < len(wanted.task_ids) + len(wanted.session_ids) <= MOST:
        raise Invalid("bad_arguments", f"Give between 1 and {MOST} taskIds or sessionIds to wait for.")
    tasks = [await services.tasks.get(task_id) for task_id in wanted.task_ids]
    for session_id in {task.session_id for task in tasks}:
        await desk.see(session_id)
    sessions = [(await desk.see(session_id)).id for session_id in wanted.session_ids]
    if desk.caller.id in (*sessions, *(task.session_id for task in tasks if task.ended_at is None)):
        raise Invalid("waits_for_itself", "You would wait for yourself: your turn goes on until you end it.")
    asked = Wait(
        task_ids=list(wanted.task_ids),
        session_ids=list(wanted.session_ids),
        mode=wanted.mode,
        timeout_seconds=wanted.timeout_seconds,
    )
    with services.scheduler.lending(desk.caller.id or ""):
        waited = await services.waiting.wait(desk.caller, asked)
    for one in waited.done:
        one.status = {"error": "failed", "not_started": "idle"}.get(one.status, one.status)
    return msgspec.to_builtins(waited)


async def _task(desk: Desk, wanted: OneTask) -> TaskResult:
    task = await desk.services.tasks.get(wanted.task_id)
    await desk.see(task.session_id)
    return await results.task(desk.services, task)


async def _tasks(desk: Desk, wanted: TasksOf) -> Listed[TaskResult]:
    session = await desk.see(wanted.session_id)
    page = await desk.services.tasks.list(session.id, wanted.status, wanted.limit, wanted.offset)
    return Listed(await results.tasks(desk.services, page.rows), page.total, page.limit, page.offset)


async def _messages(desk: Desk, wanted: MessagesOf) -> Listed[MessageResult]:
    if (wanted.session_id is None) == (wanted.task_id is None):
        raise Invalid("bad_arguments", "Give either sessionId or taskId.")
    services = desk.services
    task = await services.tasks.get(wanted.task_id) if wanted.task_id is not None else None
    session = await desk.see(task.session_id if task else wanted.session_id or "")
    whole = task is not None or bool(wanted.search)
    most = MOST_SEARCHED if whole else wanted.limit + wanted.offset
    found = [results.message(one) for one in await services.transcript.page(session.id, limit=most)]
    if task is not None:
        found = [one for one in found if one.task_id == task.id]
    if wanted.search:
        sought = wanted.search.casefold()
        found = [one for one in found if sought in one.text.casefold()]
    total = len(found) if whole else session.message_count
    end = max(0, len(found) - wanted.offset)
    page = found[max(0, end - wanted.limit) : end]
    return Listed([results.shortened(one) for one in page], total, wanted.limit, wanted.offset)


WAITED = {
    "type": "object",
    "properties": {
        "done": {"type": "array", "items": {"type": "object", "required": ["id", "sessionId", "status"]}},
        "pending": {"type": "array", "items": {"type": "string"}},
        "paused": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["done", "pending", "paused"],
}
SESSIONS = results.listing("session_id", "agentic_tool", "status")
TASKS = results.listing("task_id", "session_id", "status")
MESSAGES = results.listing("message_id", "role", "type", "text")

TOOLS: tuple[Tool[Any], ...] = (
    Tool("agor_sessions_get", "Read a session.", One, results.SESSION, _get),
    Tool(
        "agor_sessions_get_current",
        "Read your own session, with its worktree and repository.",
        Nothing,
        results.CURRENT,
        _current,
    ),
    Tool(
        "agor_sessions_list",
        "List sessions of your tree and those you opened, newest first.",
        Sessions,
        SESSIONS,
        _list,
    ),
    Tool(
        "agor_sessions_wait",
        "Wait until any or all (default) of some tasks have ended or sessions are at rest, at most 45 s; call again "
        "for what is pending. What is paused waits for a person. Children report by themselves: you need not wait for "
        "them.",
        Waited,
        WAITED,
        _wait,
        rows_alone=False,
    ),
    Tool("agor_tasks_get", "Read a task; result is the last thing its agent said.", OneTask, results.TASK, _task),
    Tool("agor_tasks_list", "List the tasks of a session; long texts are cut off.", TasksOf, TASKS, _tasks),
    Tool("agor_messages_list", "Read the transcript of a session or of a task.", MessagesOf, MESSAGES, _messages),
)
