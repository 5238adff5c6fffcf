"""Generates the OpenAPI document: Litestar derives it from the routes, and this module corrects what it gets wrong or
leaves out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, cast

import msgspec
from litestar import Litestar, Request
from litestar.enums import HttpMethod
from litestar.handlers import HTTPRouteHandler
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.types.internal_types import PathParameterDefinition

from bough.api.http.auth import OPEN
from bough.api.http.event_schemas import EVENT, event_schemas
from bough.api.http.json_shapes import EXPORT, SHAPES, TEXT, Json
from bough.api.http.schema_descriptions import describe_schemas
from bough.model.values.file_type import OPAQUE, SHOWN

# Answers with several media types, or endless ones, which a route cannot declare itself.
CONTENTS: dict[tuple[str, str], Json] = {
    ("/api/sessions/{sessionId}/export", "get"): {
        "application/json": {"schema": EXPORT},
        "text/markdown": {"schema": TEXT},
    },
    ("/api/files/{fileId}", "get"): {
        kind: {"schema": {"type": "string", "contentMediaType": kind}} for kind in (*sorted(SHOWN), OPAQUE)
    },
    ("/api/events", "get"): {
        "text/event-stream": {
            "schema": {
                "type": "string",
                "contentMediaType": "application/json",
                "contentSchema": {"$ref": EVENT},
                "description": "Server-sent events. `data` is one `Event`; events with a cursor also have it as `id`.",
            }
        }
    },
}
# Litestar's own descriptions speak of documents.
DESCRIPTIONS = {
    "200": "Success; the current state.",
    "201": "Created, or already there.",
    "202": "Accepted; it is carried out as soon as possible.",
}
FAILED = {
    "description": "Any other error: 405, 408, 415 (with a cookie), 429, 431, 502 if an agent failed, 503 if the "
    "database is away, 500 for a bug.",
    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ErrorAnswer"}}},
}
TAGS = {
    "sessions": "Create, read, prompt, change and end sessions, and search their transcripts.",
    "trees": "Fork and spawn sessions, ask side questions, wait, and limit what a tree may use.",
    "reviews": "Read changes against their base, draft comments on them, and send them as one prompt.",
    "races": "Give one prompt to several agents and keep one result.",
    "tasks": "Read, edit, move and cancel prompts and their turns.",
    "approvals": "List and decide what agents ask for.",
    "checkpoints": "Compare and restore the files of a moment.",
    "files": "Read files that were attached to prompts.",
    "policy": "Rules and choices about tool uses.",
    "repos": "Register folders that sessions work in.",
    "worktrees": "Create, compare, remove and recover working copies.",
    "boards": "Arrange cards.",
    "terminals": "A person's own shells in worktrees.",
    "runs": "Start, follow and stop a worktree's own commands.",
    "schedules": "Send prompts by the clock.",
    "agents": "Agents of the catalog, and what they offer before the first turn.",
    "presets": "Named combinations of agent, model, mode and more for new sessions.",
    "saved prompts": "Prompts that a person keeps to insert again, and those of a repository.",
    "conversations": "List and import what agents held outside of Bough.",
    "mcp-servers": "MCP servers that sessions can be given.",
    "home": "The start page and the tour.",
    "system": "Health, settings, agents and metrics.",
    "tokens": "The tokens of people and browsers.",
    "users": "The people who may use this server.",
    "audit": "Who did what.",
    "events": "Follow every change.",
}
# Where the name of a route's function does not say enough for a client.
OPERATION_IDS = {
    "list_found": "listGitWorktrees",
    "explain": "explainPolicy",
    "health": "getHealth",
    "see_session": "markSessionSeen",
    "make_tour": "createTour",
    "events_sse": "streamEvents",
    "rotate_token": "rotateServerToken",
    "patch_git_permissions": "updateGitPermissions",
    "list_audit": "listAuditEntries",
}
RETRY_AFTER = {"schema": {"type": "integer"}, "description": "Seconds to wait before trying again."}


class CorrectedJsonPlugin(JsonRenderPlugin):
    """Makes Litestar's own routes return the corrected document."""

    def render(self, request: Request[Any, Any, Any], openapi_schema: Json) -> bytes:
        return msgspec.json.encode(document(request.app))


