"""Reduces the updates that an ACP client received to the messages, tool calls and plans that they amount to."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]


def summarize_updates(updates: list[Json]) -> list[Json]:
    """Returns messages, tool calls and plans as they are after all updates, in the order in which they started. How
    text was split into chunks does not matter, so a client that watched and one that came later get the same."""
    items: dict[Any, Json] = {}
    for update in updates:
        kind = update["sessionUpdate"]
        if kind.endswith("_chunk"):
            message = items.setdefault((kind, update.get("messageId")), {"kind": kind, "parts": []})
            content, parts = update["content"], message["parts"]
            if content["type"] == "text" and parts and parts[-1]["type"] == "text":
                parts[-1] = {"type": "text", "text": parts[-1]["text"] + content["text"]}
            else:
                parts.append(content)
        elif kind in ("tool_call", "tool_call_update"):
            if (kind == "tool_call") == (update["toolCallId"] in items):
                raise ValueError(f"A tool call must be announced once, before its updates: {update}")
            call = items.setdefault(update["toolCallId"], {"kind": "tool"})
            call |= {name: value for name, value in update.items() if name != "sessionUpdate"}
        elif kind == "plan":
            # A plan replaces the one before.
            items.setdefault("plan", {"kind": "plan"})["entries"] = update["entries"]
    empty: tuple[Any, ...] = ([], {}, None)
    return [{name: value for name, value in item.items() if value not in empty} for item in items.values()]


def message_texts(items: list[Json]) -> list[str]:
    """Returns the texts of both sides, in order."""
    return ["".join(part.get("text", "") for part in item["parts"]) for item in items if "parts" in item]
