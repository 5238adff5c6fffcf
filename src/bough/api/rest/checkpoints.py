"""Routes for checkpoints: file changes of tasks and sessions, restoring files, and pruning."""

from __future__ import annotations

from typing import Annotated

import msgspec
from litestar import Router, get, post
from litestar.params import JSONBody, QueryParameter

from bough.api.http.requests import LIMIT, Caller, Id, Limit, Offset, Services, errors, with_key
from bough.core.checkpoints.diff import CheckpointDiff
from bough.core.checkpoints.restore import RestoreBody, RestoreCheckpoint, Restored
from bough.core.trees.prune_checkpoints import Pruned
from bough.model.checkpoint import Checkpoint

Stat = Annotated[bool, QueryParameter(description="Only the files and line counts, without the text.")]
Only = Annotated[
    str | None, QueryParameter(name="path", description="Only this file or folder, relative to the repo's top folder.")
]
OfSession = Annotated[str | None, QueryParameter(name="sessionId", description="Only checkpoints of this session.")]
OfTask = Annotated[str | None, QueryParameter(name="taskId", description="Only checkpoints of this task.")]


class CheckpointList(msgspec.Struct, rename="camel"):
    checkpoints: list[Checkpoint]
    total: int
    limit: int
    offset: int


class PruneBody(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Deletes checkpoints older than `days`, which defaults to the setting `keep_checkpoints`."""

    days: Annotated[float, msgspec.Meta(ge=0, le=36_500)] | None = None
    idempotency_key: str | None = None


@get("/tasks/{task_id:str}/diff", responses=errors(404, 409), summary="Get a task's file changes")
async def diff_task(services: Services, task_id: Id, stat: Stat = False, only: Only = None) -> CheckpointDiff:
    return await services.changes.of_task(task_id, only, text=not stat)


@get("/sessions/{session_id:str}/diff", responses=errors(404, 409), summary="Get a session's file changes")
async def diff_session(services: Services, session_id: Id, stat: Stat = False, only: Only = None) -> CheckpointDiff:
    return await services.changes.of_session(session_id, only, text=not stat)


@post(
    "/tasks/{task_id:str}/restore",
    status_code=200,
    responses=errors(404, 409, 413),
    summary="Restore the files from before or after a task",
)
async def restore_task(services: Services, caller: Caller, task_id: Id, data: JSONBody[RestoreBody]) -> Restored:
    return await services.restoring.to_task(with_key(caller, data.idempotency_key), task_id, data)


@get("/checkpoints", responses=errors(404, 409), summary="List checkpoints, newest first")
async def list_checkpoints(
    services: Services, session_id: OfSession = None, task_id: OfTask = None, limit: Limit = LIMIT, offset: Offset = 0
) -> CheckpointList:
    page = await services.checkpoints.list(session_id, task_id, limit, offset)
    return CheckpointList(page.rows, page.total, page.limit, page.offset)


@get("/checkpoints/{checkpoint_id:str}", responses=errors(404, 409), summary="Get a checkpoint")
async def get_checkpoint(services: Services, checkpoint_id: Id) -> Checkpoint:
    return await services.checkpoints.get(checkpoint_id)


@post(
    "/checkpoints/{checkpoint_id:str}/restore",
    status_code=200,
    responses=errors(404, 409, 413),
    summary="Restore the files of a checkpoint, such as the one that undoes a restore",
)
async def restore_checkpoint(
    services: Services, caller: Caller, checkpoint_id: Id, data: JSONBody[RestoreCheckpoint]
) -> Restored:
    return await services.restoring.to_checkpoint(with_key(caller, data.idempotency_key), checkpoint_id, data)


@post("/checkpoints/prune", status_code=200, responses=errors(409, 413), summary="Delete old checkpoints")
async def prune_checkpoints(services: Services, caller: Caller, data: JSONBody[PruneBody]) -> Pruned:
    return await services.pruning.prune_once(with_key(caller, data.idempotency_key), data.days)


router = Router(
    "/api",
    route_handlers=[
        diff_task,
        diff_session,
        restore_task,
        list_checkpoints,
        get_checkpoint,
        restore_checkpoint,
        prune_checkpoints,
    ],
    tags=["checkpoints"],
)
