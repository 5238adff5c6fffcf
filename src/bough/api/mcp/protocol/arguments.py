"""Reading what a tool is called with. What is wrong with it is said in the words of the tool's own schema, so that a
model can put it right at the next try; what the arguments mean is each tool's part."""

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
    """The arguments as the tool takes them."""
    try:
        return msgspec.convert(given(arguments), tool.takes)
    except msgspec.ValidationError as error:
        schema = input_schema(tool)
        raise Invalid("bad_arguments", f"{_said(str(error), schema)} {tool.name} takes {_takes(schema)}.") from error


def given(arguments: dict[str, Any]) -> dict[str, Any]:
    """What was really given: some clients send null for all that is left out."""
    return {name: value for name, value in arguments.items() if value is not None}


def _said(text: str, schema: Schema) -> str:
    """What is wrong, by msgspec's sentence about it."""
    where = WHERE.search(text)
    path = where["path"] if where else ""
    text = text[: where.start()] if where else text
    node, place = _node(schema, path), f" in {path}" if path else ""
    if found := MISSING.search(text):
        return f"{found['name']} is missing{place}."
    if found := UNKNOWN.search(text):
        return f"There is no argument {found['name'][:100]}{place}{_meant(found['name'], node)}."
    if found := CHOICE.search(text):
        return f"{path} cannot be {found['given'][:100]}: it is one of {', '.join(node.get('enum', ()))}."
    if found := KIND.search(text):
        return f"{path} must be {_kinds(found['wanted'])}, not {KINDS.get(found['given'], found['given'])}."
    if found := BOUND.search(text):
        least = "least" if found["sign"] == ">=" else "most"
        return f"{path} must be at {least} {found['bound'].removesuffix('.0')}."
    return f"{text}{place}."


def _node(schema: Schema, path: str) -> Schema:
    """The part of a schema that a path leads to."""
    for name in filter(None, STEP.sub("", path).split(".")):
        schema = cast("Schema", schema.get("properties", {}).get(name, {}))
    return schema


def _meant(name: str, schema: Schema) -> str:
    known = {one.casefold(): one for one in schema.get("properties", {})}
    near = difflib.get_close_matches(name.replace("_", "").casefold(), known, n=1)
    return f"; did you mean {known[near[0]]}?" if near else ""


def _kinds(text: str) -> str:
    wanted = [KINDS.get(one, one) for one in text.split(" | ") if one != "null"]
    return " or ".join(wanted)


def _takes(schema: Schema) -> str:
    required = schema.get("required", ())
    names = [f"{name}{'' if name in required else '?'}" for name in schema["properties"]]
    return f"{', '.join(names)} (? may be left out)" if names else "no arguments"
