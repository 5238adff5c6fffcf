"""`bough agents models`: shows what an agent offers before the first turn."""

from __future__ import annotations

import time
from typing import Annotated
from urllib.parse import quote

import typer

from bough.api.cli.framework import output
from bough.api.cli.framework.base import DONE, FAILED, CommandContext, command
from bough.api.cli.framework.client import Json
from bough.api.cli.framework.completion import agents as complete
from bough.api.cli.framework.formats import brief
from bough.api.cli.framework.progress import waiting

ASK_PAUSE = 0.3
"""Seconds between two looks at whether an agent has answered."""


def add_to(app: typer.Typer) -> None:
    command(app, "models")(models)


def models(
    ctx: CommandContext,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Agent name.", autocompletion=complete)],
    refresh: Annotated[bool, typer.Option("--refresh", help="Ask the agent again.")] = False,
) -> int:
    """Show the models, efforts, modes and commands that an agent offers.

    The server asks each version of an agent once: it starts the agent in an empty folder, sends no prompt, and ends it.
    """
    path = f"/api/agents/{quote(name, safe='')}/offer"
    offer: Json = ctx.client.get(path).value
    installed = offer["installedVersion"] or offer["error"] is None or offer["error"]["code"] != "agent_missing"
    if refresh or (installed and (not offer["current"] or offer["source"] is None)):
        offer = ctx.client.post(path, {"force": True}).value
        with waiting(f"Asking {name} …"):
            while offer["checking"]:
                time.sleep(ASK_PAUSE)
                offer = ctx.client.get(path).value
    if ctx.json:
        output.document(offer)
    else:
        _draw_offer(offer)
    if offer["error"] is None:
        return DONE
    output.note(offer["error"]["message"])
    return FAILED


def _draw_offer(offer: Json) -> None:
    if offer["source"] is None:
        return
    for title, values, chosen in (
        ("model", offer["models"], offer["defaultModel"]),
        ("effort", offer["efforts"], offer["defaultEffort"]),
    ):
        rows = [(row["value"], brief(row["name"], 60), "yes" if row["value"] == chosen else "") for row in values]
        output.table((title.upper(), "NAME", "DEFAULT"), rows, flexible="NAME", empty=f"No choice of {title}.")
        output.line("")
    if offer["modes"]:
        output.facts([("its own modes", ", ".join(mode["id"] for mode in offer["modes"]))])
    if offer["commands"]:
        output.facts([("commands", ", ".join(f"/{command['name']}" for command in offer["commands"]))])
    version = offer["version"].partition(" ")[0]
    output.facts([("asked", f"{offer['checkedAt']}{f', version {version}' if version else ''}")])
