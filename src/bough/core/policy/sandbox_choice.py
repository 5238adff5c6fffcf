"""Looks up whether a session's agent runs in the sandbox and with which profile, and keeps a session from creating a
less confined one."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from bough.core.store import records
from bough.core.store.sql import REPOS
from bough.model.agents.sandbox import PROFILES, SANDBOXES, Sandbox, SandboxProfile
from bough.model.repo import Repo
from bough.model.session import Caller, Session
from bough.settings import Settings
from bough.storage.backend import Tx


class SandboxChoice(NamedTuple):
    """Whether an agent runs in the sandbox, and what that keeps from it."""

    sandbox: Sandbox
    profile: SandboxProfile

    @property
    def text(self) -> str:
        """The choice in words for people."""
        return self.sandbox if self.profile == "workspace" or self.sandbox == "off" else f"{self.sandbox}, strict"


class StoredChoice(NamedTuple):
    """A session's own choice; None follows the repo's or the server's."""

    sandbox: Sandbox | None
    profile: SandboxProfile | None


INHERITED = StoredChoice(None, None)


async def wanted_sandbox(tx: Tx, session: Session, settings: Settings) -> SandboxChoice:
    """Returns the choice for a session: its own, its repo's or the server's, for each of the two."""
    return _completed(_own(session), await _repo_choice(tx, session.repo_id, settings))


async def sandbox_of_new(
    tx: Tx, caller: Caller, settings: Settings, repo_id: str, requested: StoredChoice
) -> StoredChoice:
    """Returns the choice to store for a new session: the requested one if a person creates it; if a session does, the
    strictest of its own, the requested one and the repo's. Only an admin may request less than the repo's, and a run of
    an agent's schedule, which counts as Bough itself, never gets less."""
    if caller.kind == "person":
        if any(requested):
            repo_choice = await _repo_choice(tx, repo_id, settings)
            if is_weaker(_completed(requested, repo_choice), repo_choice):
                caller.require("admin", "confine an agent less than the repo does")
        return requested
    creator = await records.session(tx, caller.id) if caller.kind == "session" and caller.id is not None else None
    follows_repo = creator is None or (creator.repo_id == repo_id and _own(creator) == INHERITED)
    if requested == INHERITED and follows_repo:
        # Both follow what a person chooses for the repo, now and later.
        return requested
    repo_choice = await _repo_choice(tx, repo_id, settings)
    limits = [repo_choice, _completed(requested, repo_choice)]
    if creator is not None:
        limits.append(await wanted_sandbox(tx, creator, settings))
    return _strictest(*limits)


async def check_sandbox_change(
    tx: Tx,
    caller: Caller,
    settings: Settings,
    session: Session,
    sandbox: Sandbox | msgspec.UnsetType | None,
    profile: SandboxProfile | msgspec.UnsetType | None,
) -> None:
    """Raises `Denied` if a person who is no admin would confine a session's agent less; None is the repo's choice."""
    if sandbox is msgspec.UNSET and profile is msgspec.UNSET:
        return
    stored = StoredChoice(
        session.sandbox if sandbox is msgspec.UNSET else sandbox,
        session.sandbox_profile if profile is msgspec.UNSET else profile,
    )
    fresh = _completed(stored, await _repo_choice(tx, session.repo_id, settings))
    if is_weaker(fresh, await wanted_sandbox(tx, session, settings)):
        caller.require("admin", "confine an agent less")


async def sandbox_of_branch(
    tx: Tx, caller: Caller, settings: Settings, source: Session, requested: StoredChoice = INHERITED
) -> StoredChoice:
    """Returns the choice to store for a branch: the requested one, or its source's, if a person creates it; if a
    session does, the strictest of its own, the source's and the requested one. Only an admin may request less than the
    source's."""
    if any(requested):
        return await _requested_for_branch(tx, caller, settings, source, requested)
    if caller.kind != "session" or caller.id is None:
        return _own(source)
    creator = await records.session(tx, caller.id)
    if (creator.repo_id, _own(creator)) == (source.repo_id, _own(source)):
        return _own(source)
    return _strictest(await wanted_sandbox(tx, creator, settings), await wanted_sandbox(tx, source, settings))


async def _requested_for_branch(
    tx: Tx, caller: Caller, settings: Settings, source: Session, requested: StoredChoice
) -> StoredChoice:
    usual = await wanted_sandbox(tx, source, settings)
    completed = _completed(requested, usual)
    if caller.kind == "session" and caller.id is not None:
        own = await wanted_sandbox(tx, await records.session(tx, caller.id), settings)
        return _strictest(own, usual, completed)
    if is_weaker(completed, usual):
        caller.require("admin", "confine an agent less than the session that it branches from")
    return StoredChoice(requested.sandbox or source.sandbox, requested.profile or source.sandbox_profile)


def is_weaker(choice: SandboxChoice, other: SandboxChoice) -> bool:
    """Tells whether a choice confines an agent less than another."""
    if SANDBOXES.index(choice.sandbox) < SANDBOXES.index(other.sandbox):
        return True
    return other.sandbox != "off" and PROFILES.index(choice.profile) < PROFILES.index(other.profile)


def _own(session: Session) -> StoredChoice:
    return StoredChoice(session.sandbox, session.sandbox_profile)


def _completed(stored: StoredChoice, repo_choice: SandboxChoice) -> SandboxChoice:
    return SandboxChoice(stored.sandbox or repo_choice.sandbox, stored.profile or repo_choice.profile)


async def _repo_choice(tx: Tx, repo_id: str, settings: Settings) -> SandboxChoice:
    repo = await tx.one(REPOS.get, Repo, id=repo_id)
    sandbox, profile = (repo.sandbox, repo.sandbox_profile) if repo is not None else (None, None)
    return SandboxChoice(sandbox or settings.sandbox, profile or settings.sandbox_profile)


def _strictest(*choices: SandboxChoice) -> StoredChoice:
    return StoredChoice(
        max(choices, key=lambda choice: SANDBOXES.index(choice.sandbox)).sandbox,
        max(choices, key=lambda choice: PROFILES.index(choice.profile)).profile,
    )
