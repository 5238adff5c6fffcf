"""What people have seen of sessions: a mark for each, and so what is new to them. Where that is shown is `home`,
`cards` and `tree`."""

from __future__ import annotations

from bough.core.store import records
from bough.core.store.sql import HOME
from bough.core.store.transactions import Change, Store
from bough.errors import Denied
from bough.model.session import Caller, Session


class Seeing:
    """Takes note that a person has looked."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def see(self, caller: Caller, session_id: str) -> Session:
        """A person has looked at a session; if nothing has ended there since the last time, nothing is written. It is
        no activity: neither the idle clock nor what was active last changes."""
        if caller.kind == "session":
            raise Denied("seen_for_people", "Whether people have seen a session is for them to say, not for sessions.")

        async def work(change: Change) -> Session:
            session = await records.session(change.tx, session_id)
            news = await change.tx.run(HOME.read, session_id=session.id)
            if not news and session.seen_at is not None:
                return session
            return await records.update_session(change, session.id, seen_at=change.now)

        about = ("sessions", session_id)
        return await self._store.write_once(caller, "sessions.seen", None, Session, work, about=about)
