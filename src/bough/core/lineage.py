"""Where a session comes from: what was said before it was forked, and whether its agent can copy that itself. Making
branches is `branching`."""

from __future__ import annotations

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
        origin = await tx.one(SESSIONS.get, Session, id=session.forked_from_session_id)
        said = _until(await messages(tx, origin), session) if origin is not None else []
    own = await tx.all(MESSAGES.all.with_(columns="*"), Message, session_id=session.id)
    return [*said, *(one for one in own if one.position < QUEUED_BASE)]


def _until(said: list[Message], fork: Session) -> list[Message]:
    """What of its origin a fork knows: all up to the end of a task; a question aside knows all there is. Of an origin
    that had ended no task itself, what that knew of its own origin."""
    if fork.kind == "btw":
        return said
    if fork.branch_task_id is None:
        return [one for one in said if one.session_id != fork.forked_from_session_id]
    places = [place for place, one in enumerate(said) if one.task_id == fork.branch_task_id]
    if not places:
        return []
    # Its last words may have come when the next prompt stood in the transcript already.
    own = [one for one in said[places[0] : places[-1] + 1] if one.task_id in (fork.branch_task_id, None)]
    return [*said[: places[0]], *own]


async def origin(tx: Tx, session: Session, elsewhere: bool) -> str | None:
    """The agent's own id of the conversation that a fork can be copied from, just as it stands now."""
    if session.forked_from_session_id is None or session.branch_task_id is None:
        return None
    source = await tx.one(SESSIONS.get, Session, id=session.forked_from_session_id)
    if source is None or source.agent != session.agent or (source.cwd != session.cwd and not elsewhere):
        return None
    under_way = [one for one in await tx.all(TASKS.open, Task, session_id=source.id) if one.status != "queued"]
    last = await tx.value(TREES.last_sent, session_id=source.id)
    if under_way or last != session.branch_task_id:
        return None
    return await tx.value(SESSIONS.agent_session, id=source.id)
