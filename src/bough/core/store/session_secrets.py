"""Finds the secret values of a session: its environment, those of its MCP servers, those that its running agent was
started with, and those that it had before. What is stored about the session is redacted with them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec

from bough.core.store.sql import MCP, SESSIONS
from bough.errors import BoughError
from bough.model.message import raw
from bough.model.repo import McpServer
from bough.model.task import Task
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
MOST_AT_ONCE = 8000
"""Parameters of one query."""
MOST_PAST = 500
"""Values of former times that a session remembers, the newest ones. Each makes reading its texts slower."""
LARGEST_PAST = 512 * 1024
"""Characters of all of them."""


class _SecretColumns(msgspec.Struct):
    id: str
    env: msgspec.Raw
    mcp_server_ids: msgspec.Raw
    secrets: msgspec.Raw | None
    past_secrets: msgspec.Raw


async def redactor_of(tx: Tx, session_id: str) -> Redactor:
    """Returns the redactor of a session. It knows no values if the session does not exist."""
    return redactor_for(frozenset(await secrets_of(tx, session_id)))


async def redactor_with(tx: Tx, session_id: str, env: Iterable[str]) -> Redactor:
    """Returns the redactor of a session and of further values, such as the variables of a session to come."""
    values = [*await secrets_of(tx, session_id), *(value for value in env if value and not _is_path_list(value))]
    return redactor_for(frozenset(values))


async def redactor_of_new(tx: Tx, env: dict[str, str], server_ids: msgspec.Raw, source_id: str | None) -> Redactor:
    """Returns the redactor of a session that is about to be added, with the values of its source."""
    ids = msgspec.json.decode(server_ids, type=list[str])
    servers = await tx.all(MCP.private, McpServer, ids=ids) if ids else []
    values = [value for server in servers for value in _secrets_of_server(server)]
    return await redactor_with(tx, source_id or "", [*env.values(), *values])


async def prompt_redactor(tx: Tx, task: Task) -> Redactor:
    """Returns the redactor of a prompt: of its session, and of the session that wrote it."""
    values = await secrets_of(tx, task.session_id)
    if task.source_session_id is not None:
        values += await secrets_of(tx, task.source_session_id)
    return redactor_for(frozenset(values))


async def shown_task(tx: Tx, task: Task) -> Task:
    """Returns a task without the secret values in its prompt. Its row keeps the prompt as the agent receives it."""
    shown = (await prompt_redactor(tx, task)).text(task.prompt)
    return task if shown == task.prompt else msgspec.structs.replace(task, prompt=shown)


async def redactors_of(tx: Tx, session_ids: Sequence[str]) -> dict[str, Redactor]:
    """Returns the redactors of some sessions, in a fixed number of queries."""
    values = await _values_of(tx, session_ids)
    return {session_id: redactor_for(frozenset(values.get(session_id, ()))) for session_id in session_ids}


async def secrets_of(tx: Tx, session_id: str) -> list[str]:
    """Returns the secret values of a session, without paths."""
    return (await _values_of(tx, [session_id])).get(session_id, [])


async def _values_of(tx: Tx, session_ids: Sequence[str]) -> dict[str, list[str]]:
    rows: list[_SecretColumns] = []
    for start in range(0, len(session_ids), MOST_AT_ONCE):
        rows += await tx.all(SESSIONS.secrets, _SecretColumns, ids=session_ids[start : start + MOST_AT_ONCE])
    servers = {row.id: msgspec.json.decode(row.mcp_server_ids, type=list[str]) for row in rows}
    server_ids = list(dict.fromkeys(server_id for ids in servers.values() for server_id in ids))
    secrets: dict[str, set[str]] = {}
    for start in range(0, len(server_ids), MOST_AT_ONCE):
        for server in await tx.all(MCP.private, McpServer, ids=server_ids[start : start + MOST_AT_ONCE]):
            secrets[server.id] = set(_secrets_of_server(server))
    return {
        row.id: _sorted_values(row, [secrets.get(server_id, set()) for server_id in servers[row.id]]) for row in rows
    }


def _sorted_values(row: _SecretColumns, of_servers: list[set[str]]) -> list[str]:
    values = set(msgspec.json.decode(row.env, type=dict[str, str]).values()).union(*of_servers)
    if row.secrets is not None:
        values |= set(msgspec.json.decode(row.secrets, type=list[str]))
    values |= set(msgspec.json.decode(row.past_secrets, type=list[str]))
    return sorted(value for value in values if value and not _is_path_list(value))


async def remember_secrets(tx: Tx, session_id: str, source_id: str | None = None) -> None:
    """Stores the secret values that a session has now as former ones. Must be called before any of them changes: its
    transcript, its queue and its agent may still hold them. With `source_id`, stores those of another session, whose
    conversation it continues."""
    await remember_values(tx, session_id, await secrets_of(tx, source_id or session_id))


async def remember_values(tx: Tx, session_id: str, values: Sequence[str]) -> None:
    """Stores secret values that a session's agent knows or is about to learn, so that its texts are masked."""
    past: msgspec.Raw | None = await tx.value(SESSIONS.past_secrets, id=session_id)
    if past is None:
        return
    known = msgspec.json.decode(past, type=list[str])
    merged = [*(value for value in known if value not in values), *values]
    room, first = LARGEST_PAST, len(merged)
    while first and len(merged) - first < MOST_PAST and (room := room - len(merged[first - 1])) >= 0:
        first -= 1
    if merged[first:] != known:
        await tx.run(SESSIONS.set_past_secrets, id=session_id, secrets=raw(merged[first:]))


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
    copy = error.__class__.__new__(error.__class__)
    copy.__dict__.update(error.__dict__)
    copy.args = tuple(redactor.value(list(error.args)))
    copy.message = redactor.text(error.message)
    copy.details = redactor.value(error.details)
    return copy
