"""The route that lists an agent's calls of Bough's own tools."""

from __future__ import annotations

import msgspec
from litestar import Router, get

from bough.api.http.requests import LIMIT, Id, Limit, Offset, Services, errors
from bough.model.call import Call


class CallList(msgspec.Struct, rename="camel"):
    calls: list[Call]
    total: int
    limit: int
    offset: int


@get(
    "/sessions/{session_id:str}/calls",
    responses=errors(404, 409),
    summary="List the changes that a session's agent made with Bough's tools, newest first",
)
async def list_calls(services: Services, session_id: Id, limit: Limit = LIMIT, offset: Offset = 0) -> CallList:
    page = await services.calls.list(session_id, limit, offset)
    return CallList(page.rows, page.total, page.limit, page.offset)


router = Router("/api", route_handlers=[list_calls], tags=["sessions"])
