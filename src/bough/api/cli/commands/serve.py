"""`bough serve`: every setting as a flag (L1, L2), the link when it is ready, one sentence if it cannot be. The server
itself is `bough.api.server.serve`."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import ipaddress
import signal
import socket
import sys
from typing import Annotated, Any, Literal, get_args, get_origin

import typer

from bough import settings
from bough.api.cli.framework import output
from bough.api.cli.framework.base import DONE, Here, Root, guarded, shape
from bough.api.cli.framework.target import Place
from bough.errors import Conflict, Invalid

# Most people need these; the others are for those who look for them.
USUAL = ("data", "host", "port", "database", "workspace_root")


def add_to(app: typer.Typer) -> None:
    shape(serve, {name: (_option(name), None) for name in settings.FIELDS})
    app.command("serve")(serve)


def serve(ctx: typer.Context, **flags: str | bool | None) -> None:
    """Run the server until Ctrl-C, and print its link when it is ready.

    Every setting is also a variable (--max-queue is BOUGH_MAX_QUEUE) and a line of config.toml in the data folder.
    """
    root: Root = ctx.obj
    given: dict[str, Any] = {"data": root.data} | {name: value for name, value in flags.items() if value is not None}
    here = Here(root.running, Place(given["data"]), json=False)
    if code := guarded(here, lambda: _serve(here, given)):
        raise typer.Exit(code)


def flag(name: str) -> str:
    """The flag of a setting."""
    return f"--{name.replace('_', '-')}"


def metavar(name: str) -> str:
    """What stands for its value in the help."""
    kind = _kind(name)
    if kind is bool:
        return ""
    if get_origin(kind) is Literal:
        return "|".join(get_args(kind))
    return "TEXT" if kind is str else "NUMBER"


def default(name: str) -> str:
    """Its default as people write it."""
    if name == "data":
        return "~/.local/share/bough"
    value: Any = settings.FIELDS[name].default
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def _kind(name: str) -> Any:
    return get_args(settings.FIELDS[name].type)[0]


def _choices(name: str) -> str:
    """The words that it may be, if there are only some; as a metavar they would leave the help too narrow."""
    return f" ({', '.join(get_args(_kind(name)))})" if get_origin(_kind(name)) is Literal else ""


def _option(name: str) -> Any:
    told = f"{settings.describe(name)}{_choices(name)}" + (f" [{default(name)}]" if default(name) else "")
    panel = "Options" if name in USUAL else "More settings"
    if _kind(name) is bool:
        both = f"{flag(name)}/--no-{name.replace('_', '-')}"
        return Annotated[bool | None, typer.Option(both, help=told, show_default=False, rich_help_panel=panel)]
    # Texts, all the others: `settings` converts them and names the flag if one does not fit.
    short = "WORD" if _choices(name) else metavar(name)
    option = typer.Option(flag(name), metavar=short, help=told, show_default=False, rich_help_panel=panel)
    return Annotated[str | None, option]


def _serve(here: Here, flags: dict[str, Any]) -> int:
    from bough.observe import logging

    chosen = _chosen(flags)
    _check_address(chosen)
    logging.configure(chosen.log_level, chosen.log_format)
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(_until_stopped(here, chosen))
    return DONE


def _chosen(flags: dict[str, Any]) -> settings.Settings:
    """The settings, if a server could work with the folders that they name."""
    data = Place(flags["data"]).folder
    if data.exists() and not data.is_dir():
        raise Invalid("bad_data_folder", f"{data} is not a folder. Choose another with --data.")
    chosen = settings.load(flags)
    if chosen.workspace_root and not chosen.root_path.is_dir():
        raise Invalid("bad_workspace_root", f"The workspace root {chosen.root_path} is not a folder.")
    return chosen


def _check_address(chosen: settings.Settings) -> None:
    """Warns of an address that others reach, and finds a taken port before a new data folder is made for nothing."""
    if not _is_loopback(chosen.host):
        output.note(
            f"Careful: on {chosen.host} everybody who reaches this machine can try to get in, and the token, which "
            "allows everything, travels unencrypted."
        )
    if chosen.port == 0 or chosen.data_path.exists():
        return
    family = socket.AF_INET6 if ":" in chosen.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((chosen.host, chosen.port))
        except OSError as error:
            # What is wrong with an address rather than with its port is told by the server itself.
            if error.errno in (errno.EADDRINUSE, errno.EACCES):
                said = f"Port {chosen.port} on {chosen.host} cannot be used: {error.strerror}."
                raise Conflict("port_taken", f"{said} Choose another with --port.") from error


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


async def _until_stopped(here: Here, chosen: settings.Settings) -> None:
    from bough.api.server.serve import serve as run

    loop = asyncio.get_running_loop()
    work = asyncio.create_task(run(chosen, here.running, _announce))
    # While it serves it takes the signals itself; one that comes before that ends it just as well.
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, work.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        await work


def _announce(_url: str, link: str) -> None:
    print(link, flush=True)
    if sys.stdout.isatty():
        output.note("Open this link in a browser; it carries the token. Ctrl-C stops the server.")


def _loop_factory() -> Any:
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop
