"""`bough doctor`: says whether everything that Bough needs is there. The single checks are `checks`."""

from __future__ import annotations

import dataclasses

import typer

from bough.api.cli import out
from bough.api.cli.base import DONE, FAILED, Here, command
from bough.api.cli.words import clean
from bough.errors import BoughError

MARKS = {"ok": ("✓", "green"), "warning": ("!", "yellow"), "problem": ("✗", "red")}


def add_to(root: typer.Typer) -> None:
    command(root, "doctor")(doctor)


def doctor(here: Here) -> int:
    """Check what Bough needs, from Python to disk space; exit 1 if something is a problem."""
    from bough import settings
    from bough.api.cli.checks import Check, everything

    found: list[Check] = []
    try:
        chosen = settings.load({"data": here.place.data})
        found.append(Check("settings", "ok", "Variables and config.toml fit"))
    except BoughError as error:
        found.append(Check("settings", "problem", error.message, "Mend it there."))
        chosen = settings.Settings(data=str(here.place.folder))
    found += everything(chosen, here.client)
    problems = sum(check.state == "problem" for check in found)
    if here.json:
        out.document({"checks": [dataclasses.asdict(check) for check in found], "problems": problems})
        return FAILED if problems else DONE
    width = max(len(check.name) for check in found)
    for check in found:
        _draw(check.state, f"{check.name:<{width}}", clean(check.text), clean(check.fix))
    if problems:
        out.note(f"{problems} {'problem' if problems == 1 else 'problems'}.")
    return FAILED if problems else DONE


def _draw(state: str, name: str, text: str, fix: str) -> None:
    from rich.text import Text

    mark, style = MARKS[state]
    word = "" if state == "ok" else f"{state}: "
    out.console().print(Text.assemble((f"{mark} ", style), (f"{name}  ", "bold"), (word, style), text), soft_wrap=True)
    if fix and state != "ok":
        out.line(f"  {' ' * len(name)}  {fix}", style)
