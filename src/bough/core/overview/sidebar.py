"""Lists live sessions for the sidebar, and keeps the pins of people (O4)."""

from __future__ import annotations

import msgspec

from bough.core.overview.session_rows import read_sessions
from bough.core.store import records
from bough.core.store.sql import HOME, PINS
from bough.core.store.transactions import Change, Store
from bough.errors import Conflict, Denied
from bough.model.session import Caller
from bough.model.views.home import Sidebar, SidebarSession
from bough.storage.backend import Tx

# Sessions of each kind: pinned, waiting for approval, running, and the rest by last activity.
MOST = 100
MOST_PINS = 50


class Sidebars:
    """Reads the sidebar, which shows each person's pins, and changes them."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def get(self, caller: Caller) -> Sidebar:
        return await self._store.read(lambda tx: _read(tx, caller.own_id), long=True)

    async def pin(self, caller: Caller, session_id: str, *, pinned: bool) -> Sidebar:
        """Pins a session for the caller, or removes the pin; changes nothing if that is done already."""
        if caller.kind == "session":
            raise Denied("pins_for_people", "Only people can pin sessions.")

        async def work(change: Change) -> Sidebar:
            session = await records.session(change.tx, session_id)
            person = caller.own_id
            if not pinned:
                await change.tx.run(PINS.remove, person=person, session_id=session.id)
                return await _read(change.tx, person)
            await change.tx.run(PINS.add, person=person, user_id=caller.user_id, session_id=session.id, now=change.now)
            if (await change.tx.value(PINS.count, person=person) or 0) > MOST_PINS:
                raise Conflict("too_many_pins", f"You have {MOST_PINS} pinned sessions. Unpin one first.")
            return await _read(change.tx, person)

        return await self._store.write(work)


async def _read(tx: Tx, person: str) -> Sidebar:
    pinned = [row[0] for row in await tx.all(PINS.of_person, tuple[str], person=person, limit=MOST_PINS)]
    live: list[str] = []
    for query in (PINS.asking, HOME.at_work, PINS.live):
        live += [row[0] for row in await tx.all(query, tuple[str], limit=MOST)]
    sessions = await read_sessions(tx, [*pinned, *live])
    pins = set(pinned)
    shown = [session for session in sessions.values() if session.id in pins or session.kind != "btw"]
    order = {session_id: place for place, session_id in enumerate(pinned)}
    shown.sort(key=lambda session: session.active_at, reverse=True)
    shown.sort(key=lambda session: order.get(session.id, len(order)))
    count = await tx.value(PINS.count_live) or 0
    return Sidebar(
        [SidebarSession(**msgspec.structs.asdict(session), pinned=session.id in pins) for session in shown],
        max(count - sum(1 for session in shown if session.status == "active"), 0),
    )
