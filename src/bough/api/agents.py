"""Describes the agents of the catalog for REST and the command line: whether each is installed, its version, whether a
key was found, and its own mode for each permission mode."""

from __future__ import annotations

from typing import Literal

import msgspec

from bough.agents.catalog import BrokenEntry, Catalog, CatalogEntry
from bough.agents.catalog.find_program import install_hint
from bough.agents.catalog.login import is_set_up
from bough.errors import Invalid
from bough.model.session import MODES, PermissionMode

How = Literal["installed", "npx", "uvx", "missing"]


class AgentLogin(msgspec.Struct):
    """Tells whether a key or login was found (null if unknown), and how to set one up."""

    found: bool | None
    how: str


class AgentMode(msgspec.Struct):
    """The agent's own mode for a permission mode, and the options it is started with."""

    mode: str
    start: str
    note: str


class AgentExample(msgspec.Struct):
    """A prompt to offer in a new session of the agent."""

    name: str
    prompt: str


class AgentTour(msgspec.Struct, rename="camel"):
    """The agent's prompts for the steps of the tour."""

    session: str
    approval: str
    fork: str
    child: str
    long_turn: str
    side_question: str


class AgentRegistry(msgspec.Struct):
    """The registry's entry that an agent was added from."""

    id: str
    version: str
    distribution: str
    license: str
    repository: str


class AgentDescription(msgspec.Struct, rename="camel"):
    """An agent of the catalog and its state on this machine."""

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
    steering: bool
    modes: dict[str, AgentMode]
    default_mode: PermissionMode
    is_default: bool
    origin: str
    examples: list[AgentExample]
    tour: AgentTour | None
    # The registry's entry that it was added from; nothing about such an agent was measured.
    registry: AgentRegistry | None = None
    error: str | None = None


def describe(catalog: Catalog, preferred: str = "") -> list[AgentDescription]:
    """Returns all agents, including invalid agent files. It reads files, so call it in a thread."""
    default = default_agent(catalog, preferred)
    known = [_agent(catalog, entry, entry.name == default) for entry in catalog.entries()]
    return known + [_broken(broken) for broken in catalog.broken]


def describe_one(catalog: Catalog, entry: CatalogEntry) -> AgentDescription:
    """Returns one agent that is not the default. It reads files, so call it in a thread."""
    return _agent(catalog, entry, False)


def default_agent(catalog: Catalog, preferred: str) -> str:
    """Returns the default agent for new sessions; returns an unknown `preferred` unchanged."""
    try:
        return catalog.default(preferred)
    except Invalid:
        return preferred


def _agent(catalog: Catalog, entry: CatalogEntry, is_default: bool) -> AgentDescription:
    installation = catalog.find(entry)
    return AgentDescription(
        name=entry.name,
        title=entry.title,
        description=entry.description,
        installed=installation is not None and installation.how == "installed",
        how=installation.how if installation is not None else "missing",
        program=installation.program if installation is not None else None,
        command=installation.command if installation is not None else entry.command,
        version=installation.version if installation is not None else None,
        pinned=entry.package.version if entry.package is not None else None,
        install=install_hint(entry),
        login=AgentLogin(is_set_up(entry), entry.login.how),
        resumable=entry.resume,
        steering=catalog.steers(entry.name),
        modes={
            name: AgentMode((mode := entry.mode(name)).mode, mode.start, mode.note)
            for name in MODES
            if name in entry.modes
        },
        default_mode=entry.default_mode,
        is_default=is_default,
        origin=entry.origin,
        examples=[AgentExample(example.name, example.prompt) for example in entry.examples],
        tour=AgentTour(**msgspec.structs.asdict(entry.tour)) if entry.tour is not None else None,
        registry=AgentRegistry(**msgspec.structs.asdict(entry.registry)) if entry.registry is not None else None,
    )


def _broken(broken: BrokenEntry) -> AgentDescription:
    return AgentDescription(
        name=broken.name,
        title=broken.name,
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
        steering=False,
        modes={},
        default_mode="acceptEdits",
        is_default=False,
        origin=broken.origin,
        examples=[],
        tour=None,
        error=broken.error,
    )
