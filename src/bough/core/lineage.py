"""Where a session comes from: what was said before it was forked, and whether its agent can copy that itself. Making
branches is `branching`."""

from __future__ import annotations

from bough.core import rows
from bough.core.callbacks import TREES
from bough.core.rows import MESSAGES, SESSIONS, TASKS
from bough.model.message import QUEUED_BASE, Message
from bough.model.session import Session
from bough.model.task import Task
from bough.storage.backend import Tx


async def messages(tx: Tx, session: Session) -> list[Message]:
    """All that was said up to now: of a fork, first what its origin had said up to the fork."""
    said: list[Message] = []
    if session.forked_from_session_id is not None:
        origin = await rows.session(tx, session.forked_from_session_id)
        said = _until(await messages(tx, origin), session)
    own = await tx.all(MESSAGES.all.with_(columns="*"), Message, session_id=session.id)
    return [*said, *(one for one in own if one.position < QUEUED_BASE)]


def _until(said: list[Message], fork: Session) -> list[Message]:
    """What of its origin a fork knows: all up to the end of a task; a question aside knows all there is."""
    if fork.kind == "btw":
        return said
    last = max((place for place, one in enumerate(said) if one.task_id == fork.branch_task_id), default=-1)
    return said[: last + 1] if fork.branch_task_id is not None else []


async def origin(tx: Tx, session: Session, elsewhere: bool) -> str | None:
    """The agent's own id of the conversation that a fork can be copied from, just as it stands now."""
    if session.forked_from_session_id is None or session.branch_task_id is None:
        return None
    source = await rows.session(tx, session.forked_from_session_id)
    if source.agent != session.agent or (source.cwd != session.cwd and not elsewhere):
        return None
    under_way = [one for one in await tx.all(TASKS.open, Task, session_id=source.id) if one.status != "queued"]
    last = await tx.value(TREES.last_sent, session_id=source.id)
    if under_way or last != session.branch_task_id:
        return None
    return await tx.value(SESSIONS.agent_session, id=source.id)
