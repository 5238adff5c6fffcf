"""Trees over REST: fork, spawn, ask aside, and what children have reported. What each does is left to the core."""

from __future__ import annotations

from litestar import Router, post
from litestar.params import JSONBody

from bough.api.rest.common import Caller, Id, Services, errors, with_key
from bough.core.branching import Branch, Branched

DOC = errors(403, 404, 409, 413, 429)


@post("/sessions/{session_id:str}/fork", responses=DOC, summary="Make a sibling that knows the conversation so far")
async def fork_session(services: Services, caller: Caller, session_id: Id, data: JSONBody[Branch]) -> Branched:
    return await services.branching.fork(with_key(caller, data.idempotency_key), session_id, data)


@post("/sessions/{session_id:str}/spawn", responses=DOC, summary="Make a child that begins afresh and reports back")
async def spawn_session(services: Services, caller: Caller, session_id: Id, data: JSONBody[Branch]) -> Branched:
    return await services.branching.spawn(with_key(caller, data.idempotency_key), session_id, data)


@post("/sessions/{session_id:str}/btw", responses=DOC, summary="Ask something aside; nothing is changed by it")
async def ask_aside(services: Services, caller: Caller, session_id: Id, data: JSONBody[Branch]) -> Branched:
    return await services.branching.aside(with_key(caller, data.idempotency_key), session_id, data)


router = Router("/api", route_handlers=[fork_session, spawn_session, ask_aside], tags=["trees"])
