"""The OpenAPI document (A4): what Litestar derives from the routes, corrected where it is silent or wrong. The routes
say everything else themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, cast

import msgspec
from litestar import Litestar, Request
from litestar.openapi.plugins import JsonRenderPlugin

from bough.api.http.auth import OPEN
from bough.api.http.json_shapes import EVENT_STREAM, EXPORT, SHAPES, TEXT, Json
from bough.model.file import OPAQUE, SHOWN

# An answer in one of two forms, or without an end, is more than a route can say about itself.
CONTENTS: dict[tuple[str, str], Json] = {
    ("/api/sessions/{sessionId}/export", "get"): {
        "application/json": {"schema": EXPORT},
        "text/markdown": {"schema": TEXT},
    },
    ("/api/files/{fileId}", "get"): {
        kind: {"schema": {"type": "string", "contentMediaType": kind}} for kind in (*sorted(SHOWN), OPAQUE)
    },
    ("/api/events", "get"): {"text/event-stream": {"schema": EVENT_STREAM}},
}
# What Litestar says of these is about documents.
SAID = {
    "200": "Done; this is how it stands now.",
    "201": "Made, or there already; this is it.",
    "202": "Stored, and carried out as soon as it can be.",
}
FAILED = {
    "description": "Any other refusal: 405, 408, 415 (with a cookie), 429, 431, 502 of an agent, 500 for a bug.",
    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ErrorAnswer"}}},
}
RETRY_AFTER = {"schema": {"type": "integer"}, "description": "Seconds to wait before trying again."}


class Corrected(JsonRenderPlugin):
    """Litestar's own routes to the document, giving the same one."""

    def render(self, request: Request[Any, Any, Any], openapi_schema: Json) -> bytes:
        return msgspec.json.encode(document(request.app))


def document(app: Litestar) -> Json:
    """The whole contract, made once per application."""
    known: Json | None = app.state.get("openapi")
    if known is None:
        known = _corrected(app.openapi_schema.to_schema())
        app.state["openapi"] = known
    return known


def _corrected(schema: Json) -> Json:
    components: Json = schema["components"]["schemas"]
    schema["paths"] = {_camel(path): item for path, item in schema["paths"].items()}
    for path, method, operation in _operations(schema):
        body: Json | None = operation.get("requestBody")
        if body is not None:
            content: Json = body["content"]["application/json"]["schema"]
            body["required"] = {"type": "null"} not in content.get("oneOf", [])
            for name in _named(content, components):
                # Our bodies refuse fields that they do not know.
                components[name]["additionalProperties"] = False
        for parameter in operation.get("parameters", []):
            if parameter["in"] == "path":
                parameter["name"] = _camel(parameter["name"])
        for status, answer in operation["responses"].items():
            answer["description"] = SAID.get(status, answer["description"])
        operation["responses"]["default"] = FAILED
        if (path, method) in CONTENTS:
            operation["responses"]["200"]["content"] = CONTENTS[path, method]
        if method in ("delete", "patch", "put"):
            # Only what makes something is kept for its key; done twice, a removal finds nothing to remove, and a change
            # nothing to change.
            operation["parameters"] = [one for one in operation["parameters"] if one["name"] != "Idempotency-Key"]
        if (method.upper(), path) in OPEN:
            operation["security"] = []
        if "429" in operation["responses"]:
            operation["responses"]["429"]["headers"] = {"Retry-After": RETRY_AFTER}
    _describe(components)
    _loosen(schema)
    return schema


def _camel(text: str) -> str:
    """Names as everything else in the contract has them; what stands for a part of a path is only a name."""
    return re.sub(r"_([a-z])", lambda found: found[1].upper(), text)


def _describe(components: Json) -> None:
    """Says what is in the JSON that the structs hold as raw text."""
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
    """The component schemas that a part of the document uses, also through others."""
    found: set[str] = set()
    waiting: list[Any] = [part]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            entries = cast("Json", one)
            name = str(entries.get("$ref", "")).rpartition("/")[2]
            if name and name not in found:
                found.add(name)
                waiting.append(components[name])
            waiting.extend(entries.values())
        elif isinstance(one, list):
            waiting.extend(cast("list[Any]", one))
    return found


def _loosen(part: Any) -> None:
    """`oneOf` becomes `anyOf`: a null that any JSON allows too would count twice and fit nothing."""
    if isinstance(part, dict):
        entries = cast("Json", part)
        if "oneOf" in entries:
            entries["anyOf"] = entries.pop("oneOf")
        for one in entries.values():
            _loosen(one)
    elif isinstance(part, list):
        for one in cast("list[Any]", part):
            _loosen(one)
