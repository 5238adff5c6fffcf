"""Describes the frames of the event stream for the OpenAPI document: one schema per noun of the state changes, with the
record that it carries, and one per live frame."""

from __future__ import annotations

from bough.api.http.json_shapes import TEXT, Json
from bough.model.event import EVENT_TYPES

# The record that the events of a noun carry, by the name of its schema.
RECORDS = {
    "repo": "Repo",
    "worktree": "Worktree",
    "board": "Board",
    "mcp_server": "McpServer",
    "preset": "Preset",
    "session": "Session",
    "task": "Task",
    "message": "Message",
    "approval": "Approval",
    "tree": "Budget",
    "callback": "Callback",
    "rule": "Rule",
    "choice": "Choice",
}
INTEGER: Json = {"type": "integer"}
EVENT = "#/components/schemas/Event"


def event_schemas() -> dict[str, Json]:
    """Returns the schemas of all frames, and `Event` for any of them."""
    schemas = {_name(noun): _state_change(noun, record) for noun, record in RECORDS.items()}
    text = {"sessionId": TEXT, "messageId": TEXT, "offset": INTEGER, "text": TEXT}
    schemas |= {
        "MessageDeltaFrame": _live("message.delta", "Text that a growing message has gained at `offset`.", text),
        "MessageSnapshotFrame": _live("message.snapshot", "The text so far of a message that is growing.", text),
        "StreamReadyFrame": _live(
            "stream.ready", "Everything up to `cursor` has been sent; what follows is live.", {"cursor": INTEGER}
        ),
        "StreamGapFrame": _live(
            "stream.gap", "These events are no longer kept: read the state again.", {"from": INTEGER, "to": INTEGER}
        ),
        "StreamDroppedFrame": _live(
            "stream.dropped", "The reader was too slow: reconnect from this cursor.", {"reconnectFrom": INTEGER}
        ),
    }
    anything: Json = {
        "description": "A frame of the event stream; `type` says which.",
        "anyOf": [{"$ref": f"#/components/schemas/{name}"} for name in schemas],
    }
    return {**schemas, "Event": anything}


def _name(noun: str) -> str:
    return "".join(word.capitalize() for word in noun.split("_")) + "Event"


def _state_change(noun: str, record: str) -> Json:
    types = [kind for kind in EVENT_TYPES if kind.partition(".")[0] == noun]
    properties: Json = {
        "cursor": {**INTEGER, "description": "The event's number, in commit order."},
        "type": {"type": "string", "enum": types},
        "sessionId": {"anyOf": [TEXT, {"type": "null"}], "description": "The session that it concerns."},
        "objectId": {**TEXT, "description": "The id of the record."},
        "data": {"$ref": f"#/components/schemas/{record}"},
        "createdAt": {**TEXT, "description": "When it was committed (ISO 8601)."},
    }
    return {
        "type": "object",
        "description": f"A change of a {noun.replace('_', ' ')}; `data` is the record after it.",
        "properties": properties,
        "required": list(properties),
    }


def _live(kind: str, description: str, fields: Json) -> Json:
    properties = {"type": {"type": "string", "const": kind}, **fields}
    return {"type": "object", "description": description, "properties": properties, "required": list(properties)}
