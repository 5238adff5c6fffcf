"""`bough serve`: takes every setting as a flag, runs `bough.api.server.serve`, and prints the link when it is ready."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import signal
import socket
import sys
from typing import Annotated, Any, Literal, get_args, get_origin

import typer

from bough import load_settings, setting_values
from bough.api.cli.framework import output
from bough.api.cli.framework.base import DONE, CommandContext, GlobalOptions, guarded, set_signature
from bough.api.cli.framework.find_server import ServerTarget
from bough.errors import Conflict, Invalid
from bough.requirements import check_platform, git_problem
from bough.settings import Settings

# The settings that most people need; the help lists the others separately.
DATABASE = load_settings.variable("database")
USUAL = ("data", "host", "port", "database", "workspace_root")


def add_to(app: typer.Typer) -> None:
    set_signature(serve, {name: (_option(name), None) for name in load_settings.FIELDS})
    app.command("serve")(serve)


def serve(ctx: typer.Context, **flags: str | bool | None) -> None:
    """Run the server until Ctrl-C and print its link when it is ready.

    Every setting is also an environment variable (--max-queue is BOUGH_MAX_QUEUE) and a key of config.toml in the data
    folder.
    """
    root: GlobalOptions = ctx.obj
    options: dict[str, Any] = {"data": root.data} | {name: value for name, value in flags.items() if value is not None}
    context = CommandContext(root.running, ServerTarget(options["data"]), json=False)
    if code := guarded(context, lambda: _serve(context, options)):
        raise typer.Exit(code)


def flag(name: str) -> str:
    """Returns the flag of a setting."""
    return f"--{name.replace('_', '-')}"


def metavar(name: str) -> str:
    """Returns the placeholder for a setting's value in the help."""
    kind = _kind(name)
    if kind is bool:
        return ""
    if get_origin(kind) is Literal:
        return "|".join(get_args(kind))
    return "TEXT" if kind is str else "NUMBER"


def default(name: str) -> str:
    """Returns a setting's default as people write it."""
    if name == "data":
        return "~/.local/share/bough"
    value: Any = load_settings.FIELDS[name].default
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def _kind(name: str) -> Any:
    return get_args(load_settings.FIELDS[name].type)[0]


def _choices(name: str) -> str:
    """Returns the words that a setting accepts, if it has a fixed set; as a metavar they would take too much room."""
    return f" ({', '.join(get_args(_kind(name)))})" if get_origin(_kind(name)) is Literal else ""


def _option(name: str) -> Any:
    text = f"{load_settings.describe(name)}{_choices(name)}" + (f" [{default(name)}]" if default(name) else "")
    panel = "Options" if name in USUAL else "More settings"
    if _kind(name) is bool:
        flags = f"{flag(name)}/--no-{name.replace('_', '-')}"
        return Annotated[bool | None, typer.Option(flags, help=text, show_default=False, rich_help_panel=panel)]
    # All others are texts, which `settings` converts; its errors name the flag.
    placeholder = "WORD" if _choices(name) else metavar(name)
    option = typer.Option(flag(name), metavar=placeholder, help=text, show_default=False, rich_help_panel=panel)
    return Annotated[str | None, option]


def _serve(ctx: CommandContext, flags: dict[str, Any]) -> int:
    from bough.observe import logging

    check_platform()
    _hide_password(flags)
    configured = _load_settings(flags)
    _check_address(configured)
    logging.configure(configured.log_level, configured.log_format)
    if problem := git_problem():
        output.note(f"Warning: {problem}")
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(_until_stopped(ctx, configured))
    return DONE


def _load_settings(flags: dict[str, Any]) -> Settings:
    """Loads the settings and checks the folders that they name."""
    data = ServerTarget(flags["data"]).folder
    if data.exists() and not data.is_dir():
        raise Invalid("bad_data_folder", f"{data} is not a folder. Choose another data folder with --data.")
    configured = load_settings.load(flags)
    if configured.workspace_root and not configured.root_path.is_dir():
        raise Invalid(
            "bad_workspace_root",
            f"The workspace root {configured.root_path} is not a folder. Choose another with --workspace-root.",
        )
    return configured


def _hide_password(flags: dict[str, Any]) -> None:
    """Starts this program again with the database URL in a variable if a flag contains its password, because other
    users can read command lines."""
    url = flags.get("database")
    if not url or not setting_values.has_password(url):
        # Agents must not inherit it.
        if setting_values.has_password(os.environ.get(DATABASE, "")):
            flags.setdefault("database", os.environ.pop(DATABASE))
        return
    output.note("The database password is hidden from the command line; database_password_file is safer.")
    arguments = sys.orig_argv
    option = flag("database")
    without_password = [
        argument
        for before, argument in zip(["", *arguments], arguments, strict=False)
        if argument != option and before != option and not argument.startswith(f"{option}=")
    ]
    os.execve(sys.executable, without_password, {**os.environ, DATABASE: url})


def _check_address(configured: Settings) -> None:
    """Refuses an address that other machines could reach without encryption, and a taken port, before creating a data
    folder."""
    from bough.api.server import tls_and_proxies

    tls_and_proxies.check(configured)
    if configured.port == 0 or configured.data_path.exists():
        return
    family = socket.AF_INET6 if ":" in configured.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((configured.host, configured.port))
        except OSError as error:
            # Other errors are about the address itself; the server reports them.
            if error.errno in (errno.EADDRINUSE, errno.EACCES):
                problem = f"Cannot use port {configured.port} on {configured.host}: {error.strerror}."
                raise Conflict("port_taken", f"{problem} Choose another with --port.") from error


async def _until_stopped(ctx: CommandContext, configured: Settings) -> None:
    from bough.api.server.serve import serve as run

    loop = asyncio.get_running_loop()
    work = asyncio.create_task(run(configured, ctx.running, _announce))
    # The server handles signals itself while it runs; these handlers cover the time before that.
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, work.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        await work


def _announce(_url: str, link: str) -> None:
    print(link, flush=True)
    if sys.stdout.isatty():
        output.note("Open this link in a browser; it contains the token. Press Ctrl-C to stop the server.")


def _loop_factory() -> Any:
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop
