"""Adds, lists, changes and removes presets. Admins keep them, because they hold variables and MCP servers."""

from __future__ import annotations

from typing import Any

import msgspec

from bough.agents.catalog import Catalog
from bough.core.environment.mask_shown_values import masked, unmasked
from bough.core.presets.find import choose_preset, find_preset
from bough.core.presets.requests import NewPreset, PresetPatch, check_preset
from bough.core.store.paging import Page, read_page
from bough.core.store.patches import changed_fields
from bough.core.store.short_ids import find_id
from bough.core.store.sql import PRESETS
from bough.core.store.transactions import Change, Store
from bough.errors import Conflict
from bough.model.agents.preset import Preset
from bough.model.message import raw
from bough.model.session import Caller
from bough.model.values.ids import new_id
from bough.storage.backend import Tx

MOST_PRESETS = 200
# Fields that are columns as they are.
STORED_AS_GIVEN = (
    *("name", "description", "agent", "model", "effort", "permission_mode"),
    *("instructions", "sandbox", "sandbox_profile"),
)


class Presets:
    """Keeps the presets that sessions can be created from."""

    def __init__(self, store: Store, catalog: Catalog) -> None:
        self._store = store
        self._catalog = catalog

    async def add(self, caller: Caller, new: NewPreset) -> Preset:
        caller.require("admin", "add presets")
        check_preset(new, self._catalog)

        async def work(change: Change) -> Preset:
            if (await change.tx.value(PRESETS.count) or 0) >= MOST_PRESETS:
                raise Conflict("too_many_presets", f"There are already {MOST_PRESETS} presets. Remove some first.")
            columns = await _columns(change.tx, new)
            preset = await change.tx.one(PRESETS.add, Preset, id=new_id(), now=change.now, **columns)
            if preset is None:
                raise _taken(new.name)
            await change.tx.run(PRESETS.add_private, id=preset.id, env=raw(new.env))
            change.emit("preset.created", preset)
            change.audit(caller, "preset.added", subject_id=preset.id, **_rights(preset))
            return preset

        request = msgspec.structs.replace(new, idempotency_key=None)
        return await self._store.write_once(caller, "presets.add", request, Preset, work)

    async def get(self, name_or_id: str) -> Preset:
        return await self._store.read(lambda tx: find_preset(tx, name_or_id))

    async def list(self, limit: int, offset: int) -> Page[Preset]:
        return await self._store.read(lambda tx: read_page(tx, PRESETS.page, PRESETS.count, Preset, limit, offset))

    async def patch(self, caller: Caller, name_or_id: str, patch: PresetPatch) -> Preset:
        """Changes a preset and validates it like a new one. Sessions that came from it stay as they are."""
        caller.require("admin", "change presets")
        changes = changed_fields(patch)

        async def work(change: Change) -> Preset:
            chosen = await choose_preset(change.tx, name_or_id)
            before = await find_preset(change.tx, chosen.id)
            fields: dict[str, Any] = {name: getattr(before, name) for name in STORED_AS_GIVEN}
            fields |= {"mcp_server_ids": chosen.mcp_server_ids, "env": chosen.env}
            merged = NewPreset(**(fields | changes))
            merged.env = unmasked(merged.env, chosen.env)
            check_preset(merged, self._catalog)
            namesake = await change.tx.one(PRESETS.named, Preset, name=merged.name)
            if namesake is not None and namesake.id != before.id:
                raise _taken(merged.name)
            columns = await _columns(change.tx, merged)
            query = PRESETS.patch.setting(columns)
            preset = await change.tx.one(query, Preset, id=before.id, now=change.now, **columns)
            assert preset is not None
            await change.tx.run(PRESETS.change_private, id=preset.id, env=raw(merged.env))
            change.emit("preset.patched", preset)
            change.audit(caller, "preset.changed", subject_id=preset.id, changed=sorted(changes), **_rights(preset))
            return preset

        return await self._store.write(work)

    async def remove(self, caller: Caller, name_or_id: str) -> Preset:
        """Deletes a preset. Its sessions keep what they took over; runs of a schedule that uses it fail."""
        caller.require("admin", "remove presets")

        async def work(change: Change) -> Preset:
            preset = await find_preset(change.tx, name_or_id)
            await change.tx.run(PRESETS.remove, id=preset.id)
            change.emit("preset.removed", preset)
            change.audit(caller, "preset.removed", subject_id=preset.id, name=preset.name)
            return preset

        return await self._store.write(work)


async def _columns(tx: Tx, preset: NewPreset) -> dict[str, Any]:
    """Returns the columns that everybody may see."""
    servers = [await find_id(tx, "mcp_servers", server) for server in preset.mcp_server_ids]
    shown: dict[str, Any] = {name: getattr(preset, name) for name in STORED_AS_GIVEN}
    return shown | {"mcp_server_ids": raw(list(dict.fromkeys(servers))), "env": raw(masked(preset.env))}


def _rights(preset: Preset) -> dict[str, Any]:
    """Returns what the audit trail records of a preset: what it lets a session do, without values of variables."""
    names = sorted(msgspec.json.decode(preset.env, type=dict[str, str]))
    return {
        "name": preset.name,
        "agent": preset.agent,
        "permission_mode": preset.permission_mode,
        "sandbox": preset.sandbox,
        "sandbox_profile": preset.sandbox_profile,
        "mcp_server_ids": msgspec.json.decode(preset.mcp_server_ids, type=list[str]),
        "env": names,
    }


def _taken(name: str) -> Conflict:
    return Conflict("name_taken", f"A preset named {name!r} already exists.")
