"""What every command shares: how it is declared, the options that all of them take, and how its errors end. What a
command does is its own module's."""

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
from bough.api.cli.framework.client import Answer, Client, Refused
from bough.api.cli.framework.error_hints import told
from bough.api.cli.framework.target import Place
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
    typer.Option("--url", metavar="URL", help="Address of the server instead (BOUGH_URL).", rich_help_panel=PANEL),
]
Token = Annotated[
    str | None,
    typer.Option("--token", metavar="TOKEN", help="Token for that address (BOUGH_TOKEN).", rich_help_panel=PANEL),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.", rich_help_panel=PANEL)]
COMMON: dict[str, tuple[Any, Any]] = {
    "data": (Data, None),
    "url": (Url, None),
    "token": (Token, None),
    "json": (AsJson, False),
}
CLIENT = ("data", "url", "token", "json")


@dataclass
class Root:
    """What stands before the command, and what only the top of the program knows."""

    running: Running
    data: str | None = None
    url: str | None = None
    token: str | None = None
    json: bool = False


@dataclass
class Here:
    """What a command works with: the server that was chosen, and how to answer."""

    running: Running
    place: Place
    json: bool

    @functools.cached_property
    def client(self) -> Client:
        return Client(self.place)

    def show(self, answer: Answer, render: Callable[[Any], None]) -> None:
        """The answer as it came, or drawn for people."""
        if self.json:
            output.raw(answer.raw)
        else:
            render(answer.value)


Function = Callable[Concatenate[Here, P], int | None]


def command(
    app: typer.Typer, name: str, *, common: tuple[str, ...] = CLIENT, **about: Any
) -> Callable[[Function[P]], Function[P]]:
    """Declares a command: its own parameters, then the common ones; it is given `Here` and may return an exit code."""

    def declare(function: Function[P]) -> Function[P]:
        own = list(inspect.signature(function).parameters.values())[1:]
        hints = get_type_hints(function, include_extras=True)

        def call(ctx: typer.Context, **given: Any) -> None:
            root: Root = ctx.obj
            chosen = {name: given.pop(name) if name in common else None for name in CLIENT}
            place = Place(chosen["data"] or root.data, chosen["url"] or root.url, chosen["token"] or root.token)
            here = Here(root.running, place, bool(chosen["json"] or root.json))
            code = guarded(here, lambda: function(here, **given))  # pyright: ignore[reportCallIssue]
            if code:
                raise typer.Exit(code)

        parameters = {one.name: (hints[one.name], one.default) for one in own}
        parameters |= {one: COMMON[one] for one in common}
        shape(call, parameters)
        call.__doc__ = function.__doc__
        app.command(name, **about)(call)
        return function

    return declare


def listing(app: typer.Typer) -> Callable[[Callable[[Here], None]], Callable[[Here], None]]:
    """Declares what a group of commands does by itself; options that stand before one of its commands count for it."""

    def declare(function: Callable[[Here], None]) -> Callable[[Here], None]:
        def call(ctx: typer.Context, **given: Any) -> None:
            root: Root = ctx.obj
            for name, value in given.items():
                setattr(root, name, value or getattr(root, name))
            if ctx.invoked_subcommand is None:
                here = Here(root.running, Place(root.data, root.url, root.token), root.json)
                if code := guarded(here, lambda: function(here)):
                    raise typer.Exit(code)

        shape(call, {one: COMMON[one] for one in CLIENT})
        call.__doc__ = function.__doc__
        app.callback(invoke_without_command=True)(call)
        return function

    return declare


def shape(function: Callable[..., None], parameters: dict[str, tuple[Any, Any]]) -> None:
    """Gives a function the signature from which typer reads the options."""
    kind = inspect.Parameter.KEYWORD_ONLY
    told = [inspect.Parameter("ctx", kind, annotation=typer.Context)]
    told += [
        inspect.Parameter(name, kind, annotation=hint, default=value) for name, (hint, value) in parameters.items()
    ]
    function.__signature__ = inspect.Signature(told)  # type: ignore[attr-defined]
    function.__annotations__ = {one.name: one.annotation for one in told}


def guarded(here: Here, work: Callable[[], int | None]) -> int:
    """Runs a command; every error that can be expected becomes a sentence and an exit code."""
    try:
        code = work() or DONE
        sys.stdout.flush()
        return code
    except BoughError as error:
        return report(error, as_json=here.json)
    except BrokenPipeError:
        # Whoever read has left: what still lies in the buffer goes nowhere, quietly.
        _silence()
        return FAILED
    except KeyboardInterrupt:
        return FAILED
    except OSError as error:
        if error.filename is None and error.errno in NO_ROOM:
            _silence()
            output.note(f"The output cannot be written: {error.strerror}.")
            return FAILED
        if error.filename is None:
            raise
        said = f"{os.fsdecode(error.filename)} cannot be used: {error.strerror}."
        return report(Invalid("bad_file", said), as_json=here.json)


def _silence() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def report(error: BoughError, *, as_json: bool) -> int:
    """Says what went wrong on stderr, and with --json as an object on stdout too."""
    from bough.api.errors import answer, meaning

    refused = isinstance(error, Refused)
    output.note(f"{told(error)} ({error.code})" if refused else told(error))
    if as_json:
        import msgspec

        output.raw(error.body if refused else msgspec.json.encode(answer(error)))
    return meaning(error).exit
