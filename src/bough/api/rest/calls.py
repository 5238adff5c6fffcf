"""What agents have called of Bough's own tools, for people (5c). Deciding about calls is `tasks`; the agents' own door
is `bough.api.mcp`."""

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
    summary="List what a session's agent has called of Bough's own tools to change something, newest first",
)
async def list_calls(services: Services, session_id: Id, limit: Limit = LIMIT, offset: Offset = 0) -> CallList:
    page = await services.calls.list(session_id, limit, offset)
    return CallList(page.rows, page.total, page.limit, page.offset)


router = Router("/api", route_handlers=[list_calls], tags=["sessions"])
