"""What an editor can choose for a session: modes, and the options agent, model and effort. Applying them is the
services' part."""

from __future__ import annotations

from typing import Any

from bough.agents.acp.answers import Choice, read_config_options
from bough.agents.catalog import Catalog
from bough.model.session import MODES, PermissionMode, Session

MODE_NAMES: dict[PermissionMode, tuple[str, str]] = {
    "plan": ("Plan", "Reads only, changes nothing."),
    "default": ("Ask", "Asks before anything is changed or run."),
    "acceptEdits": ("Accept edits", "Edits files in its folder; asks before the rest."),
    "auto": ("Auto", "Edits and runs what is safe; asks before the rest."),
    "bypassPermissions": ("Allow all", "Asks about nothing."),
}
# Modes that grant the same under the name of another agent.
SAME: dict[PermissionMode, PermissionMode] = {"ask": "default", "on-failure": "auto", "allow-all": "bypassPermissions"}
# The value of an option that leaves it to the agent.
OWN = "bough:own"


def modes(session: Session) -> dict[str, Any]:
    return {
        "currentModeId": SAME.get(session.permission_mode, session.permission_mode),
        "availableModes": [
            {"id": mode, "name": name, "description": about} for mode, (name, about) in MODE_NAMES.items()
        ],
    }


def mode(text: str) -> PermissionMode | None:
    return next((one for one in MODES if one == text), None)


def options(session: Session, catalog: Catalog) -> list[dict[str, Any]]:
    """The options as they stand. An agent can be chosen until it has begun to work; what it offers itself is known once
    it has said so."""
    is_new = session.activity == "not_started" and session.kind == "root"
    agents = catalog.names() if is_new else [session.agent]
    found = [_select("agent", "Agent", "other", session.agent, [Choice(one, one) for one in agents])]
    entry = catalog.get(session.agent)
    told = {one.id: one.choices for one in read_config_options(session.metadata.offered_options)}
    for name, category, option in (
        ("model", "model", entry.model_option),
        ("effort", "thought_level", entry.effort_option),
    ):
        value: str | None = getattr(session, name)
        values = [Choice(OWN, "The agent's own"), *told.get(option or "", [])]
        if value is not None and all(one.value != value for one in values):
            values.append(Choice(value, value))
        found.append(_select(name, name.capitalize(), category, value or OWN, values))
    return found


def chosen(value: str) -> str | None:
    """What a session is given for a value of an option."""
    return None if value == OWN else value


def _select(id: str, name: str, category: str, current: str, values: list[Choice]) -> dict[str, Any]:
    return {
        "id": id,
        "name": name,
        "category": category,
        "type": "select",
        "currentValue": current,
        "options": [{"value": one.value, "name": one.name or one.value} for one in values],
    }
