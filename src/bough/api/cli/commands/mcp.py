"""`bough mcp`: adds, lists, shows, changes, tests and forgets MCP servers, and resolves their names. The server never
returns the values of variables and headers, so none are printed here."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path
from typing import Annotated, Any

import typer

from bough.api.cli.framework import output
from bough.api.cli.framework.base import DONE, FAILED, CommandContext, command
from bough.api.cli.framework.client import Client, Json, path
from bough.api.cli.framework.completion import mcp_servers
from bough.api.cli.framework.formats import ago, moment, short, short_forms
from bough.api.cli.framework.terminal_safety import clean
from bough.api.cli.repos.repo import PAGE, Limit, Offset
from bough.api.cli.session.options import parse_pairs
from bough.errors import NotFound
from bough.model.values.ids import LENGTH, SHORTEST

SERVERS = "/api/mcp-servers"
NONE = "none"
# An id, or a part of one that is long enough.
ID = re.compile(rf"[0-9A-Fa-f-]{{{SHORTEST},{LENGTH}}}")
# Characters that show that a header was written as "NAME: VALUE"; the error must not repeat its secret value.
NO_HEADER_NAME = frozenset(": \t")
# --url is the MCP server's address here, so Bough's own --url must come before the command.
BUT_URL = ("data", "token", "json")

app = typer.Typer(no_args_is_help=True, help="MCP servers whose tools sessions can use.")
ServerId = Annotated[
    str,
    typer.Argument(
        metavar="NAME|ID", help="Name of the MCP server, its id, or 8 characters of the id.", autocompletion=mcp_servers
    ),
]
Args = Annotated[
    list[str] | None, typer.Argument(metavar="-- ARGS…", help="Arguments of the command; do not put secrets here.")
]
Command = Annotated[
    str | None, typer.Option("--command", metavar="COMMAND", help="Program to start, which speaks MCP on stdio.")
]
Address = Annotated[
    str | None,
    typer.Option(
        "--url", metavar="URL", help="Address of the MCP server (Bough's own --url comes earlier: bough --url URL mcp)."
    ),
]
Env = Annotated[list[str] | None, typer.Option("--env", "-e", metavar="K=V", help="Environment variable; repeatable.")]
Header = Annotated[list[str] | None, typer.Option("--header", metavar="K=V", help="HTTP header; repeatable.")]

Mcp = Annotated[
    list[str] | None,
    typer.Option(
        "--mcp", metavar="NAME|ID", help="MCP server to use, or none; repeatable.", autocompletion=mcp_servers
    ),
]
NoMcp = Annotated[bool, typer.Option("--no-mcp", help="Use no MCP servers, not even inherited ones.")]


def add_to(root: typer.Typer) -> None:
    root.add_typer(app, name="mcp")


@command(app, "list")
def list_servers(ctx: CommandContext, limit: Limit = 20, offset: Offset = 0) -> None:
    """List MCP servers."""

    def render(page: Any) -> None:
        rows: list[Json] = page["mcpServers"]
        ids = short_forms([row["id"] for row in rows])
        output.table(
            ("ID", "NAME", "TRANSPORT", "ENABLED", "WHERE"),
            [(ids[row["id"]], row["name"], row["transport"], _enabled(row), _where(row)) for row in rows],
            flexible="WHERE",
            empty="No MCP servers yet. Add one: bough mcp add NAME --command COMMAND",
        )
        output.more(page, len(rows))

    ctx.show(ctx.client.get(SERVERS, limit=limit, offset=offset), render)


@command(app, "show")
def show(ctx: CommandContext, server: ServerId) -> None:
    """Show an MCP server, with only the names of its variables and headers."""
    ctx.show(ctx.client.get(_path(ctx, server)), _draw)


@command(app, "add", common=BUT_URL)
def add(
    ctx: CommandContext,
    name: Annotated[str, typer.Argument(help="Its name for agents: letters, digits, _ and -.")],
    args: Args = None,
    program: Command = None,
    address: Address = None,
    sse: Annotated[
        bool, typer.Option("--sse", help="The address uses the older SSE transport instead of streamable HTTP.")
    ] = False,
    env: Env = None,
    header: Header = None,
    disabled: Annotated[
        bool, typer.Option("--disabled", help="Do not offer it to sessions until it is enabled.")
    ] = False,
) -> None:
    """Add an MCP server: a command that is started for each session, or an address."""
    if (program is None) == (address is None):
        raise typer.BadParameter("Use either --command or --url.")
    if sse and address is None:
        raise typer.BadParameter("--sse needs --url.")
    transport = "stdio" if address is None else "sse" if sse else "http"
    body = _body(ctx, transport, args, program, address, env, header)
    body |= {"name": _named(name), "transport": transport, "enabled": not disabled}

    def render(created: Json) -> None:
        _say(created)
        if created["enabled"]:
            output.note(f"Next: bough session new --mcp {created['name']}")

    ctx.show(ctx.client.post(SERVERS, body), render)


@command(app, "set", common=BUT_URL)
def change(
    ctx: CommandContext,
    server: ServerId,
    args: Args = None,
    name: Annotated[str | None, typer.Option("--name", help="New name for agents.")] = None,
    program: Command = None,
    address: Address = None,
    env: Env = None,
    no_env: Annotated[bool, typer.Option("--no-env", help="Remove all variables.")] = False,
    header: Header = None,
    no_header: Annotated[bool, typer.Option("--no-header", help="Remove all headers.")] = False,
    enabled: Annotated[bool | None, typer.Option("--enabled/--disabled", help="Whether sessions can use it.")] = None,
) -> None:
    """Change an MCP server. A new command replaces all arguments, new variables replace all variables, and new headers
    all headers; NAME=*** keeps the stored value."""
    if (env and no_env) or (header and no_header):
        raise typer.BadParameter("--no-env cannot be combined with --env, nor --no-header with --header.")
    address_path = _path(ctx, server)
    body = _body(ctx, ctx.client.get(address_path).value["transport"], args, program, address, env, header)
    body |= {"env": {}} if no_env else {}
    body |= {"headers": {}} if no_header else {}
    body |= {"name": _named(name)} if name is not None else {}
    body |= {"enabled": enabled} if enabled is not None else {}
    if not body:
        raise typer.BadParameter("Nothing to change; see: bough mcp set --help")
    ctx.show(ctx.client.patch(address_path, body), _draw)


@command(app, "test")
def test(ctx: CommandContext, server: ServerId) -> int:
    """Connect to an MCP server from Bough's server and count its tools; exit 1 if it does not work."""
    answer = ctx.client.post(path("mcp-servers", resolve_servers(ctx.client, [server])[0], "test"))
    ctx.show(answer, _draw_check)
    return DONE if answer.value["works"] else FAILED


