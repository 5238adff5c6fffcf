"""`bough agents add` and `remove`: agents from the entry of a registry."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import quote

import typer

from bough.api.cli.framework import output
from bough.api.cli.framework.base import CommandContext, command
from bough.api.cli.framework.client import Json
from bough.api.cli.framework.completion import agents as complete
from bough.api.cli.framework.terminal_safety import clean

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]


def add_to(app: typer.Typer) -> None:
    command(app, "add")(add)
    command(app, "remove")(remove)


def add(
    ctx: CommandContext,
    agent: Annotated[
        str, typer.Argument(metavar="FILE|NAME", help="File with an entry, or the agent's id in the registry.")
    ],
    registry: Annotated[
        Path | None, typer.Option("--registry", metavar="FILE", help="File with a registry's document that has NAME.")
    ] = None,
    distribution: Annotated[
        Literal["npx", "uvx", "binary"] | None,
        typer.Option("--distribution", help="How to start it; by default the first that the entry has."),
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace the version that was added before.")] = False,
) -> None:
    """Add an agent from an entry in the format of the public ACP registry.

    Nothing is run or installed. The version stays the one of the entry. Bough has not measured such an agent: it knows
    neither its modes nor its quirks. NAME is looked up in the document that the setting agent_registry names.
    """
    body: Json = {"distribution": distribution, "replace": replace}
    if registry is not None:
        from bough.agents.registry.documents import entry_in

        body["entry"] = entry_in(_content(registry), agent).decode("utf-8", "replace")
    elif os.sep in agent or agent.endswith(".json"):
        body["entry"] = _content(Path(agent)).decode("utf-8", "replace")
    else:
        body["name"] = agent
    ctx.show(ctx.client.post("/api/agents", body), _draw_added)


def remove(
    ctx: CommandContext,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Agent name.", autocompletion=complete)],
    yes: Yes = False,
) -> None:
    """Remove an agent that was added. Its sessions stay; they cannot continue with it."""
    if not yes:
        typer.confirm(f"Remove the agent {clean(name)}?", abort=True, err=True)
    address = f"/api/agents/{quote(name, safe='')}"
    ctx.show(ctx.client.delete(address), lambda removed: output.line(f"{removed['title']} is removed."))


def _draw_added(agent: Json) -> None:
    registry = agent["registry"]
    output.line(f"{agent['title']} {registry['version']} is added as {agent['name']}.")
    output.facts([("starts", " ".join(agent["command"])), ("license", registry["license"])])
    if agent["how"] == "missing":
        output.note(agent["install"])
    output.note(f"Bough has not measured it. Test it: bough agents test {agent['name']}")


def _content(path: Path) -> bytes:
    try:
        return path.expanduser().read_bytes()
    except OSError as error:
        raise typer.BadParameter(f"Cannot read {clean(str(path))}: {error.strerror}.") from error
