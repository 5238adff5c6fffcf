"""`bough mcp`: the MCP servers that sessions may be given, and finding those that names or ids mean. Their secret
values are the server's to keep; whatever is shown here comes from it without them."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path
from typing import Annotated, Any

import typer

from bough.api.cli.commands.repo import PAGE, Limit, Offset
from bough.api.cli.framework import output
from bough.api.cli.framework.base import Here, command
from bough.api.cli.framework.client import Client, Json, path
from bough.api.cli.framework.completion import mcp_servers
from bough.api.cli.framework.formats import ago, clean, moment, short, short_forms
from bough.api.cli.session.options import pairs
from bough.errors import NotFound
from bough.model.ids import LENGTH, SHORTEST

SERVERS = "/api/mcp-servers"
NONE = "none"
# An id, or enough of one (R5).
ID = re.compile(rf"[0-9A-Fa-f-]{{{SHORTEST},{LENGTH}}}")
# What would be no name, but is how many write a header; behind it stands what must not be told.
NO_HEADER_NAME = frozenset(": \t")
# Here --url is the MCP server's, so the one of Bough must stand before the command.
BUT_URL = ("data", "token", "json")

app = typer.Typer(no_args_is_help=True, help="MCP servers whose tools sessions may be given.")
ServerId = Annotated[
    str,
    typer.Argument(metavar="NAME|ID", help="Its name, its id, or 8 characters of that.", autocompletion=mcp_servers),
]
Args = Annotated[
    list[str] | None, typer.Argument(metavar="-- ARGS…", help="Arguments of the command; no place for secrets.")
]
Command = Annotated[
    str | None, typer.Option("--command", metavar="COMMAND", help="Program that is started and spoken to on stdio.")
]
Address = Annotated[
    str | None,
    typer.Option("--url", metavar="URL", help="Its address; Bough's own stands before: bough --url URL mcp."),
]
Env = Annotated[list[str] | None, typer.Option("--env", "-e", metavar="K=V", help="Variable for it; repeat.")]
Header = Annotated[list[str] | None, typer.Option("--header", metavar="K=V", help="HTTP header for it; repeat.")]

Mcp = Annotated[
    list[str] | None,
    typer.Option("--mcp", metavar="NAME|ID", help="MCP server, or none; repeat.", autocompletion=mcp_servers),
]
NoMcp = Annotated[bool, typer.Option("--no-mcp", help="No MCP server, also none of those inherited.")]


def add_to(root: typer.Typer) -> None:
    root.add_typer(app, name="mcp")


@command(app, "list")
def list_servers(here: Here, limit: Limit = 20, offset: Offset = 0) -> None:
    """List MCP servers."""

    def render(page: Any) -> None:
        rows: list[Json] = page["mcpServers"]
        ids = short_forms([row["id"] for row in rows], complete=page["total"] == len(rows))
        output.table(
            ("ID", "NAME", "TRANSPORT", "ENABLED", "WHERE"),
            [(ids[row["id"]], row["name"], row["transport"], _enabled(row), _where(row)) for row in rows],
            flexible="WHERE",
            empty="No MCP server yet. Make one known with: bough mcp add NAME --command COMMAND",
        )
        output.more(page, len(rows))

    here.show(here.client.get(SERVERS, limit=limit, offset=offset), render)


@command(app, "show")
def show(here: Here, server: ServerId) -> None:
    """Show an MCP server; of variables and headers only the names."""
    here.show(here.client.get(_path(here, server)), _draw)


@command(app, "add", common=BUT_URL)
def add(
    here: Here,
    name: Annotated[str, typer.Argument(help="What agents call it: letters, digits, _ and -.")],
    args: Args = None,
    program: Command = None,
    address: Address = None,
    sse: Annotated[bool, typer.Option("--sse", help="The address speaks the older SSE, not streamable HTTP.")] = False,
    env: Env = None,
    header: Header = None,
    disabled: Annotated[bool, typer.Option("--disabled", help="No session is given it until it is enabled.")] = False,
) -> None:
    """Make an MCP server known: a command that is started for each session, or an address."""
    if (program is None) == (address is None):
        raise typer.BadParameter("An MCP server has either a --command or a --url.")
    if sse and address is None:
        raise typer.BadParameter("--sse goes with --url.")
    transport = "stdio" if address is None else "sse" if sse else "http"
    body = _body(here, transport, args, program, address, env, header)
    body |= {"name": _named(name), "transport": transport, "enabled": not disabled}

    def render(made: Json) -> None:
        _say(made)
        if made["enabled"]:
            output.note(f"Next: bough session new --mcp {made['name']}")

    here.show(here.client.post(SERVERS, body), render)


@command(app, "set", common=BUT_URL)
def change(
    here: Here,
    server: ServerId,
    args: Args = None,
    name: Annotated[str | None, typer.Option("--name", help="What agents call it from now on.")] = None,
    program: Command = None,
    address: Address = None,
    env: Env = None,
    no_env: Annotated[bool, typer.Option("--no-env", help="Take all variables away.")] = False,
    header: Header = None,
    no_header: Annotated[bool, typer.Option("--no-header", help="Take all headers away.")] = False,
    enabled: Annotated[
        bool | None, typer.Option("--enabled/--disabled", help="Let sessions have it, or keep it from them.")
    ] = None,
) -> None:
    """Change an MCP server. A command comes with all its arguments; variables replace all earlier ones, and so do
    headers, but NAME=*** leaves one as it is."""
    if (env and no_env) or (header and no_header):
        raise typer.BadParameter("--no-env goes with no --env, and --no-header with no --header.")
    known = _path(here, server)
    body = _body(here, here.client.get(known).value["transport"], args, program, address, env, header)
    body |= {"env": {}} if no_env else {}
    body |= {"headers": {}} if no_header else {}
    body |= {"name": _named(name)} if name is not None else {}
    body |= {"enabled": enabled} if enabled is not None else {}
    if not body:
        raise typer.BadParameter("Say what to change; see: bough mcp set --help")
    here.show(here.client.patch(known, body), _draw)


@command(app, "rm")
def remove(
    here: Here,
    server: ServerId,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before.")] = False,
) -> None:
    """Forget an MCP server, and take it from the sessions that have it."""
    known = _path(here, server)
    if not yes:
        name = clean(here.client.get(known).value["name"])
        typer.confirm(f"Forget MCP server {name}, and take it from all sessions?", abort=True, err=True)
    here.show(here.client.delete(known), lambda found: output.line(f"MCP server {found['name']} is forgotten."))


def find_servers(client: Client, wanted: list[str]) -> list[str]:
    """The ids of servers by their names; what is no name is an id."""
    ids = {one["name"]: one["id"] for one in _known(client)}
    for one in wanted:
        if one not in ids and not ID.fullmatch(one):
            raise NotFound("mcp_server_not_found", f"No MCP server is called {one!r}. See: bough mcp list")
    return list(dict.fromkeys(ids.get(one, one) for one in wanted))


def server_names(client: Client, ids: list[str]) -> list[str]:
    """The names of servers by their ids."""
    names = {one["id"]: one["name"] for one in _known(client)} if ids else {}
    return [names.get(one, short(one)) for one in ids]


def chosen(client: Client, wanted: list[str] | None, none: bool = False) -> list[str] | None:
    """What --mcp and --no-mcp say a session is given; None if they say nothing."""
    if wanted and (none or (NONE in wanted and len(wanted) > 1)):
        raise typer.BadParameter("--no-mcp goes with no --mcp, and --mcp none with no other.")
    if none or wanted == [NONE]:
        return []
    return find_servers(client, wanted) if wanted else None


def _known(client: Client) -> list[Json]:
    rows: list[Json] = []
    while True:
        page = client.get(SERVERS, limit=PAGE, offset=len(rows)).value
        rows += page["mcpServers"]
        if len(rows) >= page["total"] or not page["mcpServers"]:
            return rows


def _path(here: Here, server: str) -> str:
    (known,) = find_servers(here.client, [server])
    return path("mcp-servers", known)


def _named(name: str) -> str:
    if name == NONE:
        raise typer.BadParameter(f"{NONE!r} is what --mcp takes for no server; call it something else.")
    return name


def _body(
    here: Here,
    transport: str,
    args: list[str] | None,
    program: str | None,
    address: str | None,
    env: list[str] | None,
    header: list[str] | None,
) -> Json:
    """What was said about how a server of this transport is reached; what does not go with that is refused."""
    stdio = transport == "stdio"
    if stdio and (address is not None or header):
        raise typer.BadParameter("--url and --header are for a server with an address; this one has a command.")
    if not stdio and (program is not None or env):
        raise typer.BadParameter("--command and --env are for a server with a command; this one has an address.")
    if args and program is None:
        raise typer.BadParameter("Arguments stand behind -- and go with --command.")
    body: Json = {"command": _found(here, program), "args": args or []} if program is not None else {}
    given = {"url": address, "env": pairs(env), "headers": _headers(header)}
    return body | {name: value for name, value in given.items() if value is not None}


def _headers(given: list[str] | None) -> dict[str, str] | None:
    headers = pairs(given, "header")
    if any(not NO_HEADER_NAME.isdisjoint(name) for name in headers or {}):
        raise typer.BadParameter("A header is written NAME=VALUE, not NAME: VALUE.")
    return headers


def _found(here: Here, program: str) -> str:
    """The whole path of a program on this machine; a server that is named by its address may run on another."""
    if here.place.address is not None:
        return program
    if "/" in program:
        return str(Path(program).expanduser().absolute())
    there = shutil.which(program)
    return program if there is None else str(Path(there).absolute())


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
