"""The sessions that one editor has open: opens and closes attachments, and keeps what the editor asks of one session in
the order in which it asked. What is asked is `methods` and `turns`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from weakref import WeakValueDictionary

from bough.api.acp.sessions.approvals import Asking
from bough.api.acp.view.attachment import Attachment, Client
from bough.core.services import Services
from bough.model.session import Session


class Attached:
    """Attachments by session. `waited` are the tasks whose ends the editor waits for, by session."""

    def __init__(self, services: Services, client: Client, asking: Asking, waited: dict[str, set[str]]) -> None:
        self._services = services
        self.client = client
        self._asking = asking
        self._waited = waited
        self._open: dict[str, Attachment] = {}
        self._orders: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        # Told of every session that the editor opens itself.
        self.opened: Callable[[str], None] = lambda _session_id: None

    def get(self, session_id: str) -> Attachment | None:
        return self._open.get(session_id)

    def order(self, session_id: str) -> asyncio.Lock:
        """Held while something that an editor asks of a session is begun; the next waits, first come first served."""
        lock = self._orders.get(session_id)
        if lock is None:
            lock = self._orders[session_id] = asyncio.Lock()
        return lock

    async def attach(self, session: Session, *, replay: bool) -> Attachment:
        """Shows a session to the editor from now on, or anew with all that was said. Whoever calls holds its order."""
        known = self._open.get(session.id)
        if known is not None and not replay:
            return known
        if known is not None:
            await self._close(known)
        # Prompts of turns that have ended are part of the past, and told with it.
        attachment = Attachment(self._services, session, self.client, self._waited.setdefault(session.id, set()))
        self._open[session.id] = attachment
        try:
            await attachment.start(replay=replay)
        except BaseException:
            await self._close(attachment)
            raise
        return attachment

    async def watch(self, session: Session) -> Attachment:
        """Shows a session from now on, unless it is shown already."""
        known = self._open.get(session.id)
        if known is not None:
            return known
        attachment = await self.attach(session, replay=False)
        await self.offer(attachment)
        return attachment

    async def offer(self, attachment: Attachment) -> None:
        """Tells the rest: commands, title, usage, the queue, and what is asked in the session or below it."""
        await attachment.offer()
        self._asking.look()
        self.opened(attachment.session.id)

    async def detach(self, session_id: str) -> None:
        """The editor does not watch this session any more."""
        known = self._open.get(session_id)
        if known is not None:
            await self._close(known)
        self._asking.forget(session_id)

    async def close(self) -> None:
        for attachment in list(self._open.values()):
            await self._close(attachment)

    async def _close(self, attachment: Attachment) -> None:
        if self._open.get(attachment.session.id) is attachment:
            del self._open[attachment.session.id]
        await attachment.close()
