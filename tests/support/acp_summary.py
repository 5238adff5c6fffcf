"""What a client has in the end of all that it was told of a session, chunking aside: the same for whoever watched and
whoever came later. Hearing it is `acp_driver`'s part."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]


def story(updates: list[Json]) -> list[Json]:
    """Messages, tool calls and plans as they stand after all updates, in the order of their beginnings."""
    found: dict[Any, Json] = {}
    for update in updates:
        kind = update["sessionUpdate"]
        if kind.endswith("_chunk"):
            known = found.setdefault((kind, update.get("messageId")), {"kind": kind, "parts": []})
            content, parts = update["content"], known["parts"]
            if content["type"] == "text" and parts and parts[-1]["type"] == "text":
                parts[-1] = {"type": "text", "text": parts[-1]["text"] + content["text"]}
            else:
                parts.append(content)
        elif kind in ("tool_call", "tool_call_update"):
            assert (kind == "tool_call") == (update["toolCallId"] not in found), update
            call = found.setdefault(update["toolCallId"], {"kind": "tool"})
            call |= {name: value for name, value in update.items() if name != "sessionUpdate"}
        elif kind == "plan":
            # A plan takes the place of the one before.
            found.setdefault("plan", {"kind": "plan"})["entries"] = update["entries"]
    empty: tuple[Any, ...] = ([], {}, None)
    return [{name: value for name, value in one.items() if value not in empty} for one in found.values()]


def spoken(story: list[Json]) -> list[str]:
    """Texts of both sides, in order."""
    return ["".join(part.get("text", "") for part in one["parts"]) for one in story if "parts" in one]
