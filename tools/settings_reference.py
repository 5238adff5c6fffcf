"""Generates the table of settings for docs/reference/settings.md."""

from __future__ import annotations

from bough import load_settings
from bough.api.cli.server.serve import default, flag, metavar


def settings_table() -> str:
    """Lists every setting with its flag, its variables, its default and its description."""
    rows = ["| setting | flag | variable | default | meaning |", "|---|---|---|---|---|"]
    for name in load_settings.FIELDS:
        names = [
            load_settings.variable(name),
            *([load_settings.ALIASES[name]] if name in load_settings.ALIASES else []),
        ]
        value = f"`{default(name)}`" if default(name) else ""
        usage = f"{flag(name)} {metavar(name)}".strip().replace("|", "\\|")
        variables = ", ".join(f"`{variable}`" for variable in names)
        rows.append(f"| `{name}` | `{usage}` | {variables} | {value} | {load_settings.describe(name)} |")
    return "\n".join(rows)


SECTIONS = {"settings": settings_table}
