"""The route that lists the audit trail. There is none that changes it."""

from __future__ import annotations

from typing import Annotated

import msgspec
from litestar import Router, get
from litestar.params import QueryParameter

from bough.api.http.requests import LIMIT, Limit, Offset, Services, errors, whole_id
from bough.core.access.audit import AuditFilter
from bough.model.access.audit import AuditEntry


class AuditList(msgspec.Struct):
    entries: list[AuditEntry]
    total: int
    limit: int
    offset: int


@get("/audit", responses=errors(404, 409), summary="List the audit trail: who did what, newest first")
async def list_audit(
    services: Services,
    user: Annotated[str | None, QueryParameter(description="Only entries of this person.")] = None,
    action: Annotated[
        str | None, QueryParameter(description="Only this action, or a group of them, such as `session`.")
    ] = None,
    session_id: Annotated[
        str | None, QueryParameter(name="sessionId", description="Only entries about this session.")
    ] = None,
    since: Annotated[str | None, QueryParameter(description="Only at or after this time (ISO 8601).")] = None,
    until: Annotated[str | None, QueryParameter(description="Only before this time (ISO 8601).")] = None,
    after: Annotated[
        int | None,
        QueryParameter(ge=0, le=1 << 53, description="Only entries after this number, oldest first."),
    ] = None,
    limit: Limit = LIMIT,
    offset: Offset = 0,
) -> AuditList:
    # A purged session is still in the trail, so a full id need not exist anymore.
    full_id = await whole_id(services, "sessions", session_id) if session_id is not None else None
    page = await services.audit.list(AuditFilter(user, action, full_id, since, until), limit, offset, after)
    return AuditList(page.rows, page.total, page.limit, page.offset)


router = Router("/api", route_handlers=[list_audit], tags=["audit"])
