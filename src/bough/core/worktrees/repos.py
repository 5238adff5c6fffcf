"""Registers repositories: git repositories or plain folders (R1). Never touches their files; forgetting one deletes the
hidden refs of its checkpoints."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import msgspec
import structlog

from bough.agents.network.hosts import BadHost, parse_patterns
from bough.core.store.paging import Page, read_page
from bough.core.store.short_ids import find, find_id
from bough.core.store.sql import CHECKPOINTS, REPOS, WORKTREES
from bough.core.store.transactions import CHANNEL_HOSTS, Change, Store
from bough.core.worktrees.allowed_paths import resolve_inside
from bough.errors import BoughError, Conflict, Denied, Internal, Invalid
from bough.git.paths import is_folder
from bough.git.refs.checkpoint_refs import drop
from bough.git.safe.permissions import forget, register_bare
from bough.git.working_copy.folder_state import InspectedFolder, inspect, top_level
from bough.model.agents.sandbox import Sandbox, SandboxProfile
from bough.model.message import raw
from bough.model.repo import Repo
from bough.model.session import Caller
from bough.model.values.ids import new_id
from bough.model.values.times import now
from bough.settings import Settings

log = structlog.get_logger("bough.repos")

LONGEST_NAME = 200
MOST_WORDS = 200
LONGEST_WORD = 4000
SANDBOX_RIGHTS = ("sandbox", "sandbox_profile", "sandbox_hosts")
# Only admins change these, and their changes are recorded in the audit trail.
RIGHTS = ("setup", "copy_ignored", *SANDBOX_RIGHTS)


class RepoPatch(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Changes to a repository. Omitted fields stay.

    - `setup`: a command and its arguments, run without a shell in each new worktree.
    - `copyIgnored`: globs of ignored files to copy from the working copy first.
    - `sandbox`: whether agents run in the sandbox here; null uses the server's setting.
    - `sandboxProfile`: the profile of the sandbox, `workspace` or `strict`; null uses the server's setting.
    - `sandboxHosts`: hosts that strictly confined agents may reach here, in addition to the server's. The list
      replaces the one before.
    - `boardId`, `x`, `y`: where the card of its own folder is; null takes it off its board."""

    name: str | msgspec.UnsetType = msgspec.UNSET
    setup: list[str] | msgspec.UnsetType | None = msgspec.UNSET
    copy_ignored: list[str] | msgspec.UnsetType | None = msgspec.UNSET
    sandbox: Sandbox | msgspec.UnsetType | None = msgspec.UNSET
    sandbox_profile: SandboxProfile | msgspec.UnsetType | None = msgspec.UNSET
    sandbox_hosts: list[str] | msgspec.UnsetType | None = msgspec.UNSET
    board_id: str | msgspec.UnsetType | None = msgspec.UNSET
    x: float | msgspec.UnsetType | None = msgspec.UNSET
    y: float | msgspec.UnsetType | None = msgspec.UNSET


