"""Routes for the policy: rules, explanations of its decisions, and "always" choices."""

from __future__ import annotations

from typing import Annotated

import msgspec
from litestar import Router, delete, get, patch, post
from litestar.params import JSONBody, QueryParameter

from bough.api.http.requests import LIMIT, Caller, Id, Limit, Offset, Services, errors, with_key
from bough.core.policy.explain import ExplainBody, Explanation
from bough.core.policy.rules import NewRule, RulePatch
from bough.model.rule import Choice, Rule, Scope

OfScope = Annotated[Scope | None, QueryParameter(name="scope", description="Only choices with this scope.")]
Reaching = Annotated[
    str | None, QueryParameter(name="sessionId", description="Only choices that apply to this session.")
]

Answering = Annotated[
    str | None, QueryParameter(name="approvalId", description="Only choices that would answer this approval now.")
]


class RuleList(msgspec.Struct, rename="camel"):
    rules: list[Rule]
    total: int
    limit: int
    offset: int


class ChoiceList(msgspec.Struct, rename="camel"):
    choices: list[Choice]
    total: int
    limit: int
    offset: int


@get("/rules", responses=errors(), summary="List rules in the order in which they are checked")
async def list_rules(services: Services, limit: Limit = LIMIT, offset: Offset = 0) -> RuleList:
    page = await services.rules.list(limit, offset)
    return RuleList(page.rows, page.total, page.limit, page.offset)


@post("/rules", responses=errors(409, 413), summary="Add a rule, which applies from the next request on")
async def add_rule(services: Services, caller: Caller, data: JSONBody[NewRule]) -> Rule:
    return await services.rules.add(with_key(caller, data.idempotency_key), data)


@get("/rules/{rule_id:str}", responses=errors(404, 409), summary="Get a rule")
async def get_rule(services: Services, rule_id: Id) -> Rule:
    return await services.rules.get(rule_id)


@patch("/rules/{rule_id:str}", responses=errors(404, 409, 413), summary="Change or move a rule")
async def patch_rule(services: Services, rule_id: Id, data: JSONBody[RulePatch], caller: Caller) -> Rule:
    return await services.rules.patch(caller, rule_id, data)


@delete("/rules/{rule_id:str}", status_code=200, responses=errors(404, 409), summary="Remove a rule")
async def remove_rule(services: Services, caller: Caller, rule_id: Id) -> Rule:
    return await services.rules.remove(caller, rule_id)


@post(
    "/explain",
    status_code=200,
    responses=errors(404, 409, 413),
    summary="Explain how the policy would decide a tool use",
)
async def explain(services: Services, caller: Caller, data: JSONBody[ExplainBody]) -> Explanation:
    return await services.explanations.explain(with_key(caller, data.idempotency_key), data)


@get("/choices", responses=errors(404, 409), summary="List choices, newest first")
async def list_choices(
    services: Services,
    reach: OfScope = None,
    session_id: Reaching = None,
    approval_id: Answering = None,
    limit: Limit = LIMIT,
    offset: Offset = 0,
) -> ChoiceList:
    page = await services.choices.list(reach, session_id, approval_id, limit, offset)
    return ChoiceList(page.rows, page.total, page.limit, page.offset)


@get("/choices/{choice_id:str}", responses=errors(404, 409), summary="Get a choice")
async def get_choice(services: Services, choice_id: Id) -> Choice:
    return await services.choices.get(choice_id)


@delete("/choices/{choice_id:str}", status_code=200, responses=errors(404, 409), summary="Forget a choice")
async def remove_choice(services: Services, caller: Caller, choice_id: Id) -> Choice:
    return await services.choices.remove(caller, choice_id)


router = Router(
    "/api/policy",
    route_handlers=[
        *(list_rules, add_rule, get_rule, patch_rule, remove_rule),
        *(explain, list_choices, get_choice, remove_choice),
    ],
    tags=["policy"],
)
