"""Shapes of what is stored and sent as JSON text, which the structs call raw: the OpenAPI document (A4) takes them from
here. What is in them is decided by whoever writes them."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]

TEXT: Json = {"type": "string"}
TEXTS: Json = {"type": "array", "items": TEXT}
VALUES: Json = {"type": "object", "additionalProperties": TEXT, "description": "Names; each value is shown as `***`."}
WHO: Json = {
    "type": "object",
    "properties": {
        "kind": {"type": "string", "enum": ["person", "session", "system"]},
        "id": {"anyOf": [TEXT, {"type": "null"}]},
    },
    "required": ["kind", "id"],
}
DECIDER: Json = {
    **WHO,
    "properties": {**WHO["properties"], "kind": {"type": "string", "enum": ["person", "session", "system", "policy"]}}
    | {"because": TEXT},
    "description": "Who decided; `policy` with the id of the rule or the choice, or none for the mode.",
}
GIT: Json = {
    "type": "object",
    "properties": {
        "branch": {"anyOf": [TEXT, {"type": "null"}]},
        "sha": {"anyOf": [TEXT, {"type": "null"}]},
        "dirty": {"type": "boolean"},
    },
    "description": "Where the working copy stood; empty for a plain folder.",
}
COST: Json = {"type": "object", "properties": {"amount": {"type": "number"}, "currency": TEXT, "source": TEXT}}

SESSION: dict[str, Json] = {
    "allowedTools": TEXTS,
    "mcpServerIds": TEXTS,
    "env": VALUES,
    "contextFiles": TEXTS,
    "callback": {"$ref": "#/components/schemas/CallbackConfig"},
    "createdBy": WHO,
    "gitState": GIT,
    "metadata": {
        "type": "object",
        "description": "`reason` says why the session ended.",
    },
    "context": {
        "type": "object",
        "properties": {"source": TEXT},
        "description": "How much of its context the agent says it has `used`, and of what `size`.",
    },
    "cost": COST,
}

TASK: dict[str, Json] = {
    "error": {"type": "object", "properties": {"code": TEXT, "message": TEXT}, "required": ["code", "message"]},
    "gitBefore": GIT,
    "gitAfter": GIT,
    "usage": {"type": "object", "description": "Tokens as the agent reported them, and the `source` of that."},
    "cost": COST,
    "costBefore": COST,
}

APPROVAL: dict[str, Json] = {
    "toolCall": {"type": "object", "description": "What the agent wants to do, as it says so itself."},
    "options": {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {"optionId": TEXT, "name": TEXT, "kind": TEXT},
            "required": ["optionId", "name", "kind"],
        },
    },
    "decidedBy": DECIDER,
    "requestId": {"type": ["string", "integer", "null"], "description": "The agent's own id of its question."},
}

SHAPES: dict[str, dict[str, Json]] = {
    "Session": SESSION,
    "SessionCreated": SESSION,
    "SessionEnded": SESSION,
    "SessionSteered": SESSION,
    "SessionDetail": SESSION,
    "LastTask": {"error": TASK["error"]},
    "Task": TASK,
    "TaskWithFiles": TASK,
    "Message": {
        "content": {
            "type": "object",
            "properties": {"type": TEXT},
            "required": ["type"],
            "description": "Told apart by `type`: text, thought, plan, tool, error, cancelled and others.",
        }
    },
    "Approval": APPROVAL,
    "HomeApproval": APPROVAL,
    "AnswerBody": {
        "arguments": {
            "type": ["object", "null"],
            "description": "What a call of one of Bough's tools is carried out with instead of what its agent said.",
        }
    },
    "Call": {
        "arguments": {"type": "object", "description": "What the tool was called with."},
        "outcome": {"type": "object", "description": "What it gave, or `code` and `message` of why it did not."},
    },
    "Rule": {"createdBy": WHO},
    "Choice": {"decidedBy": WHO},
    "Repo": {"setup": TEXTS, "copyIgnored": TEXTS},
    "McpServer": {"args": TEXTS, "env": VALUES, "headers": VALUES},
}

EVENT_STREAM: Json = {
    "type": "string",
    "description": "Server-sent events. `data` is one JSON object; those with a cursor have it as `id` too.",
}
EXPORT: Json = {
    "type": "object",
    "properties": {
        "format": {"type": "string", "const": "bough/1"},
        "session": {"$ref": "#/components/schemas/Session"},
        "repo": {"anyOf": [{"$ref": "#/components/schemas/Repo"}, {"type": "null"}]},
        "tasks": {"type": "array", "items": {"$ref": "#/components/schemas/Task"}},
        "inherited": {"type": "array", "items": {"$ref": "#/components/schemas/Message"}},
        "messages": {"type": "array", "items": {"$ref": "#/components/schemas/Message"}},
    },
    "required": ["format", "session", "repo", "tasks", "inherited", "messages"],
}
