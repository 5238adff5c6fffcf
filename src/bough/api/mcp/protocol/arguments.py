"""Reads the arguments of a tool call. Errors use the words of the tool's schema, so that a model can correct them."""

from __future__ import annotations

import difflib
import re
from typing import Any, cast

import msgspec

from bough.api.mcp.protocol.schemas import Schema, input_schema
from bough.api.mcp.tools.base import Tool
from bough.errors import Invalid

WHERE = re.compile(r" - at `\$\.?(?P<path>.*)`$")
MISSING = re.compile(r"missing required field `(?P<name>.+)`$")
UNKNOWN = re.compile(r"unknown field `(?P<name>.+)`$", re.DOTALL)
CHOICE = re.compile(r"Invalid enum value (?P<given>.+)$", re.DOTALL)
KIND = re.compile(r"Expected `(?P<wanted>[^`]+)`, got `(?P<given>[^`]+)`$")
BOUND = re.compile(r"Expected `\w+` (?P<sign><=|>=) (?P<bound>[\d.]+)$")
STEP = re.compile(r"\[[^]]*\]")
KINDS = {
    "str": "a text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}


def read(tool: Tool[Any], arguments: dict[str, Any]) -> Any:
    """Converts the arguments to the tool's parameters; raises `Invalid` with an explanation."""
    try:
        return msgspec.convert(without_nulls(arguments), tool.takes)
    except msgspec.ValidationError as error:
        schema = input_schema(tool)
        raise Invalid(
            "bad_arguments", f"{_explain(str(error), schema)} {tool.name} takes {_describe_parameters(schema)}."
        ) from error


def without_nulls(arguments: dict[str, Any]) -> dict[str, Any]:
    """Returns the arguments without nulls, which some clients send for omitted arguments."""
    return {name: value for name, value in arguments.items() if value is not None}


def _explain(text: str, schema: Schema) -> str:
    """Rewrites msgspec's error message."""
    where = WHERE.search(text)
    path = where["path"] if where else ""
    text = text[: where.start()] if where else text
    node, suffix = _node(schema, path), f" in {path}" if path else ""
    if match := MISSING.search(text):
        return f"{match['name']} is missing{suffix}."
    if match := UNKNOWN.search(text):
        return f"There is no argument {match['name'][:100]}{suffix}{_suggestion(match['name'], node)}."
    if match := CHOICE.search(text):
        return f"{path} cannot be {match['given'][:100]}: it is one of {', '.join(node.get('enum', ()))}."
    if match := KIND.search(text):
        return f"{path} must be {_kinds(match['wanted'])}, not {KINDS.get(match['given'], match['given'])}."
    if match := BOUND.search(text):
        least = "least" if match["sign"] == ">=" else "most"
        return f"{path} must be at {least} {match['bound'].removesuffix('.0')}."
    return f"{text}{suffix}."


def _node(schema: Schema, path: str) -> Schema:
    """Returns the part of a schema that a path leads to."""
    for name in filter(None, STEP.sub("", path).split(".")):
        schema = cast("Schema", schema.get("properties", {}).get(name, {}))
    return schema


def _suggestion(name: str, schema: Schema) -> str:
    known = {property_name.casefold(): property_name for property_name in schema.get("properties", {})}
    near = difflib.get_close_matches(name.replace("_", "").casefold(), known, n=1)
    return f"; did you mean {known[near[0]]}?" if near else ""


def _kinds(text: str) -> str:
    names = [KINDS.get(name, name) for name in text.split(" | ") if name != "null"]
    return " or ".join(names)


def _describe_parameters(schema: Schema) -> str:
    required = schema.get("required", ())
    names = [f"{name}{'' if name in required else '?'}" for name in schema["properties"]]
    return f"{', '.join(names)} (? is optional)" if names else "no arguments"
