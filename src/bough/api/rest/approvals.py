"""Routes for approvals: list, show and decide."""

from __future__ import annotations

from typing import Annotated

import msgspec
from litestar import Router, get, post
from litestar.params import JSONBody, QueryParameter

from bough.api.http.requests import LIMIT, Caller, Id, Limit, Offset, Services, errors, whole_id, with_key
from bough.core.approvals.service import AnswerBody
from bough.model.approval import Approval

OfSession = Annotated[str | None, QueryParameter(name="sessionId", description="Only approvals of this session.")]
ApprovalStatus = Annotated[
    str | None, QueryParameter(description="One or more of pending, allowed, denied, cancelled, expired.")
]


class ApprovalList(msgspec.Struct, rename="camel"):
    approvals: list[Approval]
    total: int
    limit: int
    offset: int


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


@post("/approvals/{approval_id:str}", status_code=200, responses=errors(404, 409, 413), summary="Decide an approval")
async def decide_approval(services: Services, caller: Caller, approval_id: Id, data: JSONBody[AnswerBody]) -> Approval:
    keyed = with_key(caller, data.idempotency_key)
    return await services.approvals.decide(keyed, await whole_id(services, "approvals", approval_id), data)


router = Router("/api", route_handlers=[list_approvals, get_approval, decide_approval], tags=["approvals"])
