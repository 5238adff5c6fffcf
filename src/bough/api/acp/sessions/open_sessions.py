"""Tracks the sessions that one editor has open, and keeps the editor's requests for each session in order."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from weakref import WeakValueDictionary

from bough.api.acp.sessions.approvals import ApprovalRequests
from bough.api.acp.view.replay_and_follow import Attachment, AttachmentCallbacks
from bough.core.services import Services
from bough.model.session import Session


class OpenSessions:
    """Attachments by session. `waited` holds the tasks that the editor waits for, by session."""

    def __init__(
        self, services: Services, client: AttachmentCallbacks, asking: ApprovalRequests, waited: dict[str, set[str]]
    ) -> None:
        self._services = services
        self.client = client
        self._approvals = asking
        self._waited = waited
        self._open: dict[str, Attachment] = {}
        self._orders: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        # Called with every session that the editor opens.
        self.opened: Callable[[str], None] = lambda _session_id: None

    def get(self, session_id: str) -> Attachment | None:
        return self._open.get(session_id)

    def order(self, session_id: str) -> asyncio.Lock:
        """Returns the lock that requests for a session hold while they start, so that they start in order."""
        lock = self._orders.get(session_id)
        if lock is None:
            lock = self._orders[session_id] = asyncio.Lock()
        return lock

    async def attach(self, session: Session, *, replay: bool) -> Attachment:
        """Shows a session from now on, or again from the start with `replay`. The caller holds its `order`."""
        current = self._open.get(session.id)
        if current is not None and not replay:
            return current
        if current is not None:
            await self._close(current)
        # Prompts of ended turns belong to the transcript and are replayed with it.
        attachment = Attachment(self._services, session, self.client, self._waited.setdefault(session.id, set()))
        self._open[session.id] = attachment
        try:
            await attachment.start(replay=replay)
        except BaseException:
            await self._close(attachment)
            raise
        return attachment

    async def watch(self, session: Session) -> Attachment:
        """Shows a session from now on, unless it is already shown."""
        current = self._open.get(session.id)
        if current is not None:
            return current
        attachment = await self.attach(session, replay=False)
        await self.offer(attachment)
        return attachment

    async def offer(self, attachment: Attachment) -> None:
        """Sends commands, title, usage and queue, and asks about pending approvals in the session and below it."""
        await attachment.offer()
        self._approvals.catch_up()
        self.opened(attachment.session.id)

    async def detach(self, session_id: str) -> None:
        """Stops showing a session."""
        current = self._open.get(session_id)
        if current is not None:
            await self._close(current)
        self._approvals.forget(session_id)

    async def close(self) -> None:
        for attachment in list(self._open.values()):
            await self._close(attachment)

    async def _close(self, attachment: Attachment) -> None:
        if self._open.get(attachment.session.id) is attachment:
            del self._open[attachment.session.id]
        await attachment.close()