class Repos:
    """Registers, lists and forgets repositories."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._root = settings.root_path
        self._data = settings.data_path

    async def add(self, caller: Caller, path: str, name: str | None = None) -> Repo:
        """Registers a folder. A known one is returned with updated data. Refuses Bough's data folder."""
        real, row = await self.preview_add(caller, path)
        title = checked_name(name) if name is not None else real.name or str(real)

        async def work(change: Change) -> Repo:
            repo = await change.tx.one(
                REPOS.add,
                Repo,
                id=new_id(),
                name=title,
                path=str(real),
                kind=row.kind,
                default_branch=row.default_branch,
                now=change.now,
            )
            if repo is not None:
                change.emit("repo.created", repo)
                change.audit(caller, "repo.added", subject_id=repo.id, path=repo.path)
                return repo
            existing = await change.tx.one(REPOS.by_path, Repo, path=str(real))
            if existing is None:
                raise Internal("repo_vanished", f"The repository at {real} disappeared while being registered.")
            if name is not None and existing.name != title:
                raise Conflict(
                    "repo_known",
                    f"{real} is already registered as {existing.name!r} ({existing.id}). Rename it, or omit the name.",
                    repoId=existing.id,
                    name=existing.name,
                )
            if (existing.kind, existing.default_branch) == (row.kind, row.default_branch):
                return existing
            fresh = await change.tx.one(
                REPOS.refresh,
                Repo,
                id=existing.id,
                kind=row.kind,
                default_branch=row.default_branch,
                now=change.now,
            )
            assert fresh is not None
            change.emit("repo.patched", fresh)
            return fresh

        return await self._store.write_once(caller, "repos.add", [path, name], Repo, work)

    async def preview_add(self, caller: Caller, path: str) -> tuple[Path, InspectedFolder]:
        """Returns the folder that `add` would register, and its kind."""
        real = resolve_inside(self._root, path, data=self._data)
        # A folder inside a working copy stands for the whole repository, if that is inside the root too.
        top = await _top(str(real))
        if top is not None:
            real = resolve_inside(self._root, top, data=self._data)
        folder = await inspect(str(real))
        if folder.bare and not await self._may_be_bare(caller, str(real)):
            folder = InspectedFolder("plain", None)
        return real, folder

    @contextlib.asynccontextmanager
    async def added_for(self, caller: Caller, path: str) -> AsyncGenerator[Repo]:
        """Registers a folder for what is created in it. If that is refused, a folder that was new is forgotten."""
        began = now()
        repo = await self.add(caller, path)
        try:
            yield repo
        except BoughError:
            if repo.created_at >= began:
                # Somebody else may use it by now.
                with contextlib.suppress(BoughError):
                    await self.remove(caller, repo.id)
            raise

    async def _may_be_bare(self, caller: Caller, path: str) -> bool:
        """Lets git use a bare repository that a person registers. An agent can make any folder look like one, also one
        that is registered as a plain folder."""
        known = await self._store.read(lambda tx: tx.one(REPOS.by_path, Repo, path=path))
        allowed = caller.kind != "session" if known is None else known.kind == "git"
        if allowed:
            register_bare(path)
        return allowed

    async def get(self, repo_id: str) -> Repo:
        return await self._store.read(lambda tx: find(tx, "repos", repo_id, REPOS.get, Repo))

    async def list(self, limit: int, offset: int) -> Page[Repo]:
        return await self._store.read(lambda tx: read_page(tx, REPOS.page, REPOS.count, Repo, limit, offset))

    async def patch(self, caller: Caller, repo_id: str, patch: RepoPatch) -> Repo:
        """Changes a repository. Only admins may change what runs in it and how agents are confined there."""
        columns: dict[str, Any] = {
            name: getattr(patch, name)
            for name in ("x", "y", "sandbox", "sandbox_profile")
            if getattr(patch, name) is not msgspec.UNSET
        }
        if patch.name is not msgspec.UNSET:
            columns["name"] = checked_name(patch.name)
        _check_rights(caller, patch)
        if patch.sandbox_hosts is not msgspec.UNSET:
            columns["sandbox_hosts"] = raw(checked_hosts(patch.sandbox_hosts or []))
        if patch.setup is not msgspec.UNSET:
            columns["setup"] = raw(checked_command(patch.setup or []))
        if patch.copy_ignored is not msgspec.UNSET:
            columns["copy_ignored"] = raw(checked_globs(patch.copy_ignored or []))
        if not columns and patch.board_id is msgspec.UNSET:
            raise Invalid("nothing_to_change", "Give at least one field to change.")

        async def work(change: Change) -> Repo:
            current = await find(change.tx, "repos", repo_id, REPOS.get, Repo)
            chosen = dict(columns)
            if patch.board_id is not msgspec.UNSET:
                chosen["board_id"] = await find_id(change.tx, "boards", patch.board_id) if patch.board_id else None
            query = REPOS.patch.setting(chosen)
            repo = await change.tx.one(query, Repo, id=current.id, now=change.now, **chosen)
            assert repo is not None
            change.emit("repo.patched", repo)
            if "sandbox_hosts" in chosen:
                change.tx.notify(CHANNEL_HOSTS, "")
            if rights := {name: chosen[name] for name in RIGHTS if name in chosen}:
                shown = {name: "inherit" if value is None else value for name, value in rights.items()}
                change.audit(caller, "repo.changed", subject_id=repo.id, path=repo.path, **shown)
            return repo

        return await self._store.write(work)

    async def remove(self, caller: Caller, repo_id: str) -> Repo:
        """Forgets an unused repository and deletes the refs of its checkpoints. The folder stays. What an admin has
        set for it would be lost, so that only an admin may forget it then."""

        async def work(change: Change) -> tuple[Repo, list[str]]:
            repo = await find(change.tx, "repos", repo_id, REPOS.get, Repo)
            uses = await change.tx.value(REPOS.uses, id=repo.id)
            if uses:
                raise Conflict(
                    "repo_in_use",
                    f"Repository {repo.name} still has {uses} sessions or worktrees. "
                    "Delete them first (DELETE /api/sessions/ID?purge=true).",
                )
            if _has_rights(repo):
                caller.require("admin", "forget a repository with its own sandbox, hosts, setup or git permissions")
            refs = await change.tx.all(CHECKPOINTS.refs_of_repo, tuple[str], repo_id=repo.id)
            await change.tx.run(WORKTREES.forget_removed, repo_id=repo.id)
            await change.tx.run(REPOS.remove, id=repo.id)
            change.emit("repo.removed", repo)
            change.audit(caller, "repo.removed", subject_id=repo.id, path=repo.path)
            return repo, [ref for (ref,) in refs]

        repo, refs = await self._store.write(work)
        if refs and is_folder(repo.path):
            try:
                await drop(repo.path, refs)
            except BoughError as error:
                log.warning("checkpoint_refs_left", repo=repo.path, count=len(refs), error=error.message)
        forget(repo.path)
        return repo


