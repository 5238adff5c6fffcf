"""Generates the tables of tools and prompts for docs/reference/mcp.md."""

from __future__ import annotations

from bough.api.mcp.protocol import guide, schemas
from bough.api.mcp.tools import all_tools

EFFECTS = {"read": "reads", "change": "asks", "end": "asks; may end work"}


def tools_table() -> str:
    """Lists every tool with its parameters and its description, in the order in which agents see them."""
    rows = ["| tool | parameters (`?`: optional) | purpose | effect |", "|---|---|---|---|"]
    for tool in all_tools.TOOLS:
        schema = schemas.input_schema(tool)
        required = schema.get("required", [])
        parameters = ", ".join(f"`{name}`" if name in required else f"`{name}`?" for name in schema["properties"])
        rows.append(f"| `{tool.name}` | {parameters or 'none'} | {tool.about} | {EFFECTS[tool.effect]} |")
    return "\n".join(rows)


def prompts_table() -> str:
    """Lists the prompts that agents and people can choose, with their parameters."""
    rows = ["| prompt | parameters (`?`: optional) | purpose |", "|---|---|---|"]
    for prompt in guide.prompts():
        parameters = ", ".join(f"`{argument.name}`{'' if argument.required else '?'}" for argument in prompt.arguments)
        rows.append(f"| `{prompt.name}` | {parameters} | {prompt.about} |")
    return "\n".join(rows)


SECTIONS = {"tools": tools_table, "prompts": prompts_table}
