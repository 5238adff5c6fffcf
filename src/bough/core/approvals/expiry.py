"""Answers approvals that no person has answered by their deadline, as their session or the server's settings say."""

from __future__ import annotations

import asyncio
import contextlib
from functools import partial

import structlog

from bough.agents.catalog import Catalog
from bough.core.approvals.ask import show_denial
from bough.core.approvals.kinds import kind_of
from bough.core.approvals.service import conclude
from bough.core.store.sql import APPROVALS
from bough.core.store.transactions import CHANNEL_APPROVALS, Change, Store
from bough.errors import Busy
from bough.model.approval import Approval
from bough.model.values.times import now, seconds_until
from bough.storage.backend import Tx

log = structlog.get_logger("bough.approvals")

# The system clock can be set, so the next deadline is looked up again at least this often.
LONGEST_SLEEP = 60.0
# Pause before the next try after a failure.
RETRY_PAUSE = 1.0
BATCH = 50


class Expiry:
    """Sleeps until the next deadline; new approvals wake it."""

    def __init__(self, store: Store, catalog: Catalog) -> None:
        self._store = store
        self._catalog = catalog

    async def run(self) -> None:
        """Answers approvals at their deadlines, until cancelled."""
        woken = asyncio.Event()
        forget = self._store.db.listen(CHANNEL_APPROVALS, lambda _payload: woken.set())
        try:
            while True:
                woken.clear()
                try:
                    pause = await self.answer_due()
                except Exception as error:
                    # Whatever failed, other approvals have deadlines too.
                    log.warning("expiry_failed", error=str(error) or repr(error))
                    pause = RETRY_PAUSE
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(pause):
                        await woken.wait()
        finally:
            forget()

    async def answer_due(self) -> float:
        """Answers every approval that is due; returns the seconds until the next deadline."""
        soonest = 0.0
        for due in await self._store.read(_due):
            try:
                decided = await self._store.write(partial(_expire_due, catalog=self._catalog, approval_id=due.id))
            except Busy:
                raise
            except Exception:
                # One that cannot be answered must not keep the others waiting.
                log.exception("approval_not_expired", approval=due.id)
                soonest = RETRY_PAUSE
            else:
                if decided is not None:
                    log.info("approval_expired", approval=decided.id, decision=decided.decision)
        following = await self._store.read(_next)
        return LONGEST_SLEEP if following is None else min(max(seconds_until(following), soonest), LONGEST_SLEEP)


async def _next(tx: Tx) -> str | None:
    return await tx.value(APPROVALS.next_expiry)


async def _due(tx: Tx) -> list[Approval]:
    return await tx.all(APPROVALS.due, Approval, now=now(), limit=BATCH)


async def _expire_due(change: Change, catalog: Catalog, approval_id: str) -> Approval | None:
    """Answers an approval, unless it was answered or rescheduled in the meantime."""
    approval = await change.tx.one(APPROVALS.get, Approval, id=approval_id)
    if approval is None or approval.status != "pending" or not approval.expires_at or approval.expires_at > change.now:
        return None
    return await expire(change, catalog, approval)


async def expire(change: Change, catalog: Catalog, approval: Approval) -> Approval:
    """Answers an approval whose time is over, as its kind says."""
    kind = kind_of(approval)
    decision, reason, content = await kind.expire(change, catalog, approval)
    by = {"kind": "policy", "id": None}
    decided = await conclude(change, approval, decision, by, status="expired", reason=reason, content=content)
    if decision == "deny" and kind.shows_denial:
        await show_denial(change, decided)
    return decided
