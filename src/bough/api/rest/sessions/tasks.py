"""Routes for tasks: list, show, edit, move, cancel and try again."""

from __future__ import annotations

from typing import Annotated

import msgspec
from litestar import Router, delete, get, patch, post
from litestar.params import JSONBody, QueryParameter

from bough.api.http.requests import LIMIT, Caller, Id, Limit, Offset, Services, errors, with_key
from bough.api.rest.sessions.sessions import TaskList, TaskStatusFilter
from bough.core.checkpoints.take import TaskWithFiles
from bough.core.sessions.requests import PromptedTask
from bough.core.sessions.tasks import TaskPatch
from bough.model.task import Task


class RetryBody(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Sends a prompt again; a session that has ended is resumed. At the limit on sessions, `makeRoom` then completes
    the one that has been idle longest, resumably, instead of refusing."""

    make_room: bool = False
    idempotency_key: str | None = None


OfSession = Annotated[str | None, QueryParameter(name="sessionId", description="Only tasks of this session.")]


@get("/tasks", responses=errors(404, 409), summary="List tasks")
async def list_tasks(
    services: Services,
    session_id: OfSession = None,
    status: TaskStatusFilter = None,
    limit: Limit = LIMIT,
    offset: Offset = 0,
) -> TaskList:
    page = await services.tasks.list(session_id, status, limit, offset)
    return TaskList(page.rows, page.total, page.limit, page.offset)


@get("/tasks/{task_id:str}", responses=errors(404, 409), summary="Get a task")
async def get_task(services: Services, task_id: Id) -> TaskWithFiles:
    return await services.checkpoints.with_files(task_id)


@patch("/tasks/{task_id:str}", responses=errors(404, 409, 413), summary="Edit or move a queued prompt")
async def patch_task(services: Services, caller: Caller, task_id: Id, data: JSONBody[TaskPatch]) -> Task:
    return await services.tasks.edit(caller, task_id, data.prompt, data.before)


@delete(
    "/tasks/{task_id:str}",
    status_code=200,
    responses=errors(404, 409),
    summary="Cancel a task: remove its prompt from the queue, or stop its turn",
)
async def cancel_task(services: Services, caller: Caller, task_id: Id) -> Task:
    return await services.control.cancel_task(caller, task_id)


@post(
    "/tasks/{task_id:str}/retry",
    status_code=202,
    responses=errors(404, 409, 413, 429),
    summary="Send the prompt of a failed or cancelled task again, with its files, or try a parked task now",
)
async def retry_task(
    services: Services, caller: Caller, task_id: Id, data: JSONBody[RetryBody | None] = None
) -> PromptedTask:
    body = data or RetryBody()
    return await services.retrying.retry(with_key(caller, body.idempotency_key), task_id, make_room=body.make_room)


router = Router("/api", route_handlers=[list_tasks, get_task, patch_task, cancel_task, retry_task], tags=["tasks"])
