"""Hands a conflict to an agent: finds the session of the worktree that resolves it, and prompts it."""

from __future__ import annotations

import msgspec

from bough.core.finish.requests import UpdateBody
from bough.core.sessions.tasks import Tasks
from bough.core.store import records as sessions
from bough.core.store.sql import WORKTREES
from bough.core.store.transactions import Store
from bough.errors import Conflict
from bough.model.session import Caller


async def find_resolver(store: Store, worktree_id: str, chosen: str | None) -> str:
    """Returns the session to prompt, or raises `Conflict` if none works there."""
    if chosen is not None:
        session = await store.read(lambda tx: sessions.session(tx, chosen))
        if session.worktree_id != worktree_id:
            raise Conflict("no_session", f"Session {session.id} does not work in this worktree.")
        return session.id
    newest = await store.read(lambda tx: tx.value(WORKTREES.newest_session, id=worktree_id))
    if newest is None:
        raise Conflict("no_session", "No active session works in this worktree. Start or resume one first.")
    return str(newest)


async def prompt_resolver(
    store: Store, tasks: Tasks, caller: Caller, worktree_id: str, body: UpdateBody, text: str
) -> tuple[str, str]:
    """Prompts that session, and returns its id and the task's."""
    session_id = await find_resolver(store, worktree_id, body.session_id)
    # A key of its own: a request that is repeated after a kill must not send its prompt twice.
    key = f"{caller.idempotency_key}:update" if caller.idempotency_key is not None else None
    task = await tasks.prompt(msgspec.structs.replace(caller, idempotency_key=key), session_id, text)
    return task.session_id, task.id
