"""`bough doctor`: prints the results of all checks, and with --clean ends the agents that a stopped server left
running."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated

import typer

from bough.api.cli.framework import output
from bough.api.cli.framework.base import DONE, FAILED, CommandContext, command
from bough.api.cli.framework.terminal_safety import clean
from bough.errors import BoughError, Busy, Internal

if TYPE_CHECKING:
    from bough.api.cli.doctor.keepers import HeldAgent
    from bough.settings import Settings

MARKS = {"ok": ("✓", "green"), "warning": ("!", "yellow"), "problem": ("✗", "red")}


def add_to(root: typer.Typer) -> None:
    command(root, "doctor")(doctor)


def doctor(
    ctx: CommandContext,
    clean_up: Annotated[
        bool, typer.Option("--clean", help="Only end the agents that a stopped server left running.")
    ] = False,
) -> int:
    """Check everything that Bough needs, from Python to leftover agents; exit 1 if there is a problem.

    With --clean, end the keepers of this data folder with their agents and everything those started. No server may be
    running on it. An interrupted turn resumes when the next server starts.
    """
    from bough.load_settings import load

    if clean_up:
        if ctx.target.url is not None:
            raise typer.BadParameter("--clean needs a data folder on this machine; it does not work with --url.")
        return _clean(ctx, load({"data": ctx.target.data}))
    return _check(ctx)


def _check(ctx: CommandContext) -> int:
    from bough.api.cli.doctor.checks import Check, agents_at_work, everything
    from bough.load_settings import load
    from bough.settings import Settings

    results: list[Check] = []
    try:
        configured = load({"data": ctx.target.data})
        results.append(Check("settings", "ok", "Environment variables and config.toml are valid"))
    except BoughError as error:
        results.append(Check("settings", "problem", error.message, "Correct it there."))
        configured = Settings(data=str(ctx.target.folder))
    results += everything(configured, ctx.client)
    held: list[HeldAgent] = []
    try:
        held = _find_held(configured)
        results += agents_at_work(held, configured.data_path)
    except OSError as error:
        problem = f"Cannot read {configured.data_path / 'keepers'}: {error.strerror}."
        results.append(Check("keepers", "problem", problem, "Fix its permissions."))
    problems = sum(check.state == "problem" for check in results)
    if ctx.json:
        checks = [dataclasses.asdict(check) for check in results]
        output.document({"checks": checks, "keepers": [agent.document() for agent in held], "problems": problems})
        return FAILED if problems else DONE
    width = max(len(check.name) for check in results)
    for check in results:
        _draw(check.state, f"{check.name:<{width}}", clean(check.text), clean(check.fix))
    if problems:
        output.note(f"{problems} {'problem' if problems == 1 else 'problems'}.")
    return FAILED if problems else DONE


def _clean(ctx: CommandContext, configured: Settings) -> int:
    """Ends leftover agents while holding the folder's lock, so that no server can start and take them over."""
    from bough.api.cli.doctor.keepers import end
    from bough.data_folder_lock import only_one

    held: list[HeldAgent] = []
    survivors: list[int] = []
    if configured.data_path.is_dir():
        try:
            with only_one(configured.data_path):
                held = _find_held(configured)
                survivors = end(held)
        except Busy:
            raise Busy(
                "server_runs",
                f"A server is running on {configured.data_path} and manages its agents itself. Stop it first, or end "
                "one agent: bough session rm SESSION",
            ) from None
    if ctx.json:
        output.document({"ended": [agent.document() for agent in held], "left": survivors})
        return FAILED if survivors else DONE
    for agent in held:
        output.line(f"Ended {clean(agent.describe())}.")
    if not held:
        output.line("No agents were left running.")
    elif any(agent.task_id for agent in held):
        output.note("The next server resumes the interrupted turns.")
    if survivors:
        output.note(f"Processes {', '.join(map(str, survivors))} did not end even when killed.")
    return FAILED if survivors else DONE


def _find_held(configured: Settings) -> list[HeldAgent]:
    """Finds the running keepers, with their sessions if the database can be read."""
    import asyncio

    from bough.api.cli.doctor.keepers import find_held, name_sessions
    from bough.api.cli.server.db import database_file

    held = find_held(configured.data_path)
    file = database_file(configured.database_url)
    if held and (file is None or file.exists()):
        try:
            asyncio.run(name_sessions(held, configured))
        except Internal:
            raise
        except (BoughError, OSError) as error:
            # They can still be ended; another check reports what is wrong with the database.
            output.note(f"Cannot read the sessions of these agents from the database: {error}")
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
