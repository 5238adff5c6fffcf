"""Expiry: questions that nobody answers in time are answered by policy, if their session or the server says so (P4).
People's answers are `approvals`."""

from __future__ import annotations

import asyncio
import contextlib
from functools import partial

import structlog

from bough.agents.catalog import Catalog
from bough.core.approvals.ask import tell
from bough.core.approvals.service import SWITCH, conclude, once, options_of, why_not_once
from bough.core.policy import evaluate
from bough.core.policy.deadlines import deadline
from bough.core.state.tool_call import CALL
from bough.core.store import records
from bough.core.store.sql import APPROVALS
from bough.core.store.transactions import CHANNEL_APPROVALS, Change, Store
from bough.errors import Busy
from bough.model.approval import Approval, Decision
from bough.model.session import Session
from bough.model.times import now, seconds_until
from bough.settings import Settings
from bough.storage.backend import Tx

log = structlog.get_logger("bough.approvals")

# Clocks can be set, so the next time is looked up anew now and then.
LONGEST_SLEEP = 60.0
# A database that did not answer is asked again after this.
RETRY_PAUSE = 1.0
BATCH = 50


class Expiry:
    """Sleeps until a question's time is over; woken by new ones."""

    def __init__(self, store: Store, catalog: Catalog) -> None:
        self._store = store
        self._catalog = catalog

    async def run(self) -> None:
        """Answers for people who do not, until cancelled."""
        woken = asyncio.Event()
        forget = self._store.db.listen(CHANNEL_APPROVALS, lambda _payload: woken.set())
        try:
            while True:
                woken.clear()
                try:
                    pause = await self.look()
                except Exception as error:
                    # Whatever it is, other questions have their times too.
                    log.warning("expiry_failed", error=str(error) or repr(error))
                    pause = RETRY_PAUSE
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(pause):
                        await woken.wait()
        finally:
            forget()

    async def look(self) -> float:
        """Answers all that is due; gives back how long nothing more will be."""
        soonest = 0.0
        for one in await self._store.read(_due):
            try:
                decided = await self._store.write(partial(_expire_due, catalog=self._catalog, approval_id=one.id))
            except Busy:
                raise
            except Exception:
                # One that cannot be answered keeps none of the others waiting.
                log.exception("approval_not_expired", approval=one.id)
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
    """Answers a question, unless somebody did in the meantime, or its time is another one now."""
    approval = await change.tx.one(APPROVALS.get, Approval, id=approval_id)
    if approval is None or approval.status != "pending" or not approval.expires_at or approval.expires_at > change.now:
        return None
    return await expire(change, catalog, approval)


async def reschedule(change: Change, session: Session, settings: Settings) -> None:
    """A session's word about unanswered questions has changed: it counts for the open ones too, from now on."""
    expires_at, on_expiry = deadline(session, settings)
    changed = await change.tx.all(
        APPROVALS.reschedule,
        Approval,
        session_id=session.id,
        expires_at=expires_at,
        on_expiry=on_expiry,
        now=change.now,
    )
    for approval in changed:
        change.approval("approval.patched", approval)
        change.tx.notify(CHANNEL_APPROVALS, approval.id)


async def expire(change: Change, catalog: Catalog, approval: Approval) -> Approval:
    """Answers a question whose time is over. What a rule or the mode denies by now, a change of the mode, and what the
    agent gives no way to allow once is never allowed so."""
    session = await records.session(change.tx, approval.session_id)
    decision: Decision = "deny"
    why = "Nobody answered in time, and the session is set to deny then."
    if approval.tool_kind == CALL:
        if approval.on_expiry == "allow" and approval.key is not None:
            decision, why = "allow", "Nobody answered in time, and the session is set to allow then."
    elif approval.on_expiry == "allow":
        use = await evaluate.read_again(change.tx, catalog, session, approval)
        verdict = await evaluate.judge(change.tx, session, use)
        if approval.tool_kind == SWITCH:
            why = "Nobody answered in time, and a change of the agent's mode is for people to allow."
        elif verdict.effect == "deny":
            why = f"Nobody answered in time. {verdict.reason}"
        elif once(options_of(approval), "allow") is None:
            why = f"Nobody answered in time, and {why_not_once(options_of(approval))}."
        else:
            decision, why = "allow", "Nobody answered in time, and the session is set to allow then."
    by = {"kind": "policy", "id": None}
    decided = await conclude(change, approval, decision, by, status="expired", reason=why)
    if decision == "deny" and decided.tool_kind != CALL:
        await tell(change, decided)
    return decided