def _draw_check(check: Json) -> None:
    if not check["works"]:
        output.note(f"{check['name']} does not work: {check['error']}")
        return
    own = " ".join(filter(None, (check["serverName"], check["serverVersion"]))) or "a server without a name"
    output.line(f"{check['name']} works: {own}, {len(check['tools'])} tools, in {check['seconds']:.1f} s.")
    if check["tools"]:
        output.line(f"Tools: {', '.join(check['tools'])}")


@command(app, "rm")
def remove(
    ctx: CommandContext,
    server: ServerId,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
) -> None:
    """Forget an MCP server and remove it from all sessions."""
    address_path = _path(ctx, server)
    if not yes:
        name = clean(ctx.client.get(address_path).value["name"])
        typer.confirm(f"Forget MCP server {name} and remove it from all sessions?", abort=True, err=True)
    ctx.show(
        ctx.client.delete(address_path), lambda removed: output.line(f"MCP server {removed['name']} is forgotten.")
    )


def resolve_servers(client: Client, names: list[str]) -> list[str]:
    """Returns the ids for names or ids of MCP servers."""
    ids = {server["name"]: server["id"] for server in _known(client)}
    for name in names:
        if name not in ids and not ID.fullmatch(name):
            raise NotFound("mcp_server_not_found", f"No MCP server is called {name!r}. See: bough mcp list")
    return list(dict.fromkeys(ids.get(name, name) for name in names))


