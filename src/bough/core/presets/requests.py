"""Requests about presets, and the checks that need no database."""

from __future__ import annotations

import re

import msgspec

from bough.agents.catalog import Catalog
from bough.core.environment.variables import checked_env
from bough.errors import Invalid
from bough.model.agents.sandbox import Sandbox, SandboxProfile
from bough.model.session import PermissionMode

# What can be typed as a word in a shell, and is no part of an id: presets are named where an id could stand.
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}")
HEX = re.compile(r"[0-9A-Fa-f-]{8,}")
LONGEST_DESCRIPTION = 2000
LONGEST_CHOICE = 200
LONGEST_INSTRUCTIONS = 20_000
MOST_SERVERS = 50


class NewPreset(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """A preset to add. Whatever it leaves out, a session decides for itself."""

    name: str
    agent: str
    description: str = ""
    model: str | None = None
    effort: str | None = None
    permission_mode: PermissionMode | None = None
    mcp_server_ids: list[str] = []
    env: dict[str, str] = {}
    # What the agent is told before the first prompt.
    instructions: str = ""
    sandbox: Sandbox | None = None
    sandbox_profile: SandboxProfile | None = None
    idempotency_key: str | None = None


class PresetPatch(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Changes to a preset; omitted fields stay, and so do variables that are sent back masked. Sessions that were
    created from it stay as they are."""

    name: str | msgspec.UnsetType = msgspec.UNSET
    agent: str | msgspec.UnsetType = msgspec.UNSET
    description: str | msgspec.UnsetType = msgspec.UNSET
    model: str | msgspec.UnsetType | None = msgspec.UNSET
    effort: str | msgspec.UnsetType | None = msgspec.UNSET
    permission_mode: PermissionMode | msgspec.UnsetType | None = msgspec.UNSET
    mcp_server_ids: list[str] | msgspec.UnsetType = msgspec.UNSET
    env: dict[str, str] | msgspec.UnsetType = msgspec.UNSET
    instructions: str | msgspec.UnsetType = msgspec.UNSET
    sandbox: Sandbox | msgspec.UnsetType | None = msgspec.UNSET
    sandbox_profile: SandboxProfile | msgspec.UnsetType | None = msgspec.UNSET


def check_preset(preset: NewPreset, catalog: Catalog) -> None:
    """Raises `Invalid` for values that no preset can have, and `NotFound` for an unknown agent."""
    if not NAME.fullmatch(preset.name) or HEX.fullmatch(preset.name):
        raise Invalid(
            "bad_name",
            "A preset's name is 1 to 40 letters, digits, `_` or `-`, begins with a letter and does not look like "
            "an id.",
        )
    catalog.get(preset.agent)
    for field, text, limit in (
        ("description", preset.description, LONGEST_DESCRIPTION),
        ("instructions", preset.instructions, LONGEST_INSTRUCTIONS),
    ):
        if len(text) > limit:
            raise Invalid("bad_preset", f"The {field} of a preset may have at most {limit} characters.")
        if "\0" in text:
            raise Invalid("bad_preset", f"The {field} of a preset cannot contain a NUL character.")
    for field, choice in (("model", preset.model), ("effort", preset.effort)):
        if choice is not None and not (choice.strip() and len(choice) <= LONGEST_CHOICE):
            raise Invalid(
                "bad_choice",
                f"{field} must have 1 to {LONGEST_CHOICE} characters; omit it, or send null, for the agent's default.",
            )
    if len(preset.mcp_server_ids) > MOST_SERVERS:
        raise Invalid("bad_preset", f"A preset may have at most {MOST_SERVERS} MCP servers.")
    checked_env(preset.env)
