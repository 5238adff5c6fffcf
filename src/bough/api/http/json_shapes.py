"""JSON schemas of the fields that structs hold as raw JSON text, for the OpenAPI document."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]

TEXT: Json = {"type": "string"}
TEXTS: Json = {"type": "array", "items": TEXT}
VALUES: Json = {"type": "object", "additionalProperties": TEXT, "description": "Names; every value is shown as `***`."}
WHO: Json = {
    "type": "object",
    "properties": {
        "kind": {"type": "string", "enum": ["person", "session", "system"]},
        "id": {"anyOf": [TEXT, {"type": "null"}]},
        "user": {**TEXT, "description": "The name of the user; missing for the owner."},
    },
    "required": ["kind", "id"],
}
DECIDERS = ["person", "session", "system", "policy", "agent"]
DECIDER: Json = {
    **WHO,
    "properties": {**WHO["properties"], "kind": {"type": "string", "enum": DECIDERS}}
    | {
        "because": TEXT,
        "scope": {**TEXT, "description": "How far an *always* reaches: session, worktree or everywhere."},
    },
    "description": "Who decided. For `policy`, `id` is the rule or choice, or null if the mode decided. An `agent` "
    "ends its own questions.",
}
GIT: Json = {
    "type": "object",
    "properties": {
        "branch": {"anyOf": [TEXT, {"type": "null"}]},
        "sha": {"anyOf": [TEXT, {"type": "null"}]},
        "dirty": {"type": "boolean"},
    },
    "description": "The git state of the folder; empty for a plain folder.",
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
    "context": {
        "type": "object",
        "properties": {"source": TEXT},
        "description": "The context that the agent reports: tokens `used`, and its `size`.",
    },
    "cost": COST,
}

TASK: dict[str, Json] = {
    "error": {"type": "object", "properties": {"code": TEXT, "message": TEXT}, "required": ["code", "message"]},
    "gitBefore": GIT,
    "gitAfter": GIT,
    "usage": {"type": "object", "description": "Token counts as reported by the agent, and their `source`."},
    "cost": COST,
    "costBefore": COST,
    "parked": {
        "type": "object",
        "properties": {
            "agent": TEXT,
            "account": {**TEXT, "description": "Empty for the server's own login."},
            "kind": {"type": "string", "enum": ["usage", "rate"]},
            "reason": TEXT,
            "parkedAt": TEXT,
            "resumesAt": {"anyOf": [TEXT, {"type": "null"}]},
            "tries": {"type": "integer"},
        },
        "required": ["agent", "account", "kind", "reason", "parkedAt", "resumesAt", "tries"],
        "description": "The limit that an interrupted task waits for; `resumesAt` is null while a person is asked.",
    },
}

APPROVAL: dict[str, Json] = {
    "toolCall": {"type": "object", "description": "What the agent wants to do, in its own words."},
    "options": {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {"optionId": TEXT, "name": TEXT, "kind": TEXT},
            "required": ["optionId", "name", "kind"],
        },
    },
    "decidedBy": DECIDER,
    "answer": {
        "type": ["object", "null"],
        "properties": {"action": TEXT, "content": {"type": "object"}},
        "description": "The answer to a question, without secret values.",
    },
    "requestId": {"type": ["string", "integer", "null"], "description": "The agent's own id for its request."},
}

SHAPES: dict[str, dict[str, Json]] = {
    "Session": SESSION,
    "SessionCreated": SESSION,
    "SessionEnded": SESSION,
    "ResumedSession": SESSION,
    "SessionWithCascade": SESSION,
    "SessionDetail": SESSION,
    "SessionMetadata": {
        "linked": TEXTS,
        "told": TEXTS,
        "configOptions": {
            "type": "array",
            "items": {"type": "object"},
            "description": "The options that the agent offers, as it reported them.",
        },
        "commands": {
            "type": "array",
            "items": {"type": "object"},
            "description": "The agent's slash commands, as it reported them.",
        },
    },
    "LastTask": {"error": TASK["error"]},
    "Task": TASK,
    "TaskWithFiles": TASK,
    "PromptedTask": TASK,
    "Message": {
        "content": {
            "type": "object",
            "properties": {"type": TEXT},
            "required": ["type"],
            "description": "`type` is text, thought, plan, tool, error, cancelled or another kind. The prompt of a "
            "named user has `user`.",
        }
    },
    "Approval": APPROVAL,
    "HomeApproval": APPROVAL,
    "AnswerBody": {
        "arguments": {
            "type": ["object", "null"],
            "description": "Replaces the agent's arguments for a call of one of Bough's tools.",
        },
        "content": {
            "type": ["object", "null"],
            "description": "The answer to a question: values by the names of its fields.",
        },
    },
    "FinishRefusal": {"details": {"type": "object", "description": "Details of the error."}},
    "Call": {
        "arguments": {"type": "object", "description": "The arguments of the call."},
        "outcome": {"type": "object", "description": "The result, or `code` and `message` of the error."},
    },
    "Rule": {"createdBy": WHO},
    "Choice": {"decidedBy": WHO},
    "ShownSchedule": {
        "createdBy": WHO,
        "template": {
            "type": ["object", "null"],
            "description": "The new session of each run, as `POST /api/sessions` takes it.",
        },
    },
    "Repo": {
        "setup": TEXTS,
        "copyIgnored": TEXTS,
        "sandboxHosts": TEXTS,
        "gitPermissions": {"anyOf": [{"$ref": "#/components/schemas/GitPermissions"}, {"type": "null"}]},
    },
    "AuditEntry": {"details": {"type": "object", "description": "What was done, by names that depend on the action."}},
    "McpServer": {"args": TEXTS, "env": VALUES, "headers": VALUES},
    "Preset": {"mcpServerIds": TEXTS, "env": VALUES},
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
