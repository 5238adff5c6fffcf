"""Builds the command tree of `bough` and runs it. A module is imported only if its command is used."""

from __future__ import annotations

import copy
import importlib
import os
import sys
from typing import Annotated, Any

import typer
from typer.main import get_command

from bough import __version__
from bough.api.cli.framework import output
from bough.api.cli.framework.base import FAILED, AsJson, Data, GlobalOptions, Running, Token, Url

PROGRAM = "bough"
COMPLETING = "_BOUGH_COMPLETE"
# The base class of every usage error that typer raises.
USAGE_ERROR: Any = typer.BadParameter.__mro__[1]

# Placeholders for option values in the help, for options that do not declare one.
METAVARS = {"limit": "N", "offset": "N", "mode": "MODE", "form": "json|markdown"}

# The names of commands that remove the group's noun; `rm` and `remove` work wherever there is one of them.
REMOVALS = ("rm", "remove", "revoke", "cancel")

# The commands that each module declares, in the order of the help.
MODULES: dict[str, tuple[str, ...]] = {
    "server.serve": ("serve",),
    "server.open": ("open",),
    "commands.home": ("home", "tour"),
    "commands.usage": ("usage",),
    "session.manage": ("session",),
    "repos.repo": ("repo",),
    "repos.clone": ("repo",),
    "repos.git": ("repo",),
    "repos.config": ("repo",),
    "worktree.command": ("worktree",),
    "commands.task": ("task",),
    "session.branch": ("session",),
    "session.transcript": ("session",),
    "session.calls": ("session",),
    "commands.tree": ("tree", "wait"),
    "commands.checkpoint": ("session", "task", "checkpoint"),
    "commands.review": ("review",),
    "commands.race": ("race",),
    "commands.schedule": ("schedule",),
    "approvals.approval": ("approval",),
    "approvals.policy": ("policy",),
    "commands.watch": ("watch",),
    "commands.search": ("search",),
    "commands.import_conversations": ("import", "session"),
    "commands.acp": ("acp", "mcp-stdio"),
    "agents.command": ("agents",),
    "agents.preset": ("preset",),
    "agents.saved_prompt": ("prompt",),
    "commands.mcp": ("mcp",),
    "commands.export": ("export",),
    "access.token": ("token",),
    "access.user": ("user",),
    "access.audit": ("audit",),
    "doctor.command": ("doctor",),
    "server.db": ("db",),
    "commands.completion": ("completion", "demo-agent"),
}


def _version(requested: bool) -> None:
    if requested:
        print(f"{PROGRAM} {__version__}")
        raise typer.Exit


def _root(
    ctx: typer.Context,
    data: Data = None,
    url: Url = None,
    token: Token = None,
    json: AsJson = False,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Run coding agents: create sessions, send prompts, watch them work, and answer approvals."""
    root: GlobalOptions = ctx.obj
    root.data, root.url, root.token, root.json = data, url, token, json


def build(arguments: list[str] | None = None) -> Any:
    """Returns the command tree, or only the part that `arguments` name."""
    app = typer.Typer(
        no_args_is_help=True, context_settings={"help_option_names": ["-h", "--help"]}, pretty_exceptions_enable=False
    )
    app.callback()(_root)
    modules = [module for module, names in MODULES.items() if not set(names).isdisjoint(arguments or ())]
    for module in modules or MODULES:
        importlib.import_module(f"bough.api.cli.{module}").add_to(app)
    tree: Any = get_command(app)
    order = [name for names in MODULES.values() for name in names if name in tree.commands]
    tree.commands = {name: tree.commands[name] for name in order}
    _polish(tree)
    _spell_removals(tree)
    return tree


def _spell_removals(group: Any) -> None:
    """Gives each command that removes something its other spellings, which the help does not list."""
    commands: dict[str, Any] = group.commands
    for spelling in REMOVALS:
        if (remove := commands.get(spelling)) is not None:
            for other in ("rm", "remove"):
                if other not in commands:
                    commands[other] = alias = copy.copy(remove)
                    alias.name, alias.hidden = other, True
            break
    for child in list(commands.values()):
        if hasattr(child, "commands"):
            _spell_removals(child)


def _polish(command: Any) -> None:
    """Simplifies typer's help: no type next to flags and arguments, and a placeholder for every other option."""
    original = command.get_help_option

    def help_option(ctx: Any) -> Any:
        option = original(ctx)
        if option is not None:
            option.metavar = ""
        return option

    command.get_help_option = help_option
    for param in command.params:
        if param.param_type_name == "argument":
            _polish_argument(param)
        # `bough completion` does the same and is documented; typer's own flags keep working.
        if param.name in ("install_completion", "show_completion"):
            param.hidden = True
        if param.param_type_name == "option" and param.metavar is None:
            param.metavar = "" if param.is_flag else METAVARS.get(param.name, "TEXT")
    for child in getattr(command, "commands", {}).values():
        _polish(child)


def _polish_argument(param: Any) -> None:
    name = param.metavar or (param.name or "").upper()
    param.metavar = name
    # Newer versions of typer put braces around the name in the usage line and show its Python type.
    if hasattr(param, "_usage_display_name"):
        param._usage_display_name = lambda: name if param.required else f"[{name}]"
    if hasattr(param, "display_type_rich"):
        param.display_type_rich = lambda ctx=None: None  # pyright: ignore[reportUnknownLambdaType]


def _wrong_use(error: Any) -> int:
    """Prints a usage error and returns its exit code. A group without a command has already shown its help."""
    if type(error).__name__ != "NoArgsIsHelpError":
        error.message = str(error.message).removeprefix("Value error, ").replace("Input should be", "it should be")
        text: str = error.format_message()
        output.note(text if text.endswith((".", "?", ")")) else f"{text}.")
        if getattr(error, "ctx", None) is not None:
            output.note(f"See: {error.ctx.command_path} --help")
    return error.exit_code


def run(running: Running) -> int:
    """Runs the command given on the command line and returns its exit code."""
    arguments = sys.argv[1:]
    if arguments == ["--version"]:
        print(f"{PROGRAM} {__version__}")
        return 0
    tree = build(None if COMPLETING in os.environ else arguments)
    try:
        result = tree.main(args=arguments, prog_name=PROGRAM, standalone_mode=False, obj=GlobalOptions(running))
    except USAGE_ERROR as error:
        return _wrong_use(error)
    except typer.Abort:
        # The cursor is still on the line of the question.
        output.note("\nCancelled. Nothing was changed.")
        return FAILED
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else FAILED
    return result if isinstance(result, int) else 0