def document(app: Litestar) -> Json:
    """Returns the OpenAPI document, which is generated once per application."""
    schema: Json | None = app.state.get("openapi")
    if schema is None:
        schema = _corrected(app.openapi_schema.to_schema())
        app.state["openapi"] = schema
    return schema


def _corrected(schema: Json) -> Json:
    components: Json = schema["components"]["schemas"]
    schema["paths"] = {_camel(path): item for path, item in schema["paths"].items()}
    for path, method, operation in _operations(schema):
        body: Json | None = operation.get("requestBody")
        if body is not None:
            content: Json = body["content"]["application/json"]["schema"]
            body["required"] = {"type": "null"} not in content.get("oneOf", [])
            for name in _named(content, components):
                # Bodies with unknown fields are refused.
                components[name]["additionalProperties"] = False
        for parameter in operation.get("parameters", []):
            if parameter["in"] == "path":
                parameter["name"] = _camel(parameter["name"])
        for status, answer in operation["responses"].items():
            answer["description"] = DESCRIPTIONS.get(status, answer["description"])
        operation["responses"]["default"] = FAILED
        if (path, method) in CONTENTS:
            operation["responses"]["200"]["content"] = CONTENTS[path, method]
        if method != "post" and "parameters" in operation:
            # Only requests that create something use the key; repeating a removal or a change has no further effect.
            operation["parameters"] = [
                parameter for parameter in operation["parameters"] if parameter["name"] != "Idempotency-Key"
            ]
        if (method.upper(), path) in OPEN:
            operation["security"] = []
        if "429" in operation["responses"]:
            operation["responses"]["429"]["headers"] = {"Retry-After": RETRY_AFTER}
    _describe(components)
    components |= event_schemas()
    describe_schemas(components)
    schema["tags"] = [{"name": name, "description": text} for name, text in TAGS.items()]
    _loosen(schema)
    return schema


def operation_id(
    handler: HTTPRouteHandler, _method: HttpMethod | str, _path: list[str | PathParameterDefinition]
) -> str:
    """Returns the name that a generated client gives an operation, such as `createSession`."""
    name = handler.handler_name
    return OPERATION_IDS.get(name) or _camel(re.sub("^patch_", "update_", name))


def _camel(text: str) -> str:
    """Converts path parameters to camel case, like all other names of the API."""
    return re.sub(r"_([a-z])", lambda match: match[1].upper(), text)


def _describe(components: Json) -> None:
    """Adds the schemas of fields that the structs hold as raw JSON text."""
    for name, fields in SHAPES.items():
        properties: Json = components[name]["properties"]
        for field, shape in fields.items():
            alternatives = properties[field].get("oneOf", properties[field].get("anyOf", []))
            properties[field] = {"anyOf": [shape, {"type": "null"}]} if {"type": "null"} in alternatives else shape


def _operations(schema: Json) -> Iterator[tuple[str, str, Json]]:
    for path, item in schema["paths"].items():
        for method, operation in item.items():
            yield path, method, operation


def _named(part: Any, components: Json) -> set[str]:
    """Returns the component schemas that a part of the document uses, directly or indirectly."""
    names: set[str] = set()
    waiting: list[Any] = [part]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            entries = cast("Json", node)
            name = str(entries.get("$ref", "")).rpartition("/")[2]
            if name and name not in names:
                names.add(name)
                waiting.append(components[name])
            waiting.extend(entries.values())
        elif isinstance(node, list):
            waiting.extend(cast("list[Any]", node))
    return names


def _loosen(part: Any) -> None:
    """Replaces `oneOf` by `anyOf`: null would match both "any JSON" and null, so `oneOf` would reject it."""
    if isinstance(part, dict):
        entries = cast("Json", part)
        if "oneOf" in entries:
            entries["anyOf"] = entries.pop("oneOf")
        for value in entries.values():
            _loosen(value)
    elif isinstance(part, list):
        for value in cast("list[Any]", part):
            _loosen(value)
