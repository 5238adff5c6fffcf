"""Declares commands: the options that all of them share, the context that they receive, and the handling of their
errors."""

from __future__ import annotations

import errno
import functools
import inspect
import os
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Concatenate, ParamSpec, get_type_hints

import typer

from bough.api.cli.framework import output
from bough.api.cli.framework.client import Client, Refused, Response
from bough.api.cli.framework.error_hints import explain
from bough.api.cli.framework.find_server import ServerTarget
from bough.api.cli.framework.selectors import find, selected
from bough.errors import BoughError, Invalid

if TYPE_CHECKING:
    from bough.core.services import Services
    from bough.settings import Settings

Running = Callable[["Settings", str | None], AbstractAsyncContextManager["Services"]]
P = ParamSpec("P")

DONE, FAILED = 0, 1
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
PANEL = "Server and output"

Data = Annotated[
    str | None,
    typer.Option("--data", metavar="DIR", help="Data folder of the server (BOUGH_DATA).", rich_help_panel=PANEL),
]
Url = Annotated[
    str | None,
    typer.Option(
        "--url",
        metavar="URL",
        help="Address of the server, instead of a data folder (BOUGH_URL).",
        rich_help_panel=PANEL,
    ),
]
Token = Annotated[
    str | None,
    typer.Option("--token", metavar="TOKEN", help="Token for that address (BOUGH_TOKEN).", rich_help_panel=PANEL),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print only JSON.", rich_help_panel=PANEL)]
COMMON: dict[str, tuple[Any, Any]] = {
    "data": (Data, None),
    "url": (Url, None),
    "token": (Token, None),
    "json": (AsJson, False),
}
CLIENT = ("data", "url", "token", "json")


@dataclass
class GlobalOptions:
    """The options given before the command, and the function that runs the services."""

    running: Running
    data: str | None = None
    url: str | None = None
    token: str | None = None
    json: bool = False


@dataclass
class CommandContext:
    """Holds what every command receives: the chosen server and the output format."""

    running: Running
    target: ServerTarget
    json: bool

    @functools.cached_property
    def client(self) -> Client:
        return Client(self.target)

    def show(self, answer: Response, render: Callable[[Any], None]) -> None:
        """Prints an answer unchanged with --json, otherwise through `render`."""
        if self.json:
            output.raw(answer.raw)
        else:
            render(answer.value)


Function = Callable[Concatenate[CommandContext, P], int | None]


def command(
    app: typer.Typer, name: str, *, common: tuple[str, ...] = CLIENT, **about: Any
) -> Callable[[Function[P]], Function[P]]:
    """Declares a command with its own parameters and the common ones. The function receives a `CommandContext` and may
    return an exit code."""

    def declare(function: Function[P]) -> Function[P]:
        own = list(inspect.signature(function).parameters.values())[1:]
        hints = get_type_hints(function, include_extras=True)
        marks = {parameter.name: mark for parameter in own if (mark := selected(hints[parameter.name])) is not None}

        def call(ctx: typer.Context, **arguments: Any) -> None:
            root: GlobalOptions = ctx.obj
            chosen = {option: arguments.pop(option) if option in common else None for option in CLIENT}
            target = ServerTarget(chosen["data"] or root.data, chosen["url"] or root.url, chosen["token"] or root.token)
            context = CommandContext(root.running, target, bool(chosen["json"] or root.json))

            def run() -> int | None:
                for name, mark in marks.items():
                    if arguments[name] is not None:
                        arguments[name] = find(context.client, mark, arguments[name])
                return function(context, **arguments)  # pyright: ignore[reportCallIssue]

            code = guarded(context, run)
            if code:
                raise typer.Exit(code)

        parameters = {parameter.name: (hints[parameter.name], parameter.default) for parameter in own}
        parameters |= {option: COMMON[option] for option in common}
        set_signature(call, parameters)
        call.__doc__ = function.__doc__
        app.command(name, **about)(call)
        return function

    return declare


def group_default(app: typer.Typer) -> Callable[[Callable[[CommandContext], None]], Callable[[CommandContext], None]]:
    """Declares what a group does without a subcommand; common options before a subcommand apply to that subcommand."""

    def declare(function: Callable[[CommandContext], None]) -> Callable[[CommandContext], None]:
        def call(ctx: typer.Context, **options: Any) -> None:
            root: GlobalOptions = ctx.obj
            for name, value in options.items():
                setattr(root, name, value or getattr(root, name))
            if ctx.invoked_subcommand is None:
                context = CommandContext(root.running, ServerTarget(root.data, root.url, root.token), root.json)
                if code := guarded(context, lambda: function(context)):
                    raise typer.Exit(code)

        set_signature(call, {option: COMMON[option] for option in CLIENT})
        call.__doc__ = function.__doc__
        app.callback(invoke_without_command=True)(call)
        return function

    return declare


def set_signature(function: Callable[..., None], options: dict[str, tuple[Any, Any]]) -> None:
    """Gives a function the signature from which typer reads the options."""
    kind = inspect.Parameter.KEYWORD_ONLY
    parameters = [inspect.Parameter("ctx", kind, annotation=typer.Context)]
    parameters += [
        inspect.Parameter(name, kind, annotation=hint, default=value) for name, (hint, value) in options.items()
    ]
    function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    function.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}


def guarded(ctx: CommandContext, work: Callable[[], int | None]) -> int:
    """Runs a command and turns every expected error into a sentence and an exit code."""
    try:
        code = work() or DONE
        sys.stdout.flush()
        return code
    except BoughError as error:
        return report(error, as_json=ctx.json)
    except BrokenPipeError:
        # The reader has closed the pipe; discard the rest of the buffer silently.
        _silence()
        return FAILED
    except KeyboardInterrupt:
        return FAILED
    except OSError as error:
        if error.filename is None and error.errno in NO_ROOM:
            _silence()
            output.note(f"Cannot write the output: {error.strerror}.")
            return FAILED
        if error.filename is None:
            raise
        sentence = f"Cannot use {os.fsdecode(error.filename)}: {error.strerror}."
        return report(Invalid("bad_file", sentence), as_json=ctx.json)


def _silence() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def report(error: BoughError, *, as_json: bool) -> int:
    """Prints an error on stderr, and with --json also as an object on stdout; returns the exit code."""
    from bough.api.errors import answer, meaning

    refused = isinstance(error, Refused)
    output.note(f"{explain(error)} ({error.code})" if refused else explain(error))
    if as_json:
        import msgspec

        output.raw(error.body if refused else msgspec.json.encode(answer(error)))
    return meaning(error).exit
