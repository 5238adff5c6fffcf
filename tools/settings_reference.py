"""Generates the table of settings for docs/reference/settings.md."""

from __future__ import annotations

from bough import settings
from bough.api.cli.server.serve import default, flag, metavar


def settings_table() -> str:
    """Lists every setting with its flag, its variables, its default and its description."""
    rows = ["| setting | flag | variable | default | meaning |", "|---|---|---|---|---|"]
    for name in settings.FIELDS:
        names = [settings.variable(name), *([settings.ALIASES[name]] if name in settings.ALIASES else [])]
        value = f"`{default(name)}`" if default(name) else ""
        usage = f"{flag(name)} {metavar(name)}".strip().replace("|", "\\|")
        variables = ", ".join(f"`{variable}`" for variable in names)
        rows.append(f"| `{name}` | `{usage}` | {variables} | {value} | {settings.describe(name)} |")
    return "\n".join(rows)


SECTIONS = {"settings": settings_table}
