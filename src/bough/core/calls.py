"""The course of a call of Bough's own tools (5c–5e): written down before it acts, asked about where it must be, carried
out exactly once, and its outcome brought to whoever called, also over restarts. What a person decides comes through
`approvals`; what a tool does is handed in by the door that has it."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections import Counter
from collections.abc import Awaitable, Callable, Generator, Mapping
from typing import Any

import msgspec
import structlog

from bough.agents.catalog import Catalog
from bough.core import call_rights, call_rows, rows
from bough.core.call_rights import CALLS
from bough.core.call_rows import CALL, ONCE, OPTIONS
from bough.core.deadlines import deadline
from bough.core.page import Page
from bough.core.store import CHANNEL_APPROVALS, Change, Store
from bough.errors import BoughError, Conflict, Denied, Internal
from bough.model.call import Call, Claim
from bough.model.ids import new_id
from bough.model.message import raw
from bough.model.session import Caller
from bough.model.task import Task
from bough.settings import Settings
from bough.storage.backend import Tx

log = structlog.get_logger("bough.calls")

# How long a call waits for a person before its caller is given a handle: every agent's own patience is longer.
PATIENCE = 45.0
RETRY_PAUSE = 1.0

Act = Callable[[Caller, dict[str, Any]], Awaitable[Any]]


class Calls:
    """Takes calls, and carries out those that people have decided about later."""

    def __init__(self, store: Store, settings: Settings, catalog: Catalog) -> None:
        self._store = store
        self._settings = settings
        self._catalog = catalog
        self._acts: Mapping[str, Act] = {}
        self._known = asyncio.Event()
        # Calls that are being carried out, and how many wait for the end of each.
        self._running: dict[str, asyncio.Task[Call]] = {}
        self._waiting: Counter[str] = Counter()
        # Calls that came again, and for which of those that are made now.
        self._joining: dict[str, str] = {}
        self._waiters: set[asyncio.Event] = set()
        self._closed = False

    def provide(self, acts: Mapping[str, Act]) -> None:
        """What each tool does; until this is known nothing is carried out."""
        self._acts = acts
        self._known.set()

    async def list(self, session_id: str, limit: int, offset: int) -> Page[Call]:
        """What a session's agent has called that changes something, newest first."""

        async def work(tx: Tx) -> Page[Call]:
            session = await rows.session(tx, session_id)
            found = await tx.all(CALLS.of_session, Call, session_id=session.id, limit=limit, offset=offset)
            return Page(found, await tx.value(CALLS.count_of_session, session_id=session.id) or 0, limit, offset)

        return await self._store.read(work)

    async def run(self, caller: Caller, tool: str, arguments: dict[str, Any], claim: Claim) -> Call:
        """Has a call done, and returns it when it has ended, or after a while if a person has still to decide.

        A call with the same key is the same call; so is one in the same turn with the same words whose answer never
        arrived, because the stream or the server broke before.
        """
        call_id = new_id()
        # Before it is written down: the same words may be said twice at once, on purpose.
        with self._attended(call_id):
            call = await self._store.write(lambda change: self._begin(change, call_id, caller, tool, arguments, claim))
            try:
                with self._attended(call.id):
                    if call.state == "acting":
                        return await asyncio.shield(self._carry_out(call))
                    return await self._decided(call) if call.state == "asked" else call
            except asyncio.CancelledError:
                # Whoever called is gone; what was asked for it is brought to the session.
                self._leave(call.id)
                raise
            finally:
                self._joining.pop(call.id, None)

    @contextlib.contextmanager
    def _attended(self, call_id: str) -> Generator[None]:
        """Somebody waits for the end of a call."""
        self._waiting[call_id] += 1
        try:
            yield
        finally:
            self._waiting[call_id] -= 1
            if not self._waiting[call_id]:
                del self._waiting[call_id]

    async def answered(self, call_id: str) -> None:
        """The caller has been sent the outcome."""
        await self._store.write(lambda change: change.tx.run(CALLS.answered, id=call_id, now=change.now))

    async def _begin(
        self, change: Change, call_id: str, caller: Caller, tool: str, arguments: dict[str, Any], claim: Claim
    ) -> Call:
        owner = caller.id if caller.kind == "session" and caller.id else caller.kind
        fingerprint = hashlib.sha256(msgspec.json.encode([tool, arguments], order="sorted")).hexdigest()
        session = await rows.session(change.tx, owner) if caller.kind == "session" else None
        task = await call_rows.turn(change.tx, session) if session else None
        known = await self._joined(change.tx, call_id, caller, owner, tool, fingerprint, task)
        if known is not None:
            return known
        effect, reason, raises, key = "allow", "", False, ""
        if session is not None:
            weighed = await call_rights.weigh(change.tx, self._catalog, session, claim)
            verdict = await call_rights.judge(change.tx, session, tool, claim, weighed)
            effect, reason, raises = verdict.effect, verdict.reason, weighed.raises is not None
            key = call_rights.key(tool, claim, weighed)
        call = await change.tx.one(
            CALLS.add,
            Call,
            id=call_id,
            caller=owner,
            session_id=session.id if session else None,
            task_id=task.id if task else None,
            tool=tool,
            arguments=raw(arguments),
            fingerprint=fingerprint,
            key=caller.idempotency_key,
            state={"allow": "acting", "ask": "asked", "deny": "denied"}[effect],
            title=claim.title,
            raises=raises,
            outcome=raw({"code": "call_denied", "message": reason}) if effect == "deny" else None,
            now=change.now,
        )
        if call is None:
            raise Internal("call_not_stored", f"The idempotency key {caller.idempotency_key!r} was taken just now.")
        if effect != "ask":
            return call
        assert session is not None
        if task is None:
            raise Denied("no_turn", "A person would have to be asked, but no turn of your session has begun.")
        expires_at, on_expiry = deadline(session, self._settings)
        approval = await rows.add_approval(
            change,
            task,
            title=claim.title,
            tool_kind=CALL,
            tool_call={"title": claim.title, "tool": tool, "arguments": arguments, "callId": call.id},
            options=OPTIONS if key else ONCE,
            request_id=None,
            reason=reason,
            key=key or None,
            expires_at=expires_at,
            on_expiry="deny" if on_expiry and raises else on_expiry,
        )
        await call_rows.show_waiting(change, session)
        change.tx.notify(CHANNEL_APPROVALS, approval.id)
        asked = await change.tx.one(CALLS.ask, Call, id=call.id, approval_id=approval.id, now=change.now)
        assert asked is not None
        return asked

    async def _joined(
        self, tx: Tx, call_id: str, caller: Caller, owner: str, tool: str, fingerprint: str, task: Task | None
    ) -> Call | None:
        """The call that this one is, made again."""
        if (key := caller.idempotency_key) is not None:
            known = await tx.one(CALLS.keyed, Call, caller=owner, tool=tool, key=key)
            if known is not None and known.fingerprint != fingerprint:
                raise Conflict(
                    "idempotency_key_reused",
                    f"The idempotencyKey {key!r} was used for another call of {tool}. Use a new one for a new call.",
                )
            return known
        if task is None:
            return None
        for known in await tx.all(CALLS.alike, Call, caller=owner, fingerprint=fingerprint):
            # One that somebody still waits for is another call with the same words, made on purpose.
            lost = known.key is None and known.task_id == task.id and known.id not in self._waiting
            if lost and self._joining.setdefault(known.id, call_id) == call_id:
                return known
        return None

    # Waiting for people

    async def _decided(self, call: Call) -> Call:
        """Waits until a call has been decided and carried out; gives it back as it is when patience ends."""
        call_id, changed = call.id, asyncio.Event()
        self._waiters.add(changed)
        try:
            async with asyncio.timeout(PATIENCE):
                while not self._closed:
                    changed.clear()
                    call = await self._store.read(lambda tx: _get(tx, call_id))
                    if call.state not in ("asked", "acting"):
                        return call
                    await changed.wait()
        except TimeoutError:
            pass
        finally:
            self._waiters.discard(changed)

        async def hand(change: Change) -> Call:
            handed = await change.tx.one(CALLS.hand, Call, id=call.id, now=change.now)
            if handed is not None and handed.state == "asked" and handed.session_id is not None:
                await call_rows.show_going_on(change, handed.session_id, handed.task_id)
            return handed or await _get(change.tx, call.id)

        return await self._store.write(hand)

    def _leave(self, call_id: str) -> None:
        """Somebody who waited is gone, perhaps just when the outcome had come."""
        task = asyncio.create_task(self._tell(call_id), name=f"tell {call_id}")
        task.add_done_callback(_report)

    async def _tell(self, call_id: str) -> None:
        async def work(change: Change) -> None:
            call = await _get(change.tx, call_id)
            if call.approval_id is not None and call.state not in ("asked", "acting"):
                await call_rows.tell(change, call)

        await self._store.write(work)

    # Acting

    async def follow(self) -> None:
        """Carries out what people allow, and what a server that ended left undone, until cancelled."""
        woken = asyncio.Event()
        forget = self._store.db.listen(CHANNEL_APPROVALS, lambda _payload: woken.set())
        try:
            await self._known.wait()
            while True:
                woken.clear()
                try:
                    for call in await self._store.read(lambda tx: tx.all(CALLS.to_act, Call)):
                        self._carry_out(call).add_done_callback(_report)
                    await self._tell_untold()
                except BoughError as error:
                    log.warning("calls_not_carried_out", error=error.message)
                    await asyncio.sleep(RETRY_PAUSE)
                    continue
                self._wake()
                await woken.wait()
        finally:
            forget()

    async def close(self) -> None:
        """Lets what is being carried out come to its end; whoever waits for a person is answered."""
        self._closed = True
        self._wake()
        if self._running:
            await asyncio.wait(list(self._running.values()))

    def _carry_out(self, call: Call) -> asyncio.Task[Call]:
        """The one task that carries a call out."""
        running = self._running.get(call.id)
        if running is None:
            running = asyncio.create_task(self._act(call), name=f"call {call.id}")
            self._running[call.id] = running
            running.add_done_callback(lambda _done: self._running.pop(call.id, None))
        return running

    async def _act(self, call: Call) -> Call:
        await self._known.wait()
        # The same key in every attempt: what was done before a crash is not done again.
        kind = "session" if call.session_id is not None else "person"
        caller = Caller(kind=kind, id=call.session_id, idempotency_key=f"call:{call.id}", granted=call.granted)
        arguments: dict[str, Any] = msgspec.json.decode(call.arguments)
        try:
            act = self._acts[call.tool]
            state, outcome = "done", await act(caller, arguments)
        except BoughError as error:
            state, outcome = "failed", {"code": error.code, "message": error.message}
        except Exception as error:
            log.exception("call_failed", call=call.id, tool=call.tool)
            state, outcome = "failed", {"code": "internal", "message": f"Bough failed to do this: {error!r}"}

        async def work(change: Change) -> Call:
            ended = await change.tx.one(CALLS.end, Call, id=call.id, state=state, outcome=raw(outcome), now=change.now)
            if ended is not None and ended.approval_id is not None and not self._waiting[call.id]:
                await call_rows.tell(change, ended)
            return ended or await _get(change.tx, call.id)

        ended = await self._store.write(work)
        self._wake()
        return ended

    async def _tell_untold(self) -> None:
        """What was decided, and perhaps done, while nobody waited for it is told."""
        for call in await self._store.read(lambda tx: tx.all(CALLS.untold, Call)):
            if not self._waiting[call.id]:
                await self._store.write(lambda change, call=call: call_rows.tell(change, call))

    def _wake(self) -> None:
        for waiter in self._waiters:
            waiter.set()


async def _get(tx: Tx, call_id: str) -> Call:
    call = await tx.one(CALLS.get, Call, id=call_id)
    if call is None:
        raise Conflict("call_gone", "The session that made this call was removed.")
    return call


def _report(done: asyncio.Task[Any]) -> None:
    if not done.cancelled() and (error := done.exception()) is not None:
        log.error("call_broke", error=repr(error), exc_info=error)
