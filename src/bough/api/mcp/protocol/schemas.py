"""The JSON schemas of what tools take and give, short enough for a model's context: no titles, no definitions, no
defaults. What the fields mean is said by the descriptions in their types."""

from __future__ import annotations

from typing import Any, cast

import msgspec

from bough.api.mcp.tools.base import Tool

Schema = dict[str, Any]

# What a call that waits for a person gives instead of its result.
PENDING: Schema = {"approvalId": {"type": "string"}, "message": {"type": "string"}}
LEFT_OUT = frozenset({"title", "default", "discriminator"})


def input_schema(tool: Tool[Any]) -> Schema:
    schema = _inlined(tool.takes)
    schema.setdefault("properties", {})
    if "idempotencyKey" in schema["properties"]:
        schema["properties"]["idempotencyKey"] = {"type": "string"}
    return {**schema, "additionalProperties": False}


def output_schema(tool: Tool[Any]) -> Schema:
    """An object. What changes something may give a handle instead, so nothing is required of it."""
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
        return [_short(one, parts) for one in cast("list[Any]", node)]
    if not isinstance(node, dict):
        return node
    found = cast("Schema", node)
    if "$ref" in found:
        return _short(parts[found["$ref"].removeprefix("#/")], parts, top=top)
    short: Schema = {}
    for name, value in found.items():
        if name == "properties":
            short[name] = {key: _short(one, parts) for key, one in cast("Schema", value).items()}
        elif name == "required":
            if value:
                short[name] = value
        elif name not in LEFT_OUT and not (name == "description" and "properties" in found):
            short[name] = _short(value, parts)
    if "enum" in short:
        # Some models' interfaces want it said.
        short.setdefault("type", "string")
    return _optional(short)


def _optional(schema: Schema) -> Schema:
    """`X or null` as X: what is not wanted is left out."""
    either = cast("list[Any]", schema.get("anyOf", []))
    kept = [one for one in either if one != {"type": "null"}]
    if len(kept) == 1 and len(either) == 2:
        rest = {name: value for name, value in schema.items() if name != "anyOf"}
        return {**cast("Schema", kept[0]), **rest}
    return schema
