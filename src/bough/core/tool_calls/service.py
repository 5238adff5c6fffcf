"""The course of a call of Bough's own tools (5c–5e): written down before it acts, asked about where it must be, carried
out exactly once, and its outcome brought to whoever called, also over restarts. What a person decides comes through
`approvals`; carrying it out is `carrying`."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import partial

import msgspec

from bough.agents.catalog import Catalog
from bough.core.approvals.kinds import CALL
from bough.core.state import call_rights, tool_call
from bough.core.state.tool_call import ENDED
from bough.core.store import records
from bough.core.store.paging import Page
from bough.core.store.sql import CALLS
from bough.core.store.transactions import Change, Store
from bough.core.tool_calls.execute import Arguments, Carrying, Deed, get
from bough.core.tool_calls.waiters import Attendance, Waiter
from bough.errors import Busy, Conflict, Denied, Internal
from bough.model.approval import Approval
from bough.model.call import Call, Claim
from bough.model.ids import new_id
from bough.model.message import raw
from bough.model.session import Caller, Session
from bough.model.task import Task
from bough.settings import Settings
from bough.storage.backend import Tx

# How long a call waits for a person before its caller is given a handle: every agent's own patience is longer.
PATIENCE = 45.0
LONGEST_TITLE = 400
# So many calls of a session can wait for people at a time.
MOST_ASKED = 50

Lending = Callable[[str], AbstractContextManager[object]]


class Calls:
    """Takes calls, and carries out those that people have decided about later."""

    def __init__(self, store: Store, settings: Settings, catalog: Catalog, lending: Lending = nullcontext) -> None:
        """`lending` is held while the turn of a session only waits for a person (T5)."""
        self._store = store
        self._settings = settings
        self._catalog = catalog
        self._lending = lending
        self._attendance = Attendance()
        self._carrying = Carrying(store, catalog, self._attendance, self._wake)
        self._waiters: set[asyncio.Event] = set()
        self._closed = False

    def provide(self, deeds: Mapping[str, Deed]) -> None:
        """Sets what each tool does; called once, before the first call is carried out."""
        self._carrying.provide(deeds)

    async def follow(self) -> None:
        """Carries out what people allow, and what a server that ended left undone, until cancelled."""
        await self._carrying.follow()

    def let_go(self) -> None:
        """The server is about to end: whoever waits for a person is given a handle."""
        self._closed = True
        self._wake()

    async def close(self) -> None:
        """Lets what is being carried out come to its end."""
        self.let_go()
        await self._carrying.close()

    def waiter(self) -> Waiter:
        """Somebody who makes calls, and is to be told `answered` or `missed` when they are over."""
        return Waiter(self._attendance)

    async def check_read(self, caller: Caller, tool: str) -> None:
        """Raises `Denied` if a rule denies a tool that only reads."""
        if caller.kind == "session" and (session_id := caller.id) is not None:
            await self._store.read(lambda tx: call_rights.check_read(tx, session_id, tool))

    async def readable_session(self, caller: Caller, tool: str, session_id: str) -> Session:
        """Returns a session; raises `Denied` if the caller may not read it with this tool."""

        async def work(tx: Tx) -> Session:
            session = await records.session(tx, session_id)
            if caller.kind == "session" and caller.id not in (None, session.id):
                await call_rights.readable(tx, await records.session(tx, caller.id), tool, session)
            return session

        return await self._store.read(work)

    async def readable_roots(self, caller: Caller, tool: str) -> tuple[str, ...] | None:
        """Returns the roots of the trees that the caller may read with this tool; None means all."""
        if caller.kind != "session" or (caller_id := caller.id) is None:
            return None

        async def work(tx: Tx) -> tuple[str, ...] | None:
            session = await records.session(tx, caller_id)
            return None if await call_rights.opened(tx, session, tool) else await call_rights.reach(tx, session)

        return await self._store.read(work)

    async def list(self, session_id: str, limit: int, offset: int) -> Page[Call]:
        """What a session's agent has called that changes something, newest first."""

        async def work(tx: Tx) -> Page[Call]:
            session = await records.session(tx, session_id)
            found = await tx.all(CALLS.of_session, Call, session_id=session.id, limit=limit, offset=offset)
            return Page(found, await tx.value(CALLS.count_of_session, session_id=session.id) or 0, limit, offset)

        return await self._store.read(work)

    async def run(
        self, caller: Caller, tool: str, arguments: Arguments, claim: Claim, waiter: Waiter | None = None
    ) -> Call:
        """Has a call done, and returns it when it has ended, or after a while if a person has still to decide.

        A call with the same key is the same call; so is one in the same turn with the same words whose answer never
        arrived, because the stream or the server broke before.
        """
        call_id = new_id()
        # Before it is written down: the same words may be said twice at once, on purpose.
        with self._attendance.during(call_id):
            try:
                call = await self._begun(call_id, caller, tool, arguments, claim)
                self._attendance.add(call.id)
            finally:
                self._attendance.settled(call_id)
            try:
                if call.state == "acting":
                    call = await asyncio.shield(self._carrying.carry_out(call, begun=call.id == call_id))
                elif call.state == "asked":
                    with self._lending(call.session_id or ""):
                        call = await self._decided(call)
                if waiter is not None and call.state in ENDED:
                    waiter.hold(call.id)
                return call
            except asyncio.CancelledError:
                # Whoever called is gone; what was asked for it is brought to the session.
                self._carrying.missed(call.id)
                raise
            finally:
                self._attendance.remove(call.id)

    async def _begun(self, call_id: str, caller: Caller, tool: str, arguments: Arguments, claim: Claim) -> Call:
        """The call, written down; also if whoever made it leaves meanwhile."""
        begun = asyncio.ensure_future(
            self._store.write(lambda change: self._begin(change, call_id, caller, tool, arguments, claim))
        )
        try:
            return await asyncio.shield(begun)
        except asyncio.CancelledError:
            begun.add_done_callback(partial(self._abandoned, call_id))
            raise

    def _abandoned(self, call_id: str, begun: asyncio.Future[Call]) -> None:
        self._attendance.settled(call_id)
        if begun.cancelled() or begun.exception() is not None:
            return
        call = begun.result()
        if call.state == "acting":
            self._carrying.carry_out(call)
        else:
            self._carrying.missed(call.id)

    async def answered(self, call_id: str) -> None:
        """The caller has been sent the outcome."""
        await self._store.write(lambda change: change.tx.run(CALLS.answered, id=call_id, now=change.now))

    def missed(self, call_id: str) -> None:
        """Somebody who waited is gone, perhaps just when the outcome had come."""
        self._carrying.missed(call_id)

    async def check(self, approval_id: str, arguments: Arguments) -> None:
        """Refuses arguments with which a person wants a call to be carried out, if it could not be."""
        call = await self._store.read(lambda tx: tx.one(CALLS.of_approval, Call, approval_id=approval_id))
        if call is not None:
            await self._carrying.check(call, arguments)

    async def _begin(
        self, change: Change, call_id: str, caller: Caller, tool: str, arguments: Arguments, claim: Claim
    ) -> Call:
        owner = caller.id if caller.kind == "session" and caller.id else caller.kind
        fingerprint = hashlib.sha256(msgspec.json.encode([tool, arguments], order="sorted")).hexdigest()
        session = await records.session(change.tx, owner) if caller.kind == "session" else None
        task = await tool_call.turn(change.tx, session) if session else None
        known = await self._joined(change.tx, call_id, caller, owner, tool, fingerprint, task)
        if known is not None:
            return await tool_call.take_up(change, known)
        title = _line(claim.title)
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
            title=title,
            raises=raises,
            outcome=raw({"code": "call_denied", "message": reason}) if effect == "deny" else None,
            now=change.now,
        )
        if call is None:
            raise Internal("call_not_stored", f"The idempotencyKey {caller.idempotency_key!r} was taken just now.")
        if effect != "ask":
            return call
        assert session is not None
        if task is None:
            raise Denied("no_turn", "A person would have to be asked, but no turn of your session has begun.")
        if len(await change.tx.all(CALLS.asked_by, Approval, session_id=session.id)) >= MOST_ASKED:
            raise Busy(
                "too_many_asked",
                f"{MOST_ASKED} calls of yours wait for a person already. Go on with other work until they are decided.",
                limit=MOST_ASKED,
            )
        approval = await CALL.ask(
            change, session, task, call, self._settings, reason=reason, key=key, arguments=arguments
        )
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
            if known.key is None and known.task_id == task.id and self._attendance.join(known.id, call_id):
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
                    call = await self._store.read(lambda tx: get(tx, call_id))
                    if call.state in ENDED:
                        return call
                    await changed.wait()
        except TimeoutError:
            pass
        finally:
            self._waiters.discard(changed)
        return await self._store.write(lambda change: tool_call.hand(change, call))

    def _wake(self) -> None:
        for waiter in self._waiters:
            waiter.set()


def _line(text: str) -> str:
    """A sentence as people are shown it: on one line, whatever its agent has put into it, and not too long."""
    line = "".join(one if one.isprintable() else " " for one in " ".join(text.split()))
    return line if len(line) <= LONGEST_TITLE else line[: LONGEST_TITLE - 2] + "…?"
