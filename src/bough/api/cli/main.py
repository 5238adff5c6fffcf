"""All commands of `bough` put together, and the way into them. A module is loaded only if its command is asked for."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Annotated, Any

import typer
from typer.main import get_command

from bough import __version__
from bough.api.cli.framework import output
from bough.api.cli.framework.base import FAILED, AsJson, Data, Root, Running, Token, Url

PROGRAM = "bough"
COMPLETING = "_BOUGH_COMPLETE"
# Every way in which typer says that a command was used wrongly.
USAGE_ERROR: Any = typer.BadParameter.__mro__[1]

# What stands for a value in the help where the option itself does not say.
METAVARS = {"limit": "N", "offset": "N", "mode": "MODE", "form": "json|markdown"}

# Commands by the module that declares them, in the order in which people are shown them.
MODULES: dict[str, tuple[str, ...]] = {
    "commands.serve": ("serve",),
    "commands.open": ("open",),
    "commands.home": ("home", "tour"),
    "session.manage": ("session",),
    "commands.repo": ("repo",),
    "commands.worktree": ("worktree",),
    "commands.task": ("task",),
    "session.branch": ("session",),
    "session.calls": ("session",),
    "commands.tree": ("tree", "wait"),
    "commands.checkpoint": ("session", "task", "checkpoint"),
    "commands.race": ("race",),
    "commands.approval": ("approval",),
    "commands.policy": ("policy",),
    "commands.watch": ("watch",),
    "commands.search": ("search",),
    "commands.acp": ("acp",),
    "agents.command": ("agents",),
    "commands.mcp": ("mcp",),
    "commands.export": ("export",),
    "doctor.command": ("doctor",),
    "commands.db": ("db",),
    "commands.completion": ("completion", "demo-agent"),
}


def _version(wanted: bool) -> None:
    if wanted:
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
    """Sessions of coding agents: open them, prompt them, watch them, answer what they ask."""
    root: Root = ctx.obj
    root.data, root.url, root.token, root.json = data, url, token, json


def build(arguments: list[str] | None = None) -> Any:
    """The command tree; if `arguments` name a command, only that part of it."""
    app = typer.Typer(
        no_args_is_help=True, context_settings={"help_option_names": ["-h", "--help"]}, pretty_exceptions_enable=False
    )
    app.callback()(_root)
    wanted = [module for module, names in MODULES.items() if not set(names).isdisjoint(arguments or ())]
    for module in wanted or MODULES:
        importlib.import_module(f"bough.api.cli.{module}").add_to(app)
    tree: Any = get_command(app)
    order = [name for names in MODULES.values() for name in names if name in tree.commands]
    tree.commands = {name: tree.commands[name] for name in order}
    _polish(tree)
    return tree


def _polish(command: Any) -> None:
    """Makes the help plainer than typer does: no type beside a switch or an argument, words for the others."""
    helping = command.get_help_option

    def help_option(ctx: Any) -> Any:
        option = helping(ctx)
        if option is not None:
            option.metavar = ""
        return option

    command.get_help_option = help_option
    for param in command.params:
        if param.param_type_name == "argument":
            _polish_argument(param)
        # `bough completion` does the same and can be read about; the flags stay for those who know them.
        if param.name in ("install_completion", "show_completion"):
            param.hidden = True
        if param.param_type_name == "option" and param.metavar is None:
            param.metavar = "" if param.is_flag else METAVARS.get(param.name, "TEXT")
    for child in getattr(command, "commands", {}).values():
        _polish(child)


def _polish_argument(param: Any) -> None:
    named = param.metavar or (param.name or "").upper()
    param.metavar = named
    # Newer versions of typer put braces around it in the first line, and its Python type beside it.
    if hasattr(param, "_usage_display_name"):
        param._usage_display_name = lambda: named if param.required else f"[{named}]"
    if hasattr(param, "display_type_rich"):
        param.display_type_rich = lambda ctx=None: None  # pyright: ignore[reportUnknownLambdaType]


def _wrong_use(error: Any) -> int:
    """Says how a command was not meant to be used; a group without a command has shown its help by now."""
    if type(error).__name__ != "NoArgsIsHelpError":
        error.message = str(error.message).removeprefix("Value error, ").replace("Input should be", "it should be")
        told: str = error.format_message()
        output.note(told if told.endswith((".", "?", ")")) else f"{told}.")
        if getattr(error, "ctx", None) is not None:
            output.note(f"See: {error.ctx.command_path} --help")
    return error.exit_code


def run(running: Running) -> int:
    """Runs the command that the program was started with and gives back its exit code."""
    arguments = sys.argv[1:]
    if arguments == ["--version"]:
        print(f"{PROGRAM} {__version__}")
        return 0
    tree = build(None if COMPLETING in os.environ else arguments)
    try:
        ended = tree.main(args=arguments, prog_name=PROGRAM, standalone_mode=False, obj=Root(running))
    except USAGE_ERROR as error:
        return _wrong_use(error)
    except typer.Abort:
        # The cursor still stands behind the question.
        output.note("\nLeft as it was.")
        return FAILED
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else FAILED
    return ended if isinstance(ended, int) else 0
