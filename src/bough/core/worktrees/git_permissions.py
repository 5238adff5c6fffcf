"""Keeps what people allow git to run in a repository: hooks, filters, submodules and fetching. Off by default, because
whoever can write to a repository decides what they do; agents cannot allow any of it."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

import msgspec
import structlog

from bough.core.store.patches import changed_fields
from bough.core.store.short_ids import find
from bough.core.store.sql import REPOS
from bough.core.store.transactions import Change, Store
from bough.core.store.until_available import UNDO_WITHIN, until_available
from bough.errors import Denied, Invalid
from bough.git.repository_programs import RepositoryPrograms, find_programs, locate
from bough.git.safe import permissions
from bough.git.safe.location import is_bare
from bough.model.message import raw
from bough.model.repo import GitPermissions, Repo
from bough.model.session import Caller
from bough.model.values.visible import visible

log = structlog.get_logger("bough.repos")

GitKind = Literal["hooks", "filters", "submodules", "fetch"]


class GitPermissionsPatch(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Allows or forbids what git runs in a repository. Omitted fields stay.

    - `hooks`: the repository's hooks, when a worktree is created, files are committed or a race is merged.
    - `filters`: its filters (such as Git LFS) and merge drivers, as configured now; later changes do not count.
    - `submodules`: check out submodules in new worktrees.
    - `fetch`: fetch missing files of a partial clone."""

    hooks: bool | msgspec.UnsetType = msgspec.UNSET
    filters: bool | msgspec.UnsetType = msgspec.UNSET
    submodules: bool | msgspec.UnsetType = msgspec.UNSET
    fetch: bool | msgspec.UnsetType = msgspec.UNSET


class GitReport(msgspec.Struct, rename="camel"):
    """Lists what a repository would run through git, what people allowed of it, and what nobody has decided yet.

    - `hooks`: names of its hooks.
    - `programs`: commands of its filters and merge drivers, by setting.
    - `changed`: settings whose command is not the one that was allowed.
    - `allowed`: null until a person has decided."""

    repo_id: str
    hooks: list[str]
    programs: dict[str, str]
    changed: list[str]
    submodules: bool
    partial_clone: bool
    allowed: GitPermissions | None
    undecided: list[GitKind]


class RepositoryGitPermissions:
    """Reads, changes and applies what git may run."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def load(self) -> None:
        """Applies what is stored, and lets git use the registered bare repositories. Runs before any other git call."""
        rows = await self._store.read(lambda tx: tx.all(REPOS.with_git, Repo))
        await asyncio.to_thread(_apply_all, rows)

    async def report(self, repo_id: str) -> GitReport:
        """Returns what a repository would run, and what people allowed of it."""
        repo = await self._store.read(lambda tx: find(tx, "repos", repo_id, REPOS.get, Repo))
        return _report(repo, await find_programs(repo.path))

    async def patch(self, caller: Caller, repo_id: str, patch: GitPermissionsPatch) -> GitReport:
        """Allows or forbids. Only people may."""
        if caller.kind == "session":
            raise Denied("git_permissions_for_people", "Only a person may decide what git runs in a repository.")
        caller.require("admin", "decide what git runs in a repository")
        changes = changed_fields(patch)
        repo = await self._store.read(lambda tx: find(tx, "repos", repo_id, REPOS.get, Repo))
        if repo.kind != "git":
            raise Invalid("repo_is_plain", f"{repo.path} is not a git repository.")
        detected = await find_programs(repo.path)
        if "filters" in changes:
            changes["programs"] = detected.programs if changes["filters"] else {}

        async def work(change: Change) -> Repo:
            allowed = {name: value for name, value in changes.items() if name != "programs"}
            before = await find(change.tx, "repos", repo.id, REPOS.get, Repo)
            fresh = await _store(change, repo.id, changes)
            if allowed_in(before) != allowed_in(fresh):
                change.audit(caller, "git_permissions.changed", subject_id=repo.id, path=repo.path, **allowed)
            return fresh

        # What is applied must be what is stored, although the reply may be lost.
        fresh = await until_available(lambda: self._store.write(work), "git permissions", within=UNDO_WITHIN)
        _apply(fresh)
        log.info("git_permissions_changed", repo=fresh.path, allowed=bytes(fresh.git_permissions or b"").decode())
        return _report(fresh, detected)


async def _store(change: Change, repo_id: str, changes: dict[str, Any]) -> Repo:
    current = await find(change.tx, "repos", repo_id, REPOS.get, Repo)
    chosen = msgspec.structs.replace(allowed_in(current) or GitPermissions(), **changes)
    query = REPOS.patch.with_(set="git_permissions = :git_permissions")
    repo = await change.tx.one(query, Repo, id=current.id, now=change.now, git_permissions=raw(chosen))
    assert repo is not None
    change.emit("repo.patched", repo)
    return repo


def allowed_in(repo: Repo) -> GitPermissions | None:
    """Returns what people decided about a repository, or None if nobody has."""
    return None if repo.git_permissions is None else msgspec.json.decode(repo.git_permissions, type=GitPermissions)


def _report(repo: Repo, detected: RepositoryPrograms) -> GitReport:
    allowed = allowed_in(repo)
    matters: dict[GitKind, bool] = {
        "hooks": bool(detected.hooks),
        "filters": bool(detected.used and detected.programs),
        "submodules": detected.submodules,
        "fetch": detected.partial,
    }
    return GitReport(
        repo_id=repo.id,
        hooks=[visible(name) for name in detected.hooks],
        programs=_visible(detected.programs),
        changed=[visible(name) for name in _changed(detected, allowed)],
        submodules=detected.submodules,
        partial_clone=detected.partial,
        allowed=allowed and msgspec.structs.replace(allowed, programs=_visible(allowed.programs)),
        undecided=[kind for kind, there in matters.items() if there] if allowed is None else [],
    )


def _visible(programs: dict[str, str]) -> dict[str, str]:
    """Returns settings for a person to read. What is allowed are the original ones."""
    return {visible(name): visible(command) for name, command in programs.items()}


def _changed(detected: RepositoryPrograms, allowed: GitPermissions | None) -> list[str]:
    if allowed is None or not allowed.filters:
        return []
    return [name for name, command in detected.programs.items() if allowed.programs.get(name) != command]


def _apply_all(repos: list[Repo]) -> None:
    for repo in repos:
        # One repository that cannot be read must not keep the server from starting. Nothing is allowed there.
        try:
            if is_bare(repo.path):
                permissions.register_bare(repo.path)
            _apply(repo)
        except (OSError, ValueError) as error:
            log.warning("git_permissions_not_applied", repo=repo.path, reason=str(error))


def _apply(repo: Repo) -> None:
    allowed = allowed_in(repo) or GitPermissions()
    location = locate(repo.path)
    if location is not None:
        permissions.allow(
            location.common,
            permissions.AllowedPrograms(
                hooks=allowed.hooks, programs=allowed.programs, submodules=allowed.submodules, fetch=allowed.fetch
            ),
        )
