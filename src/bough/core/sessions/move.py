"""Moves a session to another folder of its repo or worktree (C2b)."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from bough.core.store import records
from bough.core.store.sql import WORKTREES
from bough.core.store.transactions import Change, Store
from bough.core.worktrees.allowed_paths import resolve_inside
from bough.core.worktrees.records import session_folder
from bough.core.worktrees.session_folders import check_session_folder
from bough.errors import Invalid
from bough.git.workspace import check_workspace
from bough.model.message import notice
from bough.model.repo import Worktree
from bough.model.session import Caller, Session
from bough.settings import Settings
from bough.storage.backend import Tx


async def folder_within(store: Store, settings: Settings, caller: Caller, session: Session, folder: str) -> str:
    """Returns the real folder. Raises `Invalid` if it is not in the session's worktree or, if it has none, not in its
    repo or in a worktree of that."""
    real = Path(await asyncio.to_thread(os.path.realpath, folder))
    if str(real) == session.cwd:
        return session.cwd

    async def read(tx: Tx) -> tuple[Path, list[Path]]:
        repo, worktree = await session_folder(tx, session.repo_id, session.worktree_id)
        if worktree is not None:
            return Path(worktree.path), []
        others = await tx.all(WORKTREES.of_repo, Worktree, repo_id=repo.id)
        return Path(repo.path), [Path(other.path) for other in others]

    top, others = await store.read(read)
    if not real.is_relative_to(top) or any(real.is_relative_to(other) for other in others):
        raise Invalid(
            "folder_elsewhere",
            f"{folder} is not a folder of {top}. Session {session.id} works in {session.cwd}; use that or another "
            f"folder of {top}.",
            folder=folder,
            cwd=session.cwd,
        )

    def check() -> str:
        inside = resolve_inside(top, str(real), noun="folder", data=settings.data_path)
        check_workspace(settings.root_path, settings.data_path, str(inside))
        check_session_folder(caller, inside, settings.data_path, confirmed=False)
        return str(inside)

    return await asyncio.to_thread(check)


async def move(store: Store, settings: Settings, caller: Caller, session: Session, folder: str) -> Session:
    """Moves a session to a folder, from its next prompt on."""
    inside = await folder_within(store, settings, caller, session, folder)
    if inside == session.cwd:
        return session

    async def work(change: Change) -> Session:
        text = f"From here on the work is in {inside}, not in {session.cwd}."
        await records.add_message(change, session.id, None, "system", notice(text))
        return await records.update_session(change, session.id, cwd=inside)

    return await store.write(work)
