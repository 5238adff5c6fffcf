"""Keeps people who are no admins from reaching out of a sandbox: through the variables of a session, which may decide
what is writable in it, and through MCP servers, whose hosts a strict one opens."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from bough.agents.catalog import Catalog
from bough.agents.catalog.entry import CatalogEntry
from bough.core.policy.network_reach import beyond, host_env, reached_hosts
from bough.core.policy.sandbox_choice import wanted_sandbox
from bough.errors import Denied
from bough.model.message import raw
from bough.model.session import Caller, Session
from bough.settings import Settings
from bough.storage.backend import Tx

# The program that builds the sandbox obeys them, too, before there is one; glibc ignores them in privileged programs.
LOADER_PREFIXES = ("LD_", "MALLOC_")
LOADER_VARIABLES = frozenset(
    {"GCONV_PATH", "GETCONF_DIR", "GLIBC_TUNABLES", "HOSTALIASES", "LOCALDOMAIN", "LOCPATH", "NIS_PATH", "NLSPATH"}
    | {"RESOLV_HOST_CONF", "RES_OPTIONS", "TZDIR"}
)
# They say where an agent's own files are, which are writable in the sandbox.
PLACES = frozenset({"HOME", "TMPDIR"})
PLACE_PREFIXES = ("XDG_",)


def check_variables(caller: Caller, catalog: Catalog, env: Mapping[str, str]) -> None:
    """Raises `Denied` if a person who is no admin sets variables that could open a session's sandbox."""
    if caller.may("admin"):
        return
    places = PLACES.union(*(_places(entry) for entry in catalog.entries()))
    for name in env:
        if name in places or name in LOADER_VARIABLES or name.startswith((*LOADER_PREFIXES, *PLACE_PREFIXES)):
            caller.require("admin", f"set the variable {name[:64]}")


async def check_servers(
    tx: Tx, caller: Caller, settings: Settings, entry: CatalogEntry, session: Session, before: msgspec.Raw | None
) -> None:
    """Raises `Denied` if a person who is no admin has given a strictly confined session MCP servers, besides those
    that it or its source had before, whose hosts it could not reach without them."""
    if caller.may("admin"):
        return
    if (await wanted_sandbox(tx, session, settings)).profile != "strict":
        return
    env = await host_env(tx, session.id)
    without = msgspec.structs.replace(session, mcp_server_ids=before if before is not None else raw([]))
    own = await reached_hosts(tx, entry, without, settings, env)
    opened = beyond(own, await reached_hosts(tx, entry, session, settings, env))
    if opened:
        raise Denied(
            "role_too_low",
            "You need the role admin to use an MCP server in a strict sandbox that does not allow its host: "
            f"{', '.join(opened)[:200]}. Ask an admin to use it here, or to allow the host for the repo.",
            needed="admin",
            role=caller.role,
        )


def _places(entry: CatalogEntry) -> Iterable[str]:
    needs = entry.sandbox
    for path in (*needs.write, *needs.closed, *needs.copy, *needs.private, *needs.protect):
        if path.startswith("$"):
            yield path[1:].partition("/")[0]
    if entry.home is not None and entry.home.variable:
        yield entry.home.variable
