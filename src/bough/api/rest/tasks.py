"""Routes for tasks and approvals."""

from __future__ import annotations

from typing import Annotated

import msgspec
from litestar import Router, delete, get, patch, post
from litestar.params import JSONBody, QueryParameter

from bough.api.http.requests import LIMIT, Caller, Id, Limit, Offset, Services, errors, whole_id, with_key
from bough.api.rest.sessions import TaskList, TaskStatusFilter
from bough.core.approvals.service import AnswerBody
from bough.core.checkpoints.take import TaskWithFiles
from bough.core.sessions.tasks import TaskPatch
from bough.model.approval import Approval
from bough.model.task import Task

OfSession = Annotated[str | None, QueryParameter(name="sessionId", description="Only of this session.")]
ApprovalStatus = Annotated[
    str | None, QueryParameter(description="One or more of pending, allowed, denied, cancelled, expired.")
]


class ApprovalList(msgspec.Struct, rename="camel"):
    approvals: list[Approval]
    total: int
    limit: int
    offset: int


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


@patch("/tasks/{task_id:str}", responses=errors(404, 409, 413), summary="Edit or move a prompt that waits")
async def patch_task(services: Services, task_id: Id, data: JSONBody[TaskPatch]) -> Task:
    return await services.tasks.edit(task_id, data.prompt, data.before)


@delete("/tasks/{task_id:str}", status_code=200, responses=errors(404, 409), summary="Cancel a task")
async def cancel_task(services: Services, caller: Caller, task_id: Id) -> Task:
    return await services.control.cancel_task(caller, task_id)


@get("/approvals", responses=errors(404, 409), summary="List approvals, oldest first")
async def list_approvals(
    services: Services,
    status: ApprovalStatus = None,
    session_id: OfSession = None,
    limit: Limit = LIMIT,
    offset: Offset = 0,
) -> ApprovalList:
    page = await services.approvals.list(status, session_id, limit, offset)
    return ApprovalList(page.rows, page.total, page.limit, page.offset)


@get("/approvals/{approval_id:str}", responses=errors(404, 409), summary="Get an approval")
async def get_approval(services: Services, approval_id: Id) -> Approval:
    return await services.approvals.get(approval_id)


@post("/approvals/{approval_id:str}", status_code=200, responses=errors(404, 409, 413), summary="Answer an approval")
async def decide_approval(services: Services, caller: Caller, approval_id: Id, data: JSONBody[AnswerBody]) -> Approval:
    keyed = with_key(caller, data.idempotency_key)
    return await services.approvals.decide(keyed, await whole_id(services, "approvals", approval_id), data)


tasks = Router("/api", route_handlers=[list_tasks, get_task, patch_task, cancel_task], tags=["tasks"])
approvals = Router("/api", route_handlers=[list_approvals, get_approval, decide_approval], tags=["approvals"])
