"""Routes for trees: fork, spawn, side questions, whole trees, callbacks, budgets, and waiting."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import msgspec
from litestar import Request, Response, Router, get, post, put
from litestar.params import JSONBody, QueryParameter

from bough.api.http.requests import LIMIT, Caller, Id, Limit, Offset, Services, answered, errors, with_key
from bough.core.events.wait import Wait, Waited
from bough.core.state.limits.budgets import BudgetBody
from bough.core.trees.branch import Branched
from bough.core.trees.requests import NewBranch
from bough.model.trees.tree import Budget, Callback, Tree, TreeUsage

DOC = errors(403, 404, 409, 413, 429)


class CallbackList(msgspec.Struct, rename="camel"):
    callbacks: list[Callback]
    total: int
    limit: int
    offset: int


class BudgetAnswer(msgspec.Struct, rename="camel"):
    """A tree's budget, if it has one, and its total usage. Usage up to the budget's `base…` values does not count."""

    budget: Budget | None
    used: TreeUsage


@post(
    "/sessions/{session_id:str}/fork",
    responses=DOC,
    summary="Fork a session: the fork starts with a copy of its conversation",
)
async def fork_session(services: Services, caller: Caller, session_id: Id, data: JSONBody[NewBranch]) -> Branched:
    return await services.branches.fork(with_key(caller, data.idempotency_key), session_id, data)


@post(
    "/sessions/{session_id:str}/spawn",
    responses=DOC,
    summary="Spawn a child that starts with no context and reports back",
)
async def spawn_session(services: Services, caller: Caller, session_id: Id, data: JSONBody[NewBranch]) -> Branched:
    return await services.branches.spawn(with_key(caller, data.idempotency_key), session_id, data)


@post("/sessions/{session_id:str}/btw", responses=DOC, summary="Ask a side question, which changes nothing")
async def ask_side_question(services: Services, caller: Caller, session_id: Id, data: JSONBody[NewBranch]) -> Branched:
    return await services.branches.side_question(with_key(caller, data.idempotency_key), session_id, data)


@get("/sessions/{session_id:str}/tree", responses=errors(404, 409), summary="Get the whole tree of a session")
async def get_tree(services: Services, session_id: Id) -> Response[Tree]:
    return await answered(services, ("tree", session_id), lambda: services.trees.get(session_id))


@get(
    "/sessions/{session_id:str}/callbacks",
    responses=errors(404, 409),
    summary="List the reports that a session sent and received, newest first",
)
async def list_callbacks(
    services: Services,
    session_id: Id,
    only: Annotated[
        str | None, QueryParameter(name="state", description="Only reports in this state: queued, delivered or held.")
    ] = None,
    limit: Limit = LIMIT,
    offset: Offset = 0,
) -> CallbackList:
    page = await services.callbacks.list(session_id, only, limit, offset)
    return CallbackList(page.rows, page.total, page.limit, page.offset)


@get("/sessions/{session_id:str}/budget", responses=errors(404, 409), summary="Get a tree's budget and usage")
async def get_budget(services: Services, session_id: Id) -> BudgetAnswer:
    return BudgetAnswer(*await services.budgets.get(session_id))


@put(
    "/sessions/{session_id:str}/budget",
    responses=errors(404, 409, 413),
    summary="Set a tree's budget, counted from now",
)
async def set_budget(services: Services, caller: Caller, session_id: Id, data: JSONBody[BudgetBody]) -> BudgetAnswer:
    await services.budgets.set(caller, session_id, data)
    return BudgetAnswer(*await services.budgets.get(session_id))


@post(
    "/wait",
    status_code=200,
    responses=errors(404, 409, 413),
    summary="Wait until tasks have ended or sessions are idle",
)
async def wait(request: Request[Any, Any, Any], services: Services, caller: Caller, data: JSONBody[Wait]) -> Waited:
    keyed = with_key(caller, data.idempotency_key)
    waiting = asyncio.create_task(services.waiting.wait(keyed, data))
    leaving = asyncio.create_task(_disconnected(request))
    try:
        await asyncio.wait((waiting, leaving), return_when=asyncio.FIRST_COMPLETED)
        # The client has disconnected and will not see this answer.
        return waiting.result() if waiting.done() else Waited([], [], [])
    finally:
        for job in (waiting, leaving):
            job.cancel()
        await asyncio.wait((waiting, leaving))


async def _disconnected(request: Request[Any, Any, Any]) -> None:
    """Returns when the client has disconnected."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


router = Router(
    "/api",
    route_handlers=[
        *(fork_session, spawn_session, ask_side_question, get_tree),
        *(list_callbacks, get_budget, set_budget, wait),
    ],
    tags=["trees"],
)
