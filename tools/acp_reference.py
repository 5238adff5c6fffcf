"""Generates the table of slash commands for docs/reference/acp.md."""

from __future__ import annotations

from bough.api.acp.view.commands import OWN_COMMANDS


def commands_table() -> str:
    """Lists the slash commands that Bough offers to editors."""
    rows = ["| command | effect |", "|---|---|"]
    rows += [f"| `/{name}{' TEXT' if hint else ''}` | {about} |" for name, (about, hint) in OWN_COMMANDS.items()]
    return "\n".join(rows)


SECTIONS = {"commands": commands_table}
