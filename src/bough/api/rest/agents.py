"""Routes for agents: list them, and tell what each offers before the first turn."""

from __future__ import annotations

import asyncio
from typing import Annotated

import msgspec
from litestar import Router, delete, get, post
from litestar.params import JSONBody, PathParameter

from bough.api.agents import AgentDescription, describe, describe_one
from bough.api.http.requests import Caller, Services, errors, with_key
from bough.core.added_agents.service import NewAgent
from bough.model.agents.offer import AgentOffer

AgentName = Annotated[str, PathParameter(description="The name of an agent.")]


class AgentList(msgspec.Struct):
    agents: list[AgentDescription]


class OfferCheck(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """A request to ask an agent what it offers; `force` asks it even if its installed version has been asked."""

    force: bool = False
    idempotency_key: str | None = None


@get("/api/agents", responses=errors(), summary="List agents, including invalid agent files")
async def list_agents(services: Services) -> AgentList:
    return AgentList(await asyncio.to_thread(describe, services.catalog, services.settings.default_agent))


@get(
    "/api/agents/{name:str}/offer",
    responses=errors(404, 409),
    summary="Get the models, efforts, modes and commands that an agent offers, as far as known",
)
async def get_offer(services: Services, name: AgentName) -> AgentOffer:
    return await services.agent_offers.get(name)


@post(
    "/api/agents/{name:str}/offer",
    status_code=202,
    responses=errors(404, 409, 413),
    summary="Ask an agent in the background what it offers; answers at once with what is known",
)
async def check_offer(services: Services, caller: Caller, name: AgentName, data: JSONBody[OfferCheck]) -> AgentOffer:
    return await services.agent_offers.check(with_key(caller, data.idempotency_key), name, force=data.force)


@post("/api/agents", responses=errors(404, 409, 413, 502), summary="Add an agent from a registry's entry")
async def add_agent(services: Services, caller: Caller, data: JSONBody[NewAgent]) -> AgentDescription:
    entry = await services.added_agents.add(with_key(caller, data.idempotency_key), data)
    return await asyncio.to_thread(describe_one, services.catalog, entry)


@delete(
    "/api/agents/{name:str}",
    status_code=200,
    responses=errors(404, 409),
    summary="Remove an agent that was added from a registry's entry",
)
async def remove_agent(services: Services, caller: Caller, name: AgentName) -> AgentDescription:
    entry = await services.added_agents.remove(caller, name)
    return await asyncio.to_thread(describe_one, services.catalog, entry)


router = Router("/", route_handlers=[list_agents, add_agent, remove_agent, get_offer, check_offer], tags=["agents"])
