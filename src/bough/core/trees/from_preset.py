"""Fills in what a preset says about a fork, child or side question. Whatever the request says itself counts before the
preset, and the preset before what is inherited."""

from __future__ import annotations

import msgspec

from bough.core.presets.find import choose_preset
from bough.core.store.transactions import Store
from bough.core.trees.requests import NewBranch
from bough.model.agents.preset import ChosenPreset


class PresetBranch(NewBranch):
    """A branch with the fields of its preset filled in; its variables and sandbox are added where it is stored."""

    chosen: ChosenPreset | None = None


async def fill_in_branch(store: Store, new: NewBranch, expected: str | None = None) -> NewBranch:
    """Returns the branch with the fields of the preset that it names. Raises `NotFound` if there is none, and
    `Conflict` if its version is not the expected one."""
    name = new.preset
    if name is None or isinstance(new, PresetBranch):
        return new
    preset = await store.read(lambda tx: choose_preset(tx, name, expected))
    fields = {field: getattr(new, field) for field in NewBranch.__struct_fields__}
    agent = new.agent or preset.agent
    same = agent == preset.agent
    servers = new.mcp_server_ids
    if servers is None and preset.mcp_server_ids:
        servers = preset.mcp_server_ids
    branch = PresetBranch(**fields, chosen=preset)
    return msgspec.structs.replace(
        branch,
        preset=preset.id,
        agent=agent,
        permission_mode=new.permission_mode or preset.permission_mode,
        model=new.model or (preset.model if same else None),
        effort=new.effort or (preset.effort if same else None),
        mcp_server_ids=servers,
    )


def preset_of(new: NewBranch) -> ChosenPreset | None:
    return new.chosen if isinstance(new, PresetBranch) else None