def server_names(client: Client, ids: list[str]) -> list[str]:
    """Returns the names for ids of MCP servers."""
    names = {server["id"]: server["name"] for server in _known(client)} if ids else {}
    return [names.get(server_id, short(server_id)) for server_id in ids]


def resolve_mcp_option(client: Client, names: list[str] | None, none: bool = False) -> list[str] | None:
    """Returns the server ids that --mcp and --no-mcp select; None if neither was used."""
    if names and (none or (NONE in names and len(names) > 1)):
        raise typer.BadParameter("--no-mcp and --mcp none cannot be combined with other --mcp options.")
    if none or names == [NONE]:
        return []
    return resolve_servers(client, names) if names else None


def _known(client: Client) -> list[Json]:
    rows: list[Json] = []
    while True:
        page = client.get(SERVERS, limit=PAGE, offset=len(rows)).value
        rows += page["mcpServers"]
        if len(rows) >= page["total"] or not page["mcpServers"]:
            return rows


def _path(ctx: CommandContext, server: str) -> str:
    (server_id,) = resolve_servers(ctx.client, [server])
    return path("mcp-servers", server_id)


def _named(name: str) -> str:
    if name == NONE:
        raise typer.BadParameter(f"{NONE!r} is reserved: --mcp none means no server. Choose another name.")
    return name


def _body(
    ctx: CommandContext,
    transport: str,
    args: list[str] | None,
    program: str | None,
    address: str | None,
    env: list[str] | None,
    header: list[str] | None,
) -> Json:
    """Returns the fields that say how a server is reached; refuses options that do not fit its transport."""
    stdio = transport == "stdio"
    if stdio and (address is not None or header):
        raise typer.BadParameter("--url and --header are for a server with an address, but this one has a command.")
    if not stdio and (program is not None or env):
        raise typer.BadParameter("--command and --env are for a server with a command, but this one has an address.")
    if args and program is None:
        raise typer.BadParameter("Arguments after -- need --command.")
    body: Json = {"command": _program_path(ctx, program), "args": args or []} if program is not None else {}
    fields = {"url": address, "env": parse_pairs(env), "headers": _headers(header)}
    return body | {name: value for name, value in fields.items() if value is not None}


def _headers(texts: list[str] | None) -> dict[str, str] | None:
    headers = parse_pairs(texts, "header")
    if any(not NO_HEADER_NAME.isdisjoint(name) for name in headers or {}):
        raise typer.BadParameter("Write a header as NAME=VALUE, not NAME: VALUE.")
    return headers


def _program_path(ctx: CommandContext, program: str) -> str:
    """Returns the full path of a program on this machine, unless the Bough server may run on another one."""
    if ctx.target.address is not None:
        return program
    if "/" in program:
        return str(Path(program).expanduser().absolute())
    found_path = shutil.which(program)
    return program if found_path is None else str(Path(found_path).absolute())


def _enabled(server: Json) -> str:
    return "yes" if server["enabled"] else "no"


def _where(server: Json) -> str:
    return clean(shlex.join([server["command"], *server["args"]]) if server["command"] else server["url"])


def _say(server: Json) -> None:
    state = "" if server["enabled"] else " (disabled)"
    output.line(f"{short(server['id'])}  {server['name']}{state}  {server['transport']}  {_where(server)}")


def _draw(server: Json) -> None:
    output.facts(
        [
            ("id", server["id"]),
            ("name", server["name"]),
            ("transport", server["transport"]),
            ("command" if server["command"] else "url", _where(server)),
            ("env", ", ".join(clean(name) for name in server["env"])),
            ("headers", ", ".join(clean(name) for name in server["headers"])),
            ("enabled", _enabled(server)),
            ("registered", f"{moment(server['createdAt'])} ({ago(server['createdAt'])})"),
        ]
    )
