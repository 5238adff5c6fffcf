"""What an agent said, in shapes that the protocol knows: tool calls, plans, blocks of content. Whatever does not fit
there is left out; agents say what they like, and editors are told nothing that they could choke on."""

from __future__ import annotations

from typing import Any, cast

Update = dict[str, Any]

KINDS = frozenset({"read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"})
STATUSES = frozenset({"pending", "in_progress", "completed", "failed"})
# The texts that each sort of block must have, and those that it may have.
BLOCKS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "text": (("text",), ()),
    "image": (("data", "mimeType"), ("uri",)),
    "audio": (("data", "mimeType"), ()),
    "resource_link": (("name", "uri"), ("description", "mimeType", "title")),
}
MOST_LINES = 2**32 - 1


def tool_fields(body: Update) -> Update:
    """A tool call of a transcript."""
    result = _dict(body.get("result"))
    kind, status = body.get("kind"), result.get("status")
    fields: Update = {
        "title": str(body.get("title") or body.get("tool") or "tool"),
        "kind": kind if isinstance(kind, str) and kind in KINDS else "other",
        "status": status if isinstance(status, str) and status in STATUSES else "pending",
    }
    if found := parts(result.get("content")):
        fields["content"] = found
    if found := locations(body.get("locations")):
        fields["locations"] = found
    if body.get("args"):
        fields["rawInput"] = body["args"]
    if result.get("output") is not None:
        fields["rawOutput"] = result["output"]
    return fields


def parts(content: Any) -> list[Update]:
    """The content of a tool call: blocks and diffs. Terminals are those of the agent's own client, and no others'."""
    found: list[Update] = []
    for part in _dicts(content):
        if part.get("type") == "diff" and isinstance(part.get("path"), str) and isinstance(part.get("newText"), str):
            old = part.get("oldText")
            diff = {"type": "diff", "path": part["path"], "newText": part["newText"]}
            found.append(diff | ({"oldText": old} if isinstance(old, str) else {}))
        elif part.get("type") == "content" and (inner := block(part.get("content"))) is not None:
            found.append({"type": "content", "content": inner})
    return found


def locations(value: Any) -> list[Update]:
    found: list[Update] = []
    for one in _dicts(value):
        path, line = one.get("path"), one.get("line")
        if isinstance(path, str):
            is_line = type(line) is int and 0 <= line <= MOST_LINES
            found.append({"path": path} | ({"line": line} if is_line else {}))
    return found


def block(value: Any) -> Update | None:
    """A block of content, with what the protocol has for its sort."""
    given = _dict(value)
    kind = given.get("type")
    if kind == "resource":
        return _resource(_dict(given.get("resource")))
    needed, possible = BLOCKS.get(kind, ((), ())) if isinstance(kind, str) else ((), ())
    if not needed or not all(isinstance(given.get(name), str) for name in needed):
        return None
    return {"type": kind} | {name: given[name] for name in (*needed, *possible) if isinstance(given.get(name), str)}


def _resource(given: Update) -> Update | None:
    held = next((name for name in ("text", "blob") if isinstance(given.get(name), str)), None)
    if held is None or not isinstance(given.get("uri"), str):
        return None
    names = ("uri", held, "mimeType")
    return {"type": "resource", "resource": {name: given[name] for name in names if isinstance(given.get(name), str)}}


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
    """The commands that an agent offers itself."""
    found: list[Update] = []
    for one in _dicts(value):
        name, about, hint = one.get("name"), one.get("description"), _dict(one.get("input")).get("hint")
        if isinstance(name, str) and isinstance(about, str):
            told = {"name": name, "description": about}
            found.append(told | ({"input": {"hint": hint}} if isinstance(hint, str) else {}))
    return found


def _dict(value: Any) -> Update:
    return cast("Update", value) if isinstance(value, dict) else {}


def _dicts(value: Any) -> list[Update]:
    if not isinstance(value, list):
        return []
    return [cast("Update", one) for one in cast("list[Any]", value) if isinstance(one, dict)]
