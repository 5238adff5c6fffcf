"""The catalog as people see it: each agent with whether it can be started here, in which version, whether a key is to
be seen, and what each permission mode means to it. Who is shown this, and in which words, is up to the doors."""

from __future__ import annotations

from typing import Literal

import msgspec

from bough.agents.catalog import BrokenEntry, Catalog, CatalogEntry
from bough.agents.catalog.find import install_hint, is_set_up
from bough.errors import Invalid
from bough.model.session import MODES, PermissionMode

How = Literal["installed", "npx", "missing"]


class AgentLogin(msgspec.Struct):
    """Whether a key or an account is to be seen from outside (null: one cannot tell), and how to get one."""

    found: bool | None
    how: str


class AgentMode(msgspec.Struct):
    """What the agent is set to for a permission mode: its own mode, and the settings that it is started with."""

    mode: str
    start: str
    note: str


class Agent(msgspec.Struct, rename="camel"):
    """An agent of the catalog, and whether it can be started here."""

    name: str
    title: str
    description: str
    installed: bool
    how: How
    program: str | None
    command: list[str]
    version: str | None
    pinned: str | None
    install: str
    login: AgentLogin
    resumable: bool
    modes: dict[str, AgentMode]
    default_mode: PermissionMode
    is_default: bool
    origin: str
    error: str | None = None


def describe(catalog: Catalog, preferred: str = "") -> list[Agent]:
    """All agents, and the files that were to describe one. It looks at files."""
    default = default_agent(catalog, preferred)
    known = [_agent(catalog, entry, entry.name == default) for entry in catalog.entries()]
    return known + [_broken(one) for one in catalog.broken]


def default_agent(catalog: Catalog, preferred: str) -> str:
    """The agent of a session that names none; a setting that names none that there is stays as it is."""
    try:
        return catalog.default(preferred)
    except Invalid:
        return preferred


def _agent(catalog: Catalog, entry: CatalogEntry, is_default: bool) -> Agent:
    found = catalog.find(entry)
    return Agent(
        name=entry.name,
        title=entry.title,
        description=entry.description,
        installed=found is not None and found.how == "installed",
        how=found.how if found is not None else "missing",
        program=found.program if found is not None else None,
        command=found.command if found is not None else entry.command,
        version=found.version if found is not None else None,
        pinned=entry.package.version if entry.package is not None else None,
        install=install_hint(entry),
        login=AgentLogin(is_set_up(entry), entry.login.how),
        resumable=entry.resume,
        modes={
            name: AgentMode((mode := entry.mode(name)).mode, mode.start, mode.note)
            for name in MODES
            if name in entry.modes
        },
        default_mode=entry.default_mode,
        is_default=is_default,
        origin=entry.origin,
    )


def _broken(one: BrokenEntry) -> Agent:
    return Agent(
        name=one.name,
        title=one.name,
        description="",
        installed=False,
        how="missing",
        program=None,
        command=[],
        version=None,
        pinned=None,
        install="",
        login=AgentLogin(None, ""),
        resumable=False,
        modes={},
        default_mode="acceptEdits",
        is_default=False,
        origin=one.origin,
        error=one.error,
    )
