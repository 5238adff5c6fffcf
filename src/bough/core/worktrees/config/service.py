"""Keeps what people decided about the commands and copies of repositories' own files, once for each content."""

from __future__ import annotations

import asyncio
from typing import Literal

import msgspec
import structlog

from bough.core.store.short_ids import find
from bough.core.store.sql import REPO_CONFIGS, REPOS
from bough.core.store.transactions import Change, Store
from bough.core.worktrees import records
from bough.core.worktrees.allowed_paths import resolve_inside
from bough.core.worktrees.config.read import RepositoryConfig, read_config
from bough.errors import Conflict, Denied
from bough.model.repo import Repo
from bough.model.session import Caller
from bough.model.values.visible import visible
from bough.settings import Settings
from bough.storage.backend import Tx

log = structlog.get_logger("bough.repos")

Decision = Literal["allowed", "denied", "undecided"]


class ConfigReport(RepositoryConfig, kw_only=True):
    """Shows what the files say, and what a person decided about exactly this content; null if nothing needs a
    decision."""

    repo_id: str
    worktree_id: str | None
    decision: Decision | None


class ConfigDecision(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Allows or forbids the content with this digest. It must be what the files say now."""

    digest: str
    allowed: bool
    worktree_id: str | None = None


async def find_decision(tx: Tx, repo_id: str, digest: str | None) -> Decision | None:
    """Returns what people decided about the content with this digest."""
    if digest is None:
        return None
    allowed = await tx.value(REPO_CONFIGS.decision, repo_id=repo_id, digest=digest)
    return "undecided" if allowed is None else "allowed" if allowed else "denied"


class RepoConfigs:
    """Reports and decides about `.bough.toml` and `.worktreeinclude`."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._settings = settings

    async def report(self, repo_id: str, worktree_id: str | None = None) -> ConfigReport:
        """Returns what the files say in a repository's folder, or in one of its worktrees."""
        repo, folders, whole_id = await self._folders(repo_id, worktree_id)
        config = await asyncio.to_thread(read_config, *folders)
        decision = await self._store.read(lambda tx: find_decision(tx, repo.id, config.digest))
        return _report(repo, whole_id, config, decision)

    async def decide(self, caller: Caller, repo_id: str, body: ConfigDecision) -> ConfigReport:
        """Stores a person's decision about the content that the person was shown."""
        if caller.kind == "session":
            raise Denied("config_for_people", "Only a person may allow the commands of a repository's own files.")
        caller.require("admin", "allow the commands of a repository's own files")
        repo, folders, whole_id = await self._folders(repo_id, body.worktree_id)
        config = await asyncio.to_thread(read_config, *folders)
        if config.digest is None or config.digest != body.digest:
            raise Conflict(
                "config_changed",
                "The files are not what you were shown: they changed meanwhile. Read them again, then decide.",
                digest=config.digest,
            )

        async def work(change: Change) -> Decision | None:
            current = await find(change.tx, "repos", repo.id, REPOS.get, Repo)
            before = await find_decision(change.tx, repo.id, body.digest)
            await change.tx.run(
                REPO_CONFIGS.decide, repo_id=repo.id, digest=body.digest, allowed=body.allowed, now=change.now
            )
            decision = await find_decision(change.tx, repo.id, body.digest)
            if decision != before:
                change.emit("repo.patched", current)
                change.audit(
                    caller,
                    "repo_config.decided",
                    subject_id=repo.id,
                    path=repo.path,
                    digest=body.digest,
                    allowed=body.allowed,
                )
            return decision

        decision = await self._store.write(work)
        log.info("repo_config_decided", repo=repo.path, digest=body.digest, allowed=body.allowed)
        return _report(repo, whole_id, config, decision)

    async def _folders(self, repo_id: str, worktree_id: str | None) -> tuple[Repo, list[str], str | None]:
        async def work(tx: Tx) -> tuple[Repo, list[str], str | None]:
            repo, row = await records.session_folder(tx, repo_id, worktree_id)
            return repo, [row.path, repo.path] if row else [repo.path], row.id if row else None

        repo, folders, whole_id = await self._store.read(work)
        settings = self._settings
        for folder in folders:
            resolve_inside(settings.root_path, folder, noun="folder", data=settings.data_path)
        return repo, folders, whole_id


def _report(repo: Repo, worktree_id: str | None, config: RepositoryConfig, decision: Decision | None) -> ConfigReport:
    fields = msgspec.structs.asdict(config)
    fields["setup"] = [visible(command) for command in config.setup]
    fields["copies"] = [visible(pattern) for pattern in config.copies]
    fields["run"] = [msgspec.structs.replace(item, command=visible(item.command)) for item in config.run]
    return ConfigReport(**fields, repo_id=repo.id, worktree_id=worktree_id, decision=decision)
