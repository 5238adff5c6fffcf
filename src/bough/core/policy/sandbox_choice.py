"""Looks up whether a session's agent runs in the sandbox, and keeps a session from creating a less confined one."""

from __future__ import annotations

from bough.core.store import records
from bough.core.store.sql import REPOS
from bough.model.repo import Repo
from bough.model.sandbox import SANDBOXES, Sandbox
from bough.model.session import Caller, Session
from bough.settings import Settings
from bough.storage.backend import Tx


async def wanted_sandbox(tx: Tx, session: Session, settings: Settings) -> Sandbox:
    """Returns the choice for a session: its own, its repo's or the server's."""
    return session.sandbox or await _repo_sandbox(tx, session.repo_id, settings)


async def sandbox_of_new(
    tx: Tx, caller: Caller, settings: Settings, repo_id: str, requested: Sandbox | None
) -> Sandbox | None:
    """Returns the choice to store for a new session: the requested one if a person creates it; if a session does, the
    strictest of its own, the requested one and the repo's."""
    if caller.kind != "session" or caller.id is None:
        return requested
    creator = await records.session(tx, caller.id)
    if creator.repo_id == repo_id and creator.sandbox is None and requested is None:
        # Both follow what a person chooses for the repo, now and later.
        return None
    repo_choice = await _repo_sandbox(tx, repo_id, settings)
    return _strictest(await wanted_sandbox(tx, creator, settings), repo_choice, requested or repo_choice)


async def sandbox_of_branch(tx: Tx, caller: Caller, settings: Settings, source: Session) -> Sandbox | None:
    """Returns the choice to store for a branch: its source's if a person creates it; if a session does, the stricter of
    its own and the source's."""
    if caller.kind != "session" or caller.id is None:
        return source.sandbox
    creator = await records.session(tx, caller.id)
    if (creator.repo_id, creator.sandbox) == (source.repo_id, source.sandbox):
        return source.sandbox
    return _strictest(await wanted_sandbox(tx, creator, settings), await wanted_sandbox(tx, source, settings))


def is_weaker(sandbox: Sandbox, other: Sandbox) -> bool:
    """Tells whether a choice confines an agent less than another."""
    return SANDBOXES.index(sandbox) < SANDBOXES.index(other)


async def _repo_sandbox(tx: Tx, repo_id: str, settings: Settings) -> Sandbox:
    repo = await tx.one(REPOS.get, Repo, id=repo_id)
    return repo.sandbox if repo is not None and repo.sandbox is not None else settings.sandbox


def _strictest(*choices: Sandbox) -> Sandbox:
    return max(choices, key=SANDBOXES.index)
