"""Converts an agent's tool calls, plans and content blocks to valid protocol shapes. Anything that does not fit is
dropped, so that editors never receive an invalid update."""

from __future__ import annotations

from typing import Any, cast

Update = dict[str, Any]

KINDS = frozenset({"read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"})
STATUSES = frozenset({"pending", "in_progress", "completed", "failed"})
# Required and optional texts of each block type.
BLOCKS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "text": (("text",), ()),
    "image": (("data", "mimeType"), ("uri",)),
    "audio": (("data", "mimeType"), ()),
    "resource_link": (("name", "uri"), ("description", "mimeType", "title")),
}
MOST_LINES = 2**32 - 1


def tool_fields(body: Update) -> Update:
    """Returns the fields of a transcript's tool call."""
    result = _dict(body.get("result"))
    kind, status = body.get("kind"), result.get("status")
    fields: Update = {
        "title": str(body.get("title") or body.get("tool") or "tool"),
        "kind": kind if isinstance(kind, str) and kind in KINDS else "other",
        "status": status if isinstance(status, str) and status in STATUSES else "pending",
    }
    if content := parts(result.get("content")):
        fields["content"] = content
    if places := locations(body.get("locations")):
        fields["locations"] = places
    if body.get("args"):
        fields["rawInput"] = body["args"]
    if result.get("output") is not None:
        fields["rawOutput"] = result["output"]
    return fields


def parts(content: Any) -> list[Update]:
    """Returns a tool call's blocks and diffs. Terminals are dropped: they exist only in the agent's own client."""
    shown: list[Update] = []
    for part in _dicts(content):
        if part.get("type") == "diff" and isinstance(part.get("path"), str) and isinstance(part.get("newText"), str):
            old = part.get("oldText")
            diff = {"type": "diff", "path": part["path"], "newText": part["newText"]}
            shown.append(diff | ({"oldText": old} if isinstance(old, str) else {}))
        elif part.get("type") == "content" and (inner := block(part.get("content"))) is not None:
            shown.append({"type": "content", "content": inner})
    return shown


def locations(value: Any) -> list[Update]:
    places: list[Update] = []
    for location in _dicts(value):
        path, line = location.get("path"), location.get("line")
        if isinstance(path, str):
            is_line = type(line) is int and 0 <= line <= MOST_LINES
            places.append({"path": path} | ({"line": line} if is_line else {}))
    return places


def block(value: Any) -> Update | None:
    """Returns a valid content block, or None."""
    fields = _dict(value)
    kind = fields.get("type")
    if kind == "resource":
        return _resource(_dict(fields.get("resource")))
    needed, possible = BLOCKS.get(kind, ((), ())) if isinstance(kind, str) else ((), ())
    if not needed or not all(isinstance(fields.get(name), str) for name in needed):
        return None
    return {"type": kind} | {name: fields[name] for name in (*needed, *possible) if isinstance(fields.get(name), str)}


def _resource(fields: Update) -> Update | None:
    held = next((name for name in ("text", "blob") if isinstance(fields.get(name), str)), None)
    if held is None or not isinstance(fields.get("uri"), str):
        return None
    names = ("uri", held, "mimeType")
    return {"type": "resource", "resource": {name: fields[name] for name in names if isinstance(fields.get(name), str)}}


def plan_entries(steps: Any) -> list[Update]:
    entries: list[Update] = []
    for step in _dicts(steps):
        priority, status = step.get("priority"), step.get("status")
        entries.append(
            {
                "content": str(step.get("content", "")),
                "priority": priority if priority in ("high", "medium", "low") else "medium",
                "status": status if status in ("pending", "in_progress", "completed") else "pending",
            }
        )
    return entries


def agents_commands(value: Any) -> list[Update]:
    """Returns the commands that an agent itself offers."""
    commands: list[Update] = []
    for offered in _dicts(value):
        name, about, hint = offered.get("name"), offered.get("description"), _dict(offered.get("input")).get("hint")
        if isinstance(name, str) and isinstance(about, str):
            command = {"name": name, "description": about}
            commands.append(command | ({"input": {"hint": hint}} if isinstance(hint, str) else {}))
    return commands


def _dict(value: Any) -> Update:
    return cast("Update", value) if isinstance(value, dict) else {}


def _dicts(value: Any) -> list[Update]:
    if not isinstance(value, list):
        return []
    return [cast("Update", item) for item in cast("list[Any]", value) if isinstance(item, dict)]
