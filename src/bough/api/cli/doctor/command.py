"""`bough doctor`: says whether everything that Bough needs is there, and ends what a server left behind. The single
checks are `checks`, the keepers `keepers`."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated

import typer

from bough.api.cli.framework import output
from bough.api.cli.framework.base import DONE, FAILED, Here, command
from bough.api.cli.framework.formats import clean
from bough.errors import BoughError, Busy, Internal

if TYPE_CHECKING:
    from bough.api.cli.doctor.keepers import Held
    from bough.settings import Settings

MARKS = {"ok": ("✓", "green"), "warning": ("!", "yellow"), "problem": ("✗", "red")}


def add_to(root: typer.Typer) -> None:
    command(root, "doctor")(doctor)


def doctor(
    here: Here,
    clean_up: Annotated[
        bool, typer.Option("--clean", help="End the agents that a stopped server left at work; nothing else.")
    ] = False,
) -> int:
    """Check what Bough needs, from Python to agents left at work; exit 1 if something is a problem.

    With --clean, the keepers of this data folder are ended, and so their agents with all that they started. No server
    may run on it. A turn that this interrupts goes on when the next server starts.
    """
    from bough import settings

    if clean_up:
        if here.place.url is not None:
            raise typer.BadParameter("--clean works on a data folder of this machine, not on an address.")
        return _clean(here, settings.load({"data": here.place.data}))
    return _check(here)


def _check(here: Here) -> int:
    from bough import settings
    from bough.api.cli.doctor.checks import Check, agents_at_work, everything

    found: list[Check] = []
    try:
        chosen = settings.load({"data": here.place.data})
        found.append(Check("settings", "ok", "Variables and config.toml fit"))
    except BoughError as error:
        found.append(Check("settings", "problem", error.message, "Mend it there."))
        chosen = settings.Settings(data=str(here.place.folder))
    found += everything(chosen, here.client)
    held: list[Held] = []
    try:
        held = _look(chosen)
        found += agents_at_work(held, chosen.data_path)
    except OSError as error:
        said = f"{chosen.data_path / 'keepers'} cannot be read: {error.strerror}."
        found.append(Check("keepers", "problem", said, "Mend its rights."))
    problems = sum(check.state == "problem" for check in found)
    if here.json:
        checks = [dataclasses.asdict(check) for check in found]
        output.document({"checks": checks, "keepers": [one.document() for one in held], "problems": problems})
        return FAILED if problems else DONE
    width = max(len(check.name) for check in found)
    for check in found:
        _draw(check.state, f"{check.name:<{width}}", clean(check.text), clean(check.fix))
    if problems:
        output.note(f"{problems} {'problem' if problems == 1 else 'problems'}.")
    return FAILED if problems else DONE


def _clean(here: Here, chosen: Settings) -> int:
    """Ends what is left, while no server can come up and take it over."""
    from bough.api.cli.doctor.keepers import end
    from bough.datafolder import only_one

    held: list[Held] = []
    left: list[int] = []
    if chosen.data_path.is_dir():
        try:
            with only_one(chosen.data_path):
                held = _look(chosen)
                left = end(held)
        except Busy:
            raise Busy(
                "server_runs",
                f"A server runs on {chosen.data_path} and looks after its agents itself. Stop it first, or end one "
                "agent with: bough session rm SESSION",
            ) from None
    if here.json:
        output.document({"ended": [one.document() for one in held], "left": left})
        return FAILED if left else DONE
    for one in held:
        output.line(f"Ended {clean(one.said())}.")
    if not held:
        output.line("Nothing was left at work.")
    elif any(one.task_id for one in held):
        output.note("The next server that starts takes up what was interrupted.")
    if left:
        output.note(f"Processes {', '.join(map(str, left))} did not end, not even when killed.")
    return FAILED if left else DONE


def _look(chosen: Settings) -> list[Held]:
    """The keepers that live, with their sessions if the database can tell."""
    import asyncio

    from bough.api.cli.commands.db import database_file
    from bough.api.cli.doctor.keepers import look, name_sessions

    held = look(chosen.data_path)
    file = database_file(chosen.database_url)
    if held and (file is None or file.exists()):
        try:
            asyncio.run(name_sessions(held, chosen))
        except Internal:
            raise
        except (BoughError, OSError) as error:
            # They can be ended all the same; what is wrong with the database is another check's news.
            output.note(f"The database cannot say which sessions these are: {error}")
    return held


def _draw(state: str, name: str, text: str, fix: str) -> None:
    from rich.text import Text

    mark, style = MARKS[state]
    word = "" if state == "ok" else f"{state}: "
    output.console().print(
        Text.assemble((f"{mark} ", style), (f"{name}  ", "bold"), (word, style), text), soft_wrap=True
    )
    if fix and state != "ok":
        output.line(f"  {' ' * len(name)}  {fix}", style)
