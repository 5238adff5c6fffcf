"""Finds what a review is about: a worktree, session or task, its folder, and the two commits that it compares."""

from __future__ import annotations

import msgspec

from bough.core.checkpoints.diff import Changes
from bough.core.checkpoints.take import Checkpoints
from bough.core.store import records
from bough.core.store.short_ids import Table
from bough.core.store.sql import WORKTREES
from bough.core.store.transactions import Store
from bough.core.worktrees import records as worktree_records
from bough.core.worktrees.records import SessionUse
from bough.errors import Conflict, Invalid
from bough.git import worktrees as git_worktrees
from bough.git.working_copy.folder_state import top_level
from bough.model.repo import Worktree
from bough.model.review import SubjectKind
from bough.model.session import Session
from bough.storage.backend import Tx

TABLES: dict[SubjectKind, Table] = {"worktree": "worktrees", "session": "sessions", "task": "tasks"}
WITHOUT_CHECKPOINT = "There is no checkpoint from before its first task, so all changes in the folder are shown."


class Subject(msgspec.Struct, frozen=True):
    """The subject of a review: its folder, the rows that it belongs to, and the session that its comments go to, if
    there is only one."""

    kind: SubjectKind
    id: str
    title: str
    cwd: str
    worktree_id: str | None
    session: Session | None


class Versions(msgspec.Struct, frozen=True):
    """The two commits that a review compares."""

    old: str
    new: str
    note: str | None = None


async def find_subject(tx: Tx, kind: SubjectKind, subject_id: str) -> tuple[Subject, Worktree | None]:
    """Returns a subject and its worktree, or raises `NotFound`."""
    if kind == "worktree":
        row = await worktree_records.usable(tx, subject_id)
        return Subject(kind, row.id, row.name, row.path, row.id, None), row
    if kind == "task":
        task = await records.task(tx, subject_id)
        session = await records.session(tx, task.session_id)
        subject_id = task.id
    else:
        session = await records.session(tx, subject_id)
        subject_id = session.id
    row = await worktree_records.worktree(tx, session.worktree_id) if session.worktree_id is not None else None
    return Subject(kind, subject_id, session.title, session.cwd, session.worktree_id, session), row


async def sessions_of(tx: Tx, subject: Subject) -> list[SessionUse]:
    """Returns the sessions that comments can be sent to: the subject's own, or the active ones of the worktree."""
    if subject.session is not None:
        session = subject.session
        return [SessionUse(session.id, session.title, session.agent, session.status, session.activity)]
    return await tx.all(WORKTREES.active_sessions, SessionUse, id=subject.worktree_id, path=subject.cwd)


class Subjects:
    """Finds subjects and the commits to compare."""

    def __init__(self, store: Store, checkpoints: Checkpoints, changes: Changes) -> None:
        self._store = store
        self._checkpoints = checkpoints
        self._changes = changes

    async def find(self, kind: SubjectKind, subject_id: str) -> tuple[Subject, Versions]:
        """Returns a subject with the commits of its files before and after. A worktree is compared with the commit at
        which it left its base; a task or session with its first checkpoint."""
        subject, worktree = await self._store.read(lambda tx: find_subject(tx, kind, subject_id))
        await self._checkpoints.check_folder(subject.cwd)
        if await top_level(subject.cwd) is None:
            raise Invalid("repo_is_plain", f"{subject.cwd} is not in a git repository, so there is nothing to compare.")
        if kind == "task":
            return subject, Versions(*await self._changes.commits(await self._changes.task_span(subject.id)))
        if kind == "session":
            try:
                return subject, Versions(*await self._changes.commits(await self._changes.session_span(subject.id)))
            except Conflict as error:
                if error.code != "no_checkpoint":
                    raise
            return subject, await self._against_base(subject, worktree, WITHOUT_CHECKPOINT)
        return subject, await self._against_base(subject, worktree, None)

    async def current(self, subject: Subject) -> str:
        """Returns a commit of the files as they are now in the folder of a subject."""
        await self._checkpoints.check_folder(subject.cwd)
        return await self._changes.current(subject.cwd)

    async def _against_base(self, subject: Subject, worktree: Worktree | None, note: str | None) -> Versions:
        head = await git_worktrees.resolve(subject.cwd, "HEAD")
        if head is None:
            raise Conflict("repo_empty", "This repository has no commits yet, so there is nothing to compare with.")
        base = await _base(subject.cwd, worktree, head) if worktree is not None else None
        return Versions(base or head, await self._changes.current(subject.cwd), note)


async def _base(cwd: str, worktree: Worktree, head: str) -> str | None:
    """Returns the commit at which a worktree left its base, also after it was updated from it."""
    base = await git_worktrees.resolve(cwd, worktree.base_ref) if worktree.base_ref not in (None, "HEAD") else None
    fork = await git_worktrees.fork_point(cwd, base, head)
    return fork or (await git_worktrees.resolve(cwd, worktree.base_sha) if worktree.base_sha is not None else None)
