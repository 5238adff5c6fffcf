"""Fills in what a preset says about a new session. Whatever the request says itself counts before the preset.
Doors pass requests as they came: services look for the answer to an earlier request first, then fill in, then check."""

from __future__ import annotations

import msgspec

from bough.core.presets.find import choose_preset
from bough.core.sessions.requests import NewSession
from bough.core.store.transactions import Store
from bough.model.agents.preset import ChosenPreset


class PresetSession(NewSession):
    """A new session with the fields of its preset filled in."""

    chosen: ChosenPreset | None = None


async def fill_in(store: Store, new: NewSession, expected: str | None = None) -> NewSession:
    """Returns the session with the fields of the preset that it names. Raises `NotFound` if there is none, and
    `Conflict` if its version is not the expected one."""
    name = new.preset
    if name is None or isinstance(new, PresetSession):
        return new
    return filled(new, await store.read(lambda tx: choose_preset(tx, name, expected)))


def filled(new: NewSession, preset: ChosenPreset) -> PresetSession:
    """Returns the session with the fields of a preset. Model and effort count only for the preset's own agent."""
    fields = {name: getattr(new, name) for name in NewSession.__struct_fields__}
    agent = new.agent or preset.agent
    same = agent == preset.agent
    return msgspec.structs.replace(
        PresetSession(**fields, chosen=preset),
        preset=preset.id,
        agent=agent,
        permission_mode=new.permission_mode or preset.permission_mode,
        model=new.model or (preset.model if same else None),
        effort=new.effort or (preset.effort if same else None),
        mcp_server_ids=preset.mcp_server_ids if new.mcp_server_ids is None else new.mcp_server_ids,
        env=preset.env | new.env,
        sandbox=new.sandbox or preset.sandbox,
        sandbox_profile=new.sandbox_profile or preset.sandbox_profile,
    )


def preset_of(new: NewSession) -> ChosenPreset | None:
    return new.chosen if isinstance(new, PresetSession) else None
