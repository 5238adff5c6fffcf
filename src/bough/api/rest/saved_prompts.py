"""Routes for saved prompts: a person's own, and those that a repository offers."""

from __future__ import annotations

from typing import Annotated

import msgspec
from litestar import Router, delete, get, patch, post
from litestar.params import JSONBody, PathParameter, QueryParameter

from bough.api.http.requests import Caller, Services, errors, with_key
from bough.core.saved_prompts.repo_files import OfferedPrompt
from bough.core.saved_prompts.requests import NewSavedPrompt, SavedPrompt, SavedPromptPatch

Name = Annotated[str, PathParameter(description="The name.")]


class SavedPromptList(msgspec.Struct, rename="camel"):
    saved_prompts: list[SavedPrompt]


class OfferedPromptList(msgspec.Struct, rename="camel"):
    prompts: list[OfferedPrompt]


@post("/saved-prompts", responses=errors(409, 413), summary="Save a prompt for yourself")
async def add_saved_prompt(services: Services, caller: Caller, data: JSONBody[NewSavedPrompt]) -> SavedPrompt:
    return await services.saved_prompts.add(with_key(caller, data.idempotency_key), data)


@get("/saved-prompts", responses=errors(), summary="List your saved prompts")
async def list_saved_prompts(services: Services, caller: Caller) -> SavedPromptList:
    return SavedPromptList(await services.saved_prompts.list(caller))


@get(
    "/saved-prompts/offered",
    responses=errors(404, 409),
    summary="List the prompts to insert: your own, and those of a session's folder or a repo",
)
async def offer_prompts(
    services: Services,
    caller: Caller,
    session_id: Annotated[
        str | None, QueryParameter(name="sessionId", description="Also the prompts in this session's folder.")
    ] = None,
    repo_id: Annotated[
        str | None, QueryParameter(name="repoId", description="Also the prompts in this repo's folder.")
    ] = None,
) -> OfferedPromptList:
    return OfferedPromptList(await services.saved_prompts.offered(caller, session_id, repo_id))


@get("/saved-prompts/{name:str}", responses=errors(404, 409), summary="Get a saved prompt")
async def get_saved_prompt(services: Services, caller: Caller, name: Name) -> SavedPrompt:
    return await services.saved_prompts.get(caller, name)


@patch("/saved-prompts/{name:str}", responses=errors(404, 409, 413), summary="Change a saved prompt")
async def patch_saved_prompt(
    services: Services, caller: Caller, name: Name, data: JSONBody[SavedPromptPatch]
) -> SavedPrompt:
    return await services.saved_prompts.patch(caller, name, data)


@delete("/saved-prompts/{name:str}", status_code=200, responses=errors(404, 409), summary="Remove a saved prompt")
async def remove_saved_prompt(services: Services, caller: Caller, name: Name) -> SavedPrompt:
    return await services.saved_prompts.remove(caller, name)


router = Router(
    "/api",
    route_handlers=[
        *(add_saved_prompt, list_saved_prompts, offer_prompts),
        *(get_saved_prompt, patch_saved_prompt, remove_saved_prompt),
    ],
    tags=["saved prompts"],
)
