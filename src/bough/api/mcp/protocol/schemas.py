"""Generates the JSON schemas of tools' parameters and results, kept short for a model's context: no titles, definitions
or defaults."""

from __future__ import annotations

from typing import Any, cast

import msgspec

from bough.api.mcp.tools.base import Tool

Schema = dict[str, Any]

# The result of a call that is waiting for approval, without its message: the list has to be short.
PENDING: Schema = {"approvalId": {"type": "string"}}
OMITTED = frozenset({"title", "default", "discriminator"})


def input_schema(tool: Tool[Any]) -> Schema:
    schema = _inlined(tool.takes)
    schema.setdefault("properties", {})
    if "idempotencyKey" in schema["properties"]:
        schema["properties"]["idempotencyKey"] = {"type": "string"}
    return {**schema, "additionalProperties": False}


def output_schema(tool: Tool[Any]) -> Schema:
    """Returns the schema of a tool's result. A change may return a pending approval instead, so nothing is required."""
    gives: object = tool.gives
    schema = dict(cast("Schema", gives)) if isinstance(gives, dict) else _inlined(gives)
    if tool.effect != "read":
        schema.pop("required", None)
        schema["properties"] = schema["properties"] | PENDING
    return schema


def _inlined(kind: Any) -> Schema:
    (schema,), parts = msgspec.json.schema_components([kind], ref_template="#/{name}")
    return cast("Schema", _short(schema, parts, top=True))


def _short(node: Any, parts: dict[str, Schema], *, top: bool = False) -> Any:
    if isinstance(node, list):
        return [_short(value_part, parts) for value_part in cast("list[Any]", node)]
    if not isinstance(node, dict):
        return node
    schema = cast("Schema", node)
    if "$ref" in schema:
        return _short(parts[schema["$ref"].removeprefix("#/")], parts, top=top)
    short: Schema = {}
    for name, value in schema.items():
        if name == "properties":
            short[name] = {key: _short(value_part, parts) for key, value_part in cast("Schema", value).items()}
        elif name == "required":
            if value:
                short[name] = value
        elif name not in OMITTED and not (name == "description" and "properties" in schema):
            short[name] = _short(value, parts)
    if "enum" in short:
        # Some model APIs require the type.
        short.setdefault("type", "string")
    return _optional(short)


def _optional(schema: Schema) -> Schema:
    """Simplifies `X or null` to X; callers omit what they do not want to set."""
    either = cast("list[Any]", schema.get("anyOf", []))
    others = [option for option in either if option != {"type": "null"}]
    if len(others) == 1 and len(either) == 2:
        rest = {name: value for name, value in schema.items() if name != "anyOf"}
        return {**cast("Schema", others[0]), **rest}
    return schema