def _check_rights(caller: Caller, patch: RepoPatch) -> None:
    """Lets only admins change what runs in new worktrees, and how agents are confined."""
    if patch.setup is not msgspec.UNSET or patch.copy_ignored is not msgspec.UNSET:
        if caller.kind == "session":
            raise Denied("setup_for_people", "Only a person may change the setup of new worktrees.")
        caller.require("admin", "change the setup of new worktrees")
    if any(getattr(patch, name) is not msgspec.UNSET for name in SANDBOX_RIGHTS):
        if caller.kind == "session":
            raise Denied("sandbox_for_people", "Only a person may change whether agents run in the sandbox.")
        caller.require("admin", "change whether agents run in the sandbox")


def _has_rights(repo: Repo) -> bool:
    """Returns whether somebody has decided what agents or git may do in a repository, or what runs there."""
    if any(choice is not None for choice in (repo.sandbox, repo.sandbox_profile, repo.git_permissions)):
        return True
    return any(msgspec.json.decode(value) for value in (repo.setup, repo.copy_ignored, repo.sandbox_hosts))


async def _top(path: str) -> str | None:
    """Returns the top folder of the working copy that contains `path`, also from inside `.git`; None for a bare
    repository."""
    top = await top_level(path)
    if top is not None:
        return top
    folders = [Path(path), *Path(path).parents]
    # A submodule's git data is inside that of the repository that contains it.
    git_folder = next((folder for folder in reversed(folders) if folder.name == ".git"), None)
    return await top_level(str(git_folder.parent)) if git_folder is not None else None


def checked_name(name: str) -> str:
    """Validates a display name: one line, not empty, not too long."""
    title = " ".join(name.split())
    if not title or len(title) > LONGEST_NAME:
        raise Invalid("bad_name", f"A name must have between 1 and {LONGEST_NAME} characters.")
    return title


def checked_command(words: list[str]) -> list[str]:
    """Validates a command and its arguments; an empty list is allowed."""
    if len(words) > MOST_WORDS or any(len(word) > LONGEST_WORD or "\0" in word for word in words):
        raise Invalid(
            "bad_setup", f"A command may have at most {MOST_WORDS} words of at most {LONGEST_WORD} characters."
        )
    if words and not words[0].strip():
        raise Invalid("bad_setup", "The first word of a command must be a program.")
    return words


def checked_globs(globs: list[str]) -> list[str]:
    """Validates globs of files inside a working copy."""
    if len(globs) > MOST_WORDS:
        raise Invalid("bad_glob", f"Give at most {MOST_WORDS} globs.")
    for glob in globs:
        parts = glob.split("/")
        wrong = not glob.strip() or len(glob) > LONGEST_WORD or "\0" in glob or glob.startswith("/") or ".." in parts
        if wrong or parts[0] == ".git":
            raise Invalid("bad_glob", f"{glob[:200]!r} is not a glob of files inside a working copy, such as `.env`.")
    return globs


def checked_hosts(hosts: list[str]) -> list[str]:
    """Returns hosts in their usual form; raises `Invalid` for one that is none."""
    if len(hosts) > MOST_WORDS:
        raise Invalid("bad_host_pattern", f"Give at most {MOST_WORDS} hosts.")
    try:
        return list(dict.fromkeys(pattern for host in hosts for pattern in parse_patterns(host)))
    except BadHost as error:
        raise Invalid("bad_host_pattern", f"{error}") from error
