"""The tools that read sessions, tasks and messages, and that wait for them (5a). They change nothing and ask nobody;
how far they reach is `Desk`'s to say."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from bough.api.mcp import results
from bough.api.mcp.results import Listed, MessageResult, SessionResult, TaskResult
from bough.api.mcp.tool import Desk, Nothing, Params, Tool
from bough.core.sessions import SessionFilter
from bough.core.store import decoded
from bough.core.waiting import Wait
from bough.errors import Invalid
from bough.model.message import Message
from bough.model.session import Session

Id = Annotated[str, Meta(description="Id or unique prefix.")]
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
    status: str | None = None
    limit: Limit = 50
    offset: Offset = 0


class MessagesOf(Params):
    session_id: str | None = None
    task_id: str | None = None
    limit: Annotated[Limit, Meta(description="The newest so many.")] = 50
    search: Annotated[str | None, Meta(description="Only those that contain this.")] = None


async def _get(desk: Desk, wanted: One) -> SessionResult:
    return await results.session(desk.services, await desk.see(wanted.session_id))


async def _current(desk: Desk, _wanted: Nothing) -> dict[str, Any]:
    me = await desk.me()
    services = desk.services
    found = msgspec.to_builtins(await results.session(services, me))
    worktree = await services.worktrees.get(me.worktree_id) if me.worktree_id else None
    found["worktree"] = msgspec.to_builtins(results.worktree(worktree)) if worktree else None
    found["repo"] = msgspec.to_builtins(results.repo(await services.repos.get(me.repo_id)))
    return found


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
    found = [decoded(msgspec.json.encode(one), Session) for one in page.rows]
    return Listed(await results.sessions(services, found), page.total, page.limit, page.offset)


async def _wait(desk: Desk, wanted: Waited) -> dict[str, Any]:
    services = desk.services
    for task_id in wanted.task_ids:
        await desk.see((await services.tasks.get(task_id)).session_id)
    for session_id in wanted.session_ids:
        await desk.see(session_id)
    waited = await services.waiting.wait(
        desk.caller,
        Wait(
            task_ids=list(wanted.task_ids),
            session_ids=list(wanted.session_ids),
            mode=wanted.mode,
            timeout_seconds=wanted.timeout_seconds,
        ),
    )
    return msgspec.to_builtins(waited)


async def _task(desk: Desk, wanted: OneTask) -> TaskResult:
    task = await desk.services.tasks.get(wanted.task_id)
    await desk.see(task.session_id)
    return (await results.tasks(desk.services, [task]))[0]


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
    most = wanted.limit if task is None and wanted.search is None else MOST_SEARCHED
    page = await services.transcript.page(session.id, limit=most)
    found = [_message(one) for one in page]
    if task is not None:
        found = [one for one in found if one.task_id == task.id]
    if wanted.search is not None:
        found = [one for one in found if wanted.search.casefold() in one.text.casefold()]
    total = len(found) if most == MOST_SEARCHED else session.message_count
    return Listed(found[-wanted.limit :], total, wanted.limit, 0)


def _message(one: Message | msgspec.Raw) -> MessageResult:
    if isinstance(one, Message):
        return results.message(one)
    return results.message(msgspec.json.decode(one, type=Message))


WAITED = {
    "type": "object",
    "properties": {name: {"type": "array"} for name in ("done", "pending", "paused")},
    "required": ["done", "pending", "paused"],
}

TOOLS: tuple[Tool[Any], ...] = (
    Tool("agor_sessions_get", "Read a session.", One, results.SESSION, _get),
    Tool(
        "agor_sessions_get_current",
        "Read your own session, with its worktree and repository.",
        Nothing,
        results.SESSION,
        _current,
    ),
    Tool(
        "agor_sessions_list",
        "List sessions of your tree and those you opened, newest first.",
        Sessions,
        results.LIST,
        _list,
    ),
    Tool(
        "agor_sessions_wait",
        "Wait until tasks have ended or sessions are at rest, at most 45 s; call again for what is pending. What is "
        "paused waits for a person. Children report by themselves: you need not wait for them.",
        Waited,
        WAITED,
        _wait,
    ),
    Tool("agor_tasks_get", "Read a task; result is the last thing its agent said.", OneTask, results.TASK, _task),
    Tool("agor_tasks_list", "List the tasks of a session.", TasksOf, results.LIST, _tasks),
    Tool("agor_messages_list", "Read the transcript of a session or of a task.", MessagesOf, results.LIST, _messages),
)
