"""Stores what an agent reports about its conversation with the session: context, cost, title, mode, options and
commands."""

from __future__ import annotations

from typing import Any, cast

from bough.core.store import records
from bough.core.store.transactions import Change
from bough.model.message import raw
from bough.model.values.redaction import DEEPEST, Redactor

# Fields of options and commands that people read. Others are identifiers, which may look like a session's variable.
_READ = ("description", "hint")


def shown_state(state: dict[str, dict[str, Any]], redactor: Redactor) -> dict[str, dict[str, Any]]:
    """Returns what the agent reports without secret values in the texts for people."""
    return {
        kind: redactor.value(body) if kind == "session_info_update" else _described(body, redactor)
        for kind, body in state.items()
    }


def _described(value: Any, redactor: Redactor, depth: int = DEEPEST) -> Any:
    if isinstance(value, list):
        return [_described(item, redactor, depth - 1) for item in cast("list[Any]", value)] if depth else []
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value) if depth else {}
        return {
            name: redactor.value(item) if name in _READ else _described(item, redactor, depth - 1)
            for name, item in fields.items()
        }
    return value


async def store_state(change: Change, session_id: str, state: dict[str, dict[str, Any]]) -> None:
    """Stores on the session what the agent reports about the conversation; each figure keeps its source."""
    session = await records.session(change.tx, session_id)
    columns: dict[str, Any] = {}
    usage = state.get("usage_update")
    if usage is not None:
        columns["context"] = raw({"used": usage.get("used"), "size": usage.get("size"), "source": "usage_update"})
        cost = usage.get("cost")
        if isinstance(cost, dict) and type(cast("dict[str, Any]", cost).get("amount")) in (int, float):
            columns["cost"] = raw({**cast("dict[str, Any]", cost), "source": "usage_update"})
    info = state.get("session_info_update")
    if info is not None and isinstance(info.get("title"), str):
        title = " ".join(info["title"].replace("\0", "").split())[:200]
        if title and (not session.title or session.metadata.title_from == "agent"):
            columns["title"] = title
            columns["title_from"] = "agent"
    if "current_mode_update" in state:
        mode = state["current_mode_update"].get("currentModeId")
        columns["agent_mode"] = mode.replace("\0", "") if isinstance(mode, str) else None
    for kind, column, key in (
        ("config_option_update", "config_options", "configOptions"),
        ("available_commands_update", "commands", "availableCommands"),
    ):
        if kind in state:
            reported = state[kind].get(key)
            columns[column] = raw(reported) if reported is not None else None
    if columns:
        await records.update_session(change, session_id, **columns)
