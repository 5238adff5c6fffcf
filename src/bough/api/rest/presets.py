"""Routes for presets: add, list, show, change and remove. They are named by name or id."""

from __future__ import annotations

import msgspec
from litestar import Router, delete, get, patch, post
from litestar.params import JSONBody

from bough.api.http.requests import LIMIT, Caller, Id, Limit, Offset, Services, errors, with_key
from bough.core.presets.requests import NewPreset, PresetPatch
from bough.model.agents.preset import Preset


class PresetList(msgspec.Struct):
    presets: list[Preset]
    total: int
    limit: int
    offset: int


@post("/presets", responses=errors(404, 409, 413), summary="Add a preset")
async def add_preset(services: Services, caller: Caller, data: JSONBody[NewPreset]) -> Preset:
    return await services.presets.add(with_key(caller, data.idempotency_key), data)


@get("/presets", responses=errors(), summary="List presets")
async def list_presets(services: Services, limit: Limit = LIMIT, offset: Offset = 0) -> PresetList:
    page = await services.presets.list(limit, offset)
    return PresetList(page.rows, page.total, page.limit, page.offset)


@get("/presets/{preset_id:str}", responses=errors(404, 409), summary="Get a preset, by its name or id")
async def get_preset(services: Services, preset_id: Id) -> Preset:
    return await services.presets.get(preset_id)


@patch("/presets/{preset_id:str}", responses=errors(404, 409, 413), summary="Change a preset")
async def patch_preset(services: Services, caller: Caller, preset_id: Id, data: JSONBody[PresetPatch]) -> Preset:
    return await services.presets.patch(caller, preset_id, data)


@delete("/presets/{preset_id:str}", status_code=200, responses=errors(404, 409), summary="Remove a preset")
async def remove_preset(services: Services, caller: Caller, preset_id: Id) -> Preset:
    return await services.presets.remove(caller, preset_id)


router = Router(
    "/api",
    route_handlers=[add_preset, list_presets, get_preset, patch_preset, remove_preset],
    tags=["presets"],
)
