"""The OpenAPI document (A4): what Litestar derives from the routes, corrected where it is silent or wrong. The routes
say everything else themselves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from litestar import Litestar

Json = dict[str, Any]

# An answer in one of two forms is more than a route can say about itself.
EXPORT = ("/api/sessions/{session_id}/export", "get")
EXPORT_CONTENT = {
    "application/json": {"schema": {"type": "object"}},
    "text/markdown; charset=utf-8": {"schema": {"type": "string"}},
}
RETRY_AFTER = {"schema": {"type": "integer"}, "description": "Seconds to wait before trying again."}


def document(app: Litestar) -> Json:
    """The whole contract, made once per application."""
    known: Json | None = app.state.get("openapi")
    if known is None:
        known = _corrected(app.openapi_schema.to_schema())
        app.state["openapi"] = known
    return known


def _corrected(schema: Json) -> Json:
    components: Json = schema["components"]["schemas"]
    for path, method, operation in _operations(schema):
        body: Json | None = operation.get("requestBody")
        if body is not None:
            content: Json = body["content"]["application/json"]["schema"]
            body["required"] = {"type": "null"} not in content.get("oneOf", [])
            for name in _named(content, components):
                # Our bodies refuse fields that they do not know.
                components[name]["additionalProperties"] = False
        if (path, method) == EXPORT:
            operation["responses"]["200"]["content"] = EXPORT_CONTENT
        if "429" in operation["responses"]:
            operation["responses"]["429"]["headers"] = {"Retry-After": RETRY_AFTER}
    _loosen(schema)
    return schema


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
