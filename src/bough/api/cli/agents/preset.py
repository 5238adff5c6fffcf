"""`bough preset`: named combinations of an agent and its settings, which new sessions can start from. The server never
returns the values of variables, so none are printed here."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from bough.api.cli.commands.mcp import Mcp, NoMcp, resolve_mcp_option, server_names
from bough.api.cli.framework import output
from bough.api.cli.framework.base import CommandContext, command
from bough.api.cli.framework.client import Json, path
from bough.api.cli.framework.completion import agents, presets
from bough.api.cli.framework.formats import ago, moment
from bough.api.cli.framework.terminal_safety import clean
from bough.api.cli.repos.repo import Limit, Offset
from bough.api.cli.session.options import Effort, Env, Mode, Model, ProfileChoice, SandboxChoice, parse_pairs
from bough.api.cli.session.prompt import read_text

PRESETS = "/api/presets"

app = typer.Typer(
    no_args_is_help=True, help="Named combinations of an agent and its settings, which new sessions can start from."
)
Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the preset, or its id.", autocompletion=presets)]
About = Annotated[str | None, typer.Option("--description", help="Purpose, for people.")]
Instructions = Annotated[
    str | None,
    typer.Option(
        "--instructions",
        "-i",
        metavar="TEXT|-",
        help="Instructions that the agent gets first; - reads them from standard input.",
    ),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]


def add_to(root: typer.Typer) -> None:
    root.add_typer(app, name="preset")


@command(app, "list")
def list_presets(ctx: CommandContext, limit: Limit = 20, offset: Offset = 0) -> None:
    """List presets."""

    def render(page: Any) -> None:
        rows: list[Json] = page["presets"]
        output.table(
            ("NAME", "AGENT", "MODEL", "MODE", "DESCRIPTION"),
            [
                (row["name"], row["agent"], row["model"] or "", row["permissionMode"] or "", clean(row["description"]))
                for row in rows
            ],
            flexible="DESCRIPTION",
            empty="No presets yet. Add one: bough preset add NAME --agent AGENT",
        )
        output.more(page, len(rows))

    ctx.show(ctx.client.get(PRESETS, limit=limit, offset=offset), render)


@command(app, "show")
def show(ctx: CommandContext, preset: Name) -> None:
    """Show a preset, with only the names of its variables."""
    ctx.show(ctx.client.get(path("presets", preset)), lambda row: _draw(ctx, row))


@command(app, "add")
def add(
    ctx: CommandContext,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Its name: letters, digits, _ and -.")],
    agent: Annotated[str, typer.Option("--agent", "-a", help="Agent; see bough agents.", autocompletion=agents)],
    description: About = None,
    mode: Mode = None,
    model: Model = None,
    effort: Effort = None,
    mcp: Mcp = None,
    env: Env = None,
    instructions: Instructions = None,
    sandbox: SandboxChoice = None,
    profile: ProfileChoice = None,
) -> None:
    """Add a preset."""
    fields: Json = {"name": name, "agent": agent, "description": description, "permissionMode": mode}
    fields |= {"model": model or None, "effort": effort or None, "env": parse_pairs(env)}
    fields |= {"mcpServerIds": resolve_mcp_option(ctx.client, mcp), "instructions": _text(instructions)}
    fields |= {"sandbox": _choice(sandbox), "sandboxProfile": _choice(profile)}
    body = {field: value for field, value in fields.items() if value is not None}

    def render(added: Json) -> None:
        output.line(f"Preset {added['name']}: {added['agent']}.")
        output.note(f"Next: bough session new --preset {added['name']}")

    ctx.show(ctx.client.post(PRESETS, body), render)


@command(app, "change")
def change(
    ctx: CommandContext,
    preset: Name,
    name: Annotated[str | None, typer.Option("--name", help="New name.")] = None,
    agent: Annotated[str | None, typer.Option("--agent", "-a", help="Agent.", autocompletion=agents)] = None,
    description: About = None,
    mode: Mode = None,
    no_mode: Annotated[bool, typer.Option("--no-mode", help="Leave the mode to each session.")] = False,
    model: Model = None,
    effort: Effort = None,
    mcp: Mcp = None,
    no_mcp: NoMcp = False,
    env: Env = None,
    no_env: Annotated[bool, typer.Option("--no-env", help="Remove all variables.")] = False,
    instructions: Instructions = None,
    sandbox: SandboxChoice = None,
    profile: ProfileChoice = None,
) -> None:
    """Change a preset; sessions that came from it stay as they are. New variables replace all variables; NAME=*** keeps
    the stored value."""
    if (mode and no_mode) or (env and no_env):
        raise typer.BadParameter("--no-mode cannot be combined with --mode, nor --no-env with --env.")
    fields: Json = {"name": name, "agent": agent, "description": description, "permissionMode": mode}
    fields |= {"env": {} if no_env else parse_pairs(env), "instructions": _text(instructions)}
    fields |= {"mcpServerIds": resolve_mcp_option(ctx.client, mcp, no_mcp)}
    body = {field: value for field, value in fields.items() if value is not None}
    body |= {field: value or None for field, value in (("model", model), ("effort", effort)) if value is not None}
    body |= {"sandbox": _choice(sandbox)} if sandbox is not None else {}
    body |= {"sandboxProfile": _choice(profile)} if profile is not None else {}
    body |= {"permissionMode": None} if no_mode else {}
    if not body:
        raise typer.BadParameter("Nothing to change; see: bough preset change --help")
    ctx.show(ctx.client.patch(path("presets", preset), body), lambda row: _draw(ctx, row))


@command(app, "rm")
def remove(ctx: CommandContext, preset: Name, yes: Yes = False) -> None:
    """Remove a preset. Its sessions stay; schedules that use it fail until they are changed."""
    address = path("presets", preset)
    if not yes:
        name = clean(ctx.client.get(address).value["name"])
        typer.confirm(f"Remove the preset {name}?", abort=True, err=True)
    ctx.show(ctx.client.delete(address), lambda removed: output.line(f"Preset {removed['name']} is removed."))


def _text(instructions: str | None) -> str | None:
    return read_text(instructions) if instructions is not None else None


def _choice(choice: str | None) -> str | None:
    return None if choice == "inherit" else choice


def _draw(ctx: CommandContext, preset: Json) -> None:
    servers = ", ".join(server_names(ctx.client, preset["mcpServerIds"]))
    output.facts(
        [
            ("id", preset["id"]),
            ("name", preset["name"]),
            ("description", preset["description"]),
            ("agent", preset["agent"]),
            ("mode", preset["permissionMode"] or ""),
            ("model", preset["model"] or ""),
            ("effort", preset["effort"] or ""),
            ("MCP servers", servers),
            ("env", ", ".join(preset["env"])),
            ("sandbox", preset["sandbox"] or ""),
            ("profile", preset["sandboxProfile"] or ""),
            ("changed", f"{moment(preset['updatedAt'])} ({ago(preset['updatedAt'])})"),
        ]
    )
    if preset["instructions"]:
        output.line(f"\n{clean(preset['instructions'])}")
