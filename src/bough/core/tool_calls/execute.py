"""Carrying out calls of Bough's own tools: once, whatever breaks, and the outcome brought to whoever called (5c, 5d).
Taking a call and waiting for a person's word is `calls`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any

import msgspec
import structlog

from bough.agents.catalog import Catalog
from bough.core.state import call_rights, tool_call
from bough.core.state.tool_call import ENDED
from bough.core.store import records
from bough.core.store.sql import CALLS
from bough.core.store.transactions import CHANNEL_APPROVALS, Change, Store
from bough.core.tool_calls.waiters import Attendance
from bough.errors import BoughError, Busy, Conflict, Denied
from bough.model.call import Call, Claim
from bough.model.message import raw
from bough.model.session import Caller
from bough.storage.backend import Tx

log = structlog.get_logger("bough.calls")

RETRY_PAUSE = 1.0
# What is not done by then when the server ends is done by the next one.
CLOSE_WITHIN = 10.0

Arguments = dict[str, Any]


class Deed(msgspec.Struct, frozen=True):
    """A tool that changes something: what it would do, and doing it."""

    claim: Callable[[Caller, Arguments], Awaitable[Claim]]
    act: Callable[[Caller, Arguments], Awaitable[Any]]


class Carrying:
    """Carries out calls: those that act at once, those that people allow later, those that a server has left."""

    def __init__(self, store: Store, catalog: Catalog, attendance: Attendance, ended: Callable[[], None]) -> None:
        """`ended` is told of every call that may have come to its end."""
        self._store = store
        self._catalog = catalog
        self._attendance = attendance
        self._ended = ended
        self._deeds: Mapping[str, Deed] = {}
        # Calls that are being carried out, and whatever else is under way that nobody waits for.
        self._running: dict[str, asyncio.Task[Call]] = {}
        self._errands: set[asyncio.Task[None]] = set()

    def provide(self, deeds: Mapping[str, Deed]) -> None:
        """Sets what each tool does; called once, before the first call is carried out."""
        self._deeds = deeds

    async def check(self, call: Call, arguments: Arguments) -> None:
        """Refuses arguments with which a call could not be carried out."""
        if call.tool in self._deeds:
            await self._deeds[call.tool].claim(_caller(call), arguments)

    async def follow(self) -> None:
        """Carries out what people allow, and what a server that ended left undone, until cancelled."""
        woken = asyncio.Event()
        forget = self._store.db.listen(CHANNEL_APPROVALS, lambda _payload: woken.set())
        try:
            begins = True
            while True:
                woken.clear()
                try:
                    if begins:
                        # Those who waited for the last server are gone.
                        for call in await self._store.read(lambda tx: tx.all(CALLS.unheld, Call)):
                            self.missed(call.id)
                    begins = False
                    for call in await self._store.read(lambda tx: tx.all(CALLS.to_act, Call)):
                        self.carry_out(call)
                    for call in await self._store.read(lambda tx: tx.all(CALLS.untold, Call)):
                        if call.handed_at is not None or call.id not in self._attendance:
                            await self._store.write(lambda change, call=call: tool_call.tell(change, call))
                except Exception as error:
                    # Whatever it is, other calls are to be carried out too.
                    log.warning("calls_not_carried_out", error=str(error) or repr(error))
                    await asyncio.sleep(RETRY_PAUSE)
                    continue
                self._ended()
                await woken.wait()
        finally:
            forget()

    async def close(self) -> None:
        """Lets what is being carried out come to its end."""
        under_way: set[asyncio.Task[Any]] = {*self._running.values(), *self._errands}
        if under_way:
            _, late = await asyncio.wait(under_way, timeout=CLOSE_WITHIN)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late)

    def _errand(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._errands.add(task)
        task.add_done_callback(self._errands.discard)
        task.add_done_callback(_report)

    def missed(self, call_id: str) -> None:
        """Somebody who waited is gone, perhaps just when the outcome had come."""
        self._errand(self._brought(call_id))

    async def _brought(self, call_id: str) -> None:
        """The session is told what nobody waits for any more; its turn goes on if that is still to be decided."""

        async def work(change: Change) -> None:
            call = await change.tx.one(CALLS.get, Call, id=call_id)
            if call is None or call.approval_id is None or call_id in self._attendance:
                return
            if call.state in ENDED:
                await tool_call.tell(change, call)
            elif call.handed_at is None:
                await tool_call.hand(change, call)

        await self._store.write(work)

    def carry_out(self, call: Call, *, begun: bool = False) -> asyncio.Task[Call]:
        """The one task that carries a call out; `begun` if it was written down just now."""
        running = self._running.get(call.id)
        if running is None:
            running = asyncio.create_task(self._act(call, begun), name=f"call {call.id}")
            self._running[call.id] = running
            running.add_done_callback(lambda _done: self._running.pop(call.id, None))
            running.add_done_callback(_report)
        return running

    async def _act(self, call: Call, begun: bool) -> Call:
        if not begun:
            # It may have come to its end since it was read.
            call = await self._store.read(lambda tx: get(tx, call.id))
            if call.state != "acting":
                return call
        arguments: Arguments = msgspec.json.decode(call.arguments)
        try:
            deed, caller = self._deeds[call.tool], _caller(call)
            if call.approval_id is not None and not call.granted:
                await self._judge_again(call, await deed.claim(caller, arguments))
            state, outcome = "done", await deed.act(caller, arguments)
        except BoughError as error:
            state, outcome = "failed", {"code": error.code, "message": error.message}
        except Exception as error:
            log.exception("call_failed", call=call.id, tool=call.tool)
            state, outcome = "failed", {"code": "internal", "message": f"Bough failed to do this: {error!r}"}

        async def work(change: Change) -> Call:
            ended = await change.tx.one(CALLS.end, Call, id=call.id, state=state, outcome=raw(outcome), now=change.now)
            if ended is None:
                return await get(change.tx, call.id)
            # Those who have a handle wait no more, even if they are still being sent it.
            if ended.approval_id is not None and (ended.handed_at is not None or call.id not in self._attendance):
                await tool_call.tell(change, ended)
            return ended

        while True:
            try:
                ended = await self._store.write(work)
                break
            except Busy as error:
                # What is done must be known to be done.
                log.warning("outcome_not_stored", call=call.id, error=error.message)
                await asyncio.sleep(RETRY_PAUSE)
        self._ended()
        return ended

    async def _judge_again(self, call: Call, claim: Claim) -> None:
        """What was allowed without a person's eye on exactly this is held against what counts by now."""

        async def work(tx: Tx) -> str | None:
            session = await records.session(tx, call.session_id or "")
            weighed = await call_rights.weigh(tx, self._catalog, session, claim)
            verdict = await call_rights.judge(tx, session, call.tool, claim, weighed)
            return verdict.reason if verdict.effect == "deny" else weighed.raises

        if (reason := await self._store.read(work)) is not None:
            raise Denied("call_denied", f"This was allowed, but not by a person who saw it, and no more: {reason}")


def _caller(call: Call) -> Caller:
    """Who a call is carried out for; with the same key in every attempt, so that what was done before a crash is not
    done again."""
    kind = "session" if call.session_id is not None else "person"
    return Caller(kind=kind, id=call.session_id, idempotency_key=f"call:{call.id}", granted=call.granted)


async def get(tx: Tx, call_id: str) -> Call:
    call = await tx.one(CALLS.get, Call, id=call_id)
    if call is None:
        raise Conflict("call_gone", "The session that made this call was removed.")
    return call


def _report(done: asyncio.Task[Any]) -> None:
    if not done.cancelled() and (error := done.exception()) is not None:
        log.error("call_broke", error=repr(error), exc_info=error)
