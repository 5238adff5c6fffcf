"""Lists what an editor can choose for a session: modes, and the options agent, model and effort."""

from __future__ import annotations

from typing import Any

from bough.agents.acp.answers import OptionValue, read_config_options
from bough.agents.catalog import Catalog
from bough.model.session import MODES, PermissionMode, Session

MODE_NAMES: dict[PermissionMode, tuple[str, str]] = {
    "plan": ("Plan", "Reads only, changes nothing."),
    "default": ("Ask", "Asks before every change or command."),
    "acceptEdits": ("Accept edits", "Edits files in its folder; asks before anything else."),
    "auto": ("Auto", "Edits files and runs safe commands; asks before anything else."),
    "bypassPermissions": ("Allow all", "Never asks."),
}
# Aliases of modes.
ALIASES: dict[PermissionMode, PermissionMode] = {
    "ask": "default",
    "on-failure": "auto",
    "allow-all": "bypassPermissions",
}
# The value of an option that uses the agent's default.
AGENTS_DEFAULT = "bough:own"


def modes(session: Session) -> dict[str, Any]:
    return {
        "currentModeId": ALIASES.get(session.permission_mode, session.permission_mode),
        "availableModes": [
            {"id": mode, "name": name, "description": about} for mode, (name, about) in MODE_NAMES.items()
        ],
    }


def mode(text: str) -> PermissionMode | None:
    return next((known for known in MODES if known == text), None)


def options(session: Session, catalog: Catalog) -> list[dict[str, Any]]:
    """Returns the options with their current values. The agent can be changed until it starts; its own models and
    efforts are known once it has reported them."""
    is_new = session.activity == "not_started" and session.kind == "root"
    agents = catalog.names() if is_new else [session.agent]
    selects = [_select("agent", "Agent", "other", session.agent, [OptionValue(name, name) for name in agents])]
    entry = catalog.get(session.agent)
    offered = {option.id: option.choices for option in read_config_options(session.metadata.offered_options)}
    for name, category, option in (
        ("model", "model", entry.model_option),
        ("effort", "thought_level", entry.effort_option),
    ):
        value: str | None = getattr(session, name)
        values = [OptionValue(AGENTS_DEFAULT, "Agent's default"), *offered.get(option or "", [])]
        if value is not None and all(choice.value != value for choice in values):
            values.append(OptionValue(value, value))
        selects.append(_select(name, name.capitalize(), category, value or AGENTS_DEFAULT, values))
    return selects


def chosen(value: str) -> str | None:
    """Returns a session's setting for an option's value; None for the agent's default."""
    return None if value == AGENTS_DEFAULT else value


def _select(id: str, name: str, category: str, current: str, values: list[OptionValue]) -> dict[str, Any]:
    return {
        "id": id,
        "name": name,
        "category": category,
        "type": "select",
        "currentValue": current,
        "options": [{"value": choice.value, "name": choice.name or choice.value} for choice in values],
    }
