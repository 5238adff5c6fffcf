"""Finds the secret values of a session: its environment, those of its MCP servers, and those that its running agent was
started with. What is stored about the session is redacted with them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import lru_cache
from typing import TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec

from bough.core.store.sql import MCP, SESSIONS
from bough.errors import BoughError
from bough.model.repo import McpServer
from bough.model.values.redaction import Redactor, redactor_for
from bough.storage.backend import Tx

E = TypeVar("E", bound=BoughError)

PLAIN_HEADERS = frozenset(
    {
        *("accept", "accept-charset", "accept-encoding", "accept-language", "cache-control", "connection"),
        *("content-encoding", "content-language", "content-type", "mcp-protocol-version", "user-agent"),
    }
)
"""Headers that hold no secrets."""


class _SecretColumns(msgspec.Struct):
    env: msgspec.Raw
    mcp_server_ids: msgspec.Raw
    secrets: msgspec.Raw | None


async def redactor_of(tx: Tx, session_id: str) -> Redactor:
    """Returns the redactor of a session. It masks nothing if the session does not exist."""
    return redactor_for(frozenset(await secrets_of(tx, session_id)))


async def secrets_of(tx: Tx, session_id: str) -> list[str]:
    """Returns the secret values of a session, without paths."""
    columns = await tx.one(SESSIONS.secrets, _SecretColumns, id=session_id)
    if columns is None:
        return []
    values = set(msgspec.json.decode(columns.env, type=dict[str, str]).values())
    if columns.secrets is not None:
        values |= set(msgspec.json.decode(columns.secrets, type=list[str]))
    ids = msgspec.json.decode(columns.mcp_server_ids, type=list[str])
    for server in await tx.all(MCP.private, McpServer, ids=ids) if ids else []:
        values |= set(_secrets_of_server(server))
    return sorted(value for value in values if value and not _is_path_list(value))


def _is_path_list(value: str) -> bool:
    """Returns whether a value consists of paths, like PATH. Paths are no secrets, and people need to read them."""
    return all(_is_path(part) for part in value.split(":"))


@lru_cache(maxsize=4096)
def _is_path(text: str) -> bool:
    """Returns whether a text is the path of a file, or of one that could be created. Looks at the disk once, because
    transactions must not wait for a slow one."""
    if not text.startswith("/") or "\0" in text:
        return False
    folder = os.path.dirname(text)
    return os.path.exists(text) or (folder != "/" and os.path.isdir(folder))


def _secrets_of_server(server: McpServer) -> Iterable[str]:
    yield from msgspec.json.decode(server.env, type=dict[str, str]).values()
    for name, value in msgspec.json.decode(server.headers, type=dict[str, str]).items():
        if name.lower() in PLAIN_HEADERS:
            continue
        yield value
        # `Bearer TOKEN`: the token appears without its scheme, too.
        yield from value.split()[1:]
    if server.url:
        parts = urlsplit(server.url)
        yield from (parts.query, parts.fragment)
        yield from (value for _, value in parse_qsl(parts.query))
        # A user name without a password is often a token.
        secret = parts.password or parts.username or ""
        yield from (secret, unquote(secret))


def redacted_error(error: E, redactor: Redactor) -> E:
    """Returns an error whose message and details hold no secret value."""
    if not redactor:
        return error
    copy = error.__class__.__new__(error.__class__)
    copy.__dict__.update(error.__dict__)
    copy.args = tuple(redactor.value(list(error.args)))
    copy.message = redactor.text(error.message)
    copy.details = redactor.value(error.details)
    return copy
