"""Defines a preset: a named combination of an agent and its settings, which new sessions can start from."""

from __future__ import annotations

import msgspec

from bough.model.agents.sandbox import Sandbox, SandboxProfile
from bough.model.session import PermissionMode


class Preset(msgspec.Struct, rename="camel"):
    """A row of `presets` as everyone sees it. Values of variables are in a separate table."""

    id: str
    name: str
    description: str
    agent: str
    model: str | None
    effort: str | None
    permission_mode: PermissionMode | None
    mcp_server_ids: msgspec.Raw
    env: msgspec.Raw
    # What the agent is told before the first prompt.
    instructions: str
    sandbox: Sandbox | None
    sandbox_profile: SandboxProfile | None
    created_at: str
    updated_at: str


class SessionPreset(msgspec.Struct, frozen=True):
    """The part of a preset that a session remembers, and the instructions for its agent."""

    id: str
    name: str
    instructions: str


class ChosenPreset(SessionPreset, frozen=True):
    """A preset as a new session takes it over, with the values of its variables."""

    agent: str
    model: str | None
    effort: str | None
    permission_mode: PermissionMode | None
    mcp_server_ids: list[str]
    env: dict[str, str]
    sandbox: Sandbox | None
    sandbox_profile: SandboxProfile | None
    # Another one after every change.
    version: str
