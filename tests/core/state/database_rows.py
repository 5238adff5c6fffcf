"""Adds sessions and tasks to a database for tests of rules, without agents, folders or a server."""

from __future__ import annotations

from typing import Any

from bough.core.state.enqueue import enqueue
from bough.core.store import records
from bough.core.store.sql import CALLS, REPOS
from bough.core.store.transactions import Change, Store
from bough.model.message import raw
from bough.model.repo import Repo
from bough.model.session import CallbackConfig, Caller, Kind, Session
from bough.model.task import TERMINAL, Task, TaskStatus
from bough.model.values.ids import new_id


class StoredRows:
    """Adds rows to one database."""

    def __init__(self, store: Store, repo_id: str) -> None:
        self.store = store
        self._repo_id = repo_id

    @classmethod
    async def create(cls, store: Store) -> StoredRows:
        """Adds the repository that all sessions work in."""
        repo_id = new_id()
        fields = {"id": repo_id, "name": "repo", "path": "/repo", "kind": "plain", "default_branch": None}
        await store.write(lambda change: change.tx.one(REPOS.add, Repo, now=change.now, **fields))
        return cls(store, repo_id)

    async def session(
        self,
        kind: Kind = "root",
        source: Session | None = None,
        *,
        callback: CallbackConfig | None = None,
        maker: Session | None = None,
        **columns: Any,
    ) -> Session:
        """Adds a session, with these columns changed afterwards. `maker` is the session that created its tree."""

        async def work(change: Change) -> Session:
            session = await records.add_session(
                change,
                Caller(),
                session_id=new_id(),
                repo_id=self._repo_id,
                worktree_id=None,
                cwd="/repo",
                agent="demo",
                title=kind,
                description="",
                permission_mode="default",
                model=None,
                effort=None,
                mcp_server_ids=raw([]),
                env={},
                context_files=raw([]),
                callback=raw(callback or CallbackConfig()),
                git_state=raw({}),
                headless=None,
                sandbox=None,
                sandbox_profile=None,
                kind=kind,
                source=source,
            )
            if maker is not None:
                makers = {"maker": maker.id, "maker_root": maker.root_session_id}
                await change.tx.run(CALLS.made, root=session.id, **makers)
            return await records.update_session(change, session.id, **columns) if columns else session

        return await self.store.write(work)

    async def task(self, session: Session, prompt: str, status: TaskStatus = "queued", **columns: Any) -> Task:
        """Queues a prompt and puts its task into a status, with these columns changed."""

        async def work(change: Change) -> Task:
            task = await enqueue(change, session, prompt, source="user", from_session=None)
            if status in TERMINAL:
                ended = await records.end_task(change, task.id, status)
                assert ended is not None
                return ended
            changed: dict[str, Any] = columns | ({"status": status} if status != "queued" else {})
            return await records.update_task(change, task.id, **changed) if changed else task

        return await self.store.write(work)
