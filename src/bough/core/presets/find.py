"""Finds presets by name or id, and reads what a new session takes over from one."""

from __future__ import annotations

import msgspec

from bough.core.store.short_ids import find, missing
from bough.core.store.sql import PRESETS, SESSIONS
from bough.errors import Conflict, Invalid
from bough.model.agents.preset import ChosenPreset, Preset, SessionPreset
from bough.model.session import Session
from bough.storage.backend import Tx


async def find_preset(tx: Tx, text: str) -> Preset:
    """Returns the preset with this name or id, or raises `NotFound`."""
    preset = await tx.one(PRESETS.named, Preset, name=text)
    if preset is not None:
        return preset
    try:
        return await find(tx, "presets", text, PRESETS.get, Preset)
    except Invalid:
        # It is neither a name nor the form of an id.
        raise missing("presets", text[:64]) from None


async def choose_preset(tx: Tx, text: str, expected: str | None = None) -> ChosenPreset:
    """Returns a preset with the values of its variables. Raises `Conflict` if its version is not the expected
    one."""
    preset = await find_preset(tx, text)
    version = f"{preset.id} {preset.updated_at}"
    if expected not in (None, version):
        raise Conflict("preset_changed", f"The preset {preset.name} was changed meanwhile. Repeat the request.")
    private = await tx.value(PRESETS.private, id=preset.id)
    return ChosenPreset(
        id=preset.id,
        name=preset.name,
        instructions=preset.instructions,
        agent=preset.agent,
        model=preset.model,
        effort=preset.effort,
        permission_mode=preset.permission_mode,
        mcp_server_ids=msgspec.json.decode(preset.mcp_server_ids, type=list[str]),
        env=msgspec.json.decode(private, type=dict[str, str]) if private is not None else {},
        sandbox=preset.sandbox,
        sandbox_profile=preset.sandbox_profile,
        version=version,
    )


async def preset_of_session(tx: Tx, session: Session) -> SessionPreset | None:
    """Returns what a session remembers of its preset, whatever became of that."""
    if session.preset_id is None or session.preset is None:
        return None
    instructions = await tx.value(SESSIONS.instructions, id=session.id) or ""
    return SessionPreset(session.preset_id, session.preset, instructions)
