"""Finds an agent in a registry's document, which is a file or is fetched from the address that a setting names."""

from __future__ import annotations

import contextlib
import ipaddress
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from bough.agents.registry.read_entry import LARGEST_ENTRY
from bough.errors import AgentFailed, Invalid, NotFound

LARGEST_DOCUMENT = 8 * 1024 * 1024
"""Bytes of a registry's document; the public one has less than 100 KiB."""
FETCH_WITHIN = 20.0
"""Seconds to fetch a document."""
MOST_NAMES = 30


class _Document(msgspec.Struct):
    agents: list[msgspec.Raw]


class _Named(msgspec.Struct):
    id: str = ""


async def find_agent(where: str, name: str) -> bytes:
    """Returns the entry of an agent from the registry's document at a path or an address."""
    if not where:
        raise Invalid(
            "no_registry",
            "No registry is set. Name a file with an entry, or set agent_registry to a registry's document.",
        )
    return entry_in(await _fetched(where) if "://" in where else _read(where), name)


def entry_in(document: bytes, name: str) -> bytes:
    """Returns the entry of an agent in a registry's document."""
    try:
        agents = msgspec.json.decode(document, type=_Document).agents
        names = {msgspec.json.decode(agent, type=_Named).id: agent for agent in agents}
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise Invalid("bad_registry", f"The registry's document cannot be read: {error}.") from error
    if name not in names:
        known = ", ".join(sorted(known[:64] for known in names if known.isprintable())[:MOST_NAMES])
        raise NotFound("registry_agent_not_found", f"The registry has no agent {name[:64]!r}. It has: {known}.")
    return bytes(names[name])[: LARGEST_ENTRY + 1]


def _read(where: str) -> bytes:
    try:
        with Path(where).expanduser().open("rb") as file:
            return _bounded(file.read(LARGEST_DOCUMENT + 1))
    except OSError as error:
        raise Invalid("bad_registry", f"The registry's document cannot be read: {error.strerror}.") from error


async def _fetched(where: str) -> bytes:
    import httpx2

    _check_address(where)
    taken = b""
    try:
        async with (
            httpx2.AsyncClient(timeout=FETCH_WITHIN, follow_redirects=False, trust_env=True) as http,
            http.stream("GET", where) as answer,
        ):
            if answer.status_code != 200:
                raise AgentFailed("registry_unreachable", f"The registry answered with status {answer.status_code}.")
            async for part in answer.aiter_bytes():
                taken = _bounded(taken + part)
    except (httpx2.HTTPError, OSError) as error:
        raise AgentFailed("registry_unreachable", f"The registry cannot be reached: {error or type(error)}.") from error
    return taken


def _check_address(where: str) -> None:
    """Raises `Invalid` unless the address is encrypted or on this machine, and names no password."""
    parts = urlsplit(where)
    host = parts.hostname or ""
    local = host == "localhost"
    with contextlib.suppress(ValueError):
        local = local or ipaddress.ip_address(host).is_loopback
    if parts.username is not None or not host or (parts.scheme != "https" and not (parts.scheme == "http" and local)):
        raise Invalid("bad_registry", "agent_registry must be a path or an https:// address without a password.")


def _bounded(document: bytes) -> bytes:
    if len(document) > LARGEST_DOCUMENT:
        raise Invalid("bad_registry", f"The registry's document is larger than {LARGEST_DOCUMENT} bytes.")
    return document
