"""Carries out calls of Bough's own tools exactly once, whatever breaks, and brings the outcome to the caller."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, TypeVar

import msgspec
import structlog

from bough.agents.catalog import Catalog
from bough.core.state.calls import decide_call, raised_rights, tool_call
from bough.core.state.calls.tool_call import ENDED
from bough.core.store import records
from bough.core.store.sql import CALLS, TOKENS, USERS
from bough.core.store.transactions import CHANNEL_APPROVALS, Change, Store
from bough.core.store.until_available import until_available
from bough.core.tool_calls.waiters import WaitCounts
from bough.errors import BoughError, Conflict, Denied, Unavailable
from bough.model.access.user import User, UserToken, lower_role
from bough.model.call import Call, Claim
from bough.model.message import raw
from bough.model.session import Caller
from bough.model.values import times
from bough.settings import Settings
from bough.storage.backend import Tx

log = structlog.get_logger("bough.calls")

# Pause before the next try when the database does not answer.
RETRY_PAUSE = 1.0
# Seconds until the next look for calls, unless a decision wakes it before.
LOOK_EVERY = 5.0
# How long the server's end waits for calls under way; the next server carries out the rest.
CLOSE_WITHIN = 10.0
# What the owner of a call starts with if it is a named user.
USER = "user:"

Arguments = dict[str, Any]
T = TypeVar("T")


class ToolAction(msgspec.Struct, frozen=True):
    """A tool that changes something: `claim` says what it would do, `act` does it."""

    claim: Callable[[Caller, Arguments], Awaitable[Claim]]
    act: Callable[[Caller, Arguments], Awaitable[Any]]


class Executor:
    """Carries out calls: at once, when a person allows them, or when an earlier server left them.

    Owns every task that outlives the request it was started for; `close` waits for them.
    """

    def __init__(
        self, store: Store, settings: Settings, catalog: Catalog, wait_counts: WaitCounts, ended: Callable[[], None]
    ) -> None:
        """`ended` is called whenever a call may have ended."""
        self._store = store
        self._settings = settings
        self._catalog = catalog
        self._wait_counts = wait_counts
        self._ended = ended
        self._actions: Mapping[str, ToolAction] = {}
        self._running: dict[str, asyncio.Task[Call]] = {}
        self._background: set[asyncio.Task[Any]] = set()

    def provide(self, actions: Mapping[str, ToolAction]) -> None:
        """Sets what each tool does; called once, before the first call is carried out."""
        self._actions = actions

    async def check(self, call: Call, arguments: Arguments) -> None:
        """Raises an error if a call could not be carried out with these arguments."""
        if call.tool in self._actions:
            caller = await self._store.read(lambda tx: _caller(tx, call))
            await self._actions[call.tool].claim(caller, arguments)

    async def follow(self) -> None:
        """Carries out what people allow and what an earlier server left undone, until cancelled."""
        woken = asyncio.Event()
        forget = self._store.db.listen(CHANNEL_APPROVALS, lambda _payload: woken.set())
        try:
            is_first = True
            while True:
                woken.clear()
                try:
                    if is_first:
                        # Nobody who waited for the last server is still there.
                        for call in await self._store.read(lambda tx: tx.all(CALLS.unheld, Call)):
                            self.missed(call.id)
                    is_first = False
                    for call in await self._store.read(lambda tx: tx.all(CALLS.to_act, Call)):
                        self.execute(call)
                    for call in await self._store.read(lambda tx: tx.all(CALLS.untold, Call)):
                        if call.handed_at is not None or call.id not in self._wait_counts:
                            await self._tell_outcome(call)
                except Exception as error:
                    # Whatever failed, other calls must be carried out too.
                    log.warning("calls_not_carried_out", error=str(error) or repr(error))
                    await asyncio.sleep(RETRY_PAUSE)
                    continue
                self._ended()
                # Not only when told: what failed is tried again.
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(LOOK_EVERY):
                        await woken.wait()
        finally:
            forget()

    async def _tell_outcome(self, call: Call) -> None:
        """Tells a session the outcome of its call. One that cannot be told keeps no other from being told."""
        try:
            await self._store.write(lambda change: tool_call.report_outcome(change, call))
        except Unavailable:
            raise
        except Exception as error:
            log.warning("outcome_not_told", call=call.id, error=str(error) or repr(error))

    async def close(self) -> None:
        """Waits for the calls and other tasks under way, and cancels those that take too long."""
        under_way: set[asyncio.Task[Any]] = {*self._running.values(), *self._background}
        if under_way:
            _, late = await asyncio.wait(under_way, timeout=CLOSE_WITHIN)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late)

    def start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Starts work that continues when the request it belongs to is gone."""
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        return task

    def missed(self, call_id: str) -> None:
        """Handles a caller that stopped waiting, perhaps just as the outcome arrived."""
        self.start(self._bring(call_id)).add_done_callback(_report)

    async def _bring(self, call_id: str) -> None:
        """Tells the session an outcome that nobody waits for anymore. Its turn continues if there is none yet."""

        async def work(change: Change) -> None:
            call = await change.tx.one(CALLS.get, Call, id=call_id)
            if call is None or call.approval_id is None or call_id in self._wait_counts:
                return
            if call.state in ENDED:
                await tool_call.report_outcome(change, call)
            elif call.handed_at is None:
                await tool_call.hand(change, call)

        await until_available(lambda: self._store.write(work), "the outcome of a call", call=call_id)

    def execute(self, call: Call, *, begun: bool = False) -> asyncio.Task[Call]:
        """Returns the one task that carries a call out; `begun` if the call was stored just now."""
        running = self._running.get(call.id)
        if running is None:
            running = asyncio.create_task(self._act(call, begun), name=f"call {call.id}")
            self._running[call.id] = running
            running.add_done_callback(lambda _done: self._running.pop(call.id, None))
            running.add_done_callback(_report)
        return running

    async def _act(self, call: Call, begun: bool) -> Call:
        if not begun:
            # It may have ended since it was read.
            read, call_id = self._store.read, call.id
            call = await until_available(lambda: read(lambda tx: get(tx, call_id)), "a call", call=call_id)
            if call.state != "acting":
                return call
        arguments: Arguments = msgspec.json.decode(call.arguments)
        try:
            action = self._actions[call.tool]
            # What is done has this call's key, so that a repeat after a lost reply finds it done.
            outcome = await until_available(
                lambda: self._carry_out(call, action, arguments), "a call", call=call.id, tool=call.tool
            )
            state = "done"
        except Unavailable:
            # The server stops. The call may be done or not; the next server finds out.
            raise
        except BoughError as error:
            state, outcome = "failed", {"code": error.code, "message": error.message}
        except Exception as error:
            log.exception("call_failed", call=call.id, tool=call.tool)
            state, outcome = "failed", {"code": "internal", "message": f"Bough failed to do this: {error!r}"}

        async def work(change: Change) -> Call:
            ended = await change.tx.one(CALLS.end, Call, id=call.id, state=state, outcome=raw(outcome), now=change.now)
            if ended is None:
                return await get(change.tx, call.id)
            # A caller that was given a handle no longer waits, even if it is still being sent it.
            if ended.approval_id is not None and (ended.handed_at is not None or call.id not in self._wait_counts):
                await tool_call.report_outcome(change, ended)
            return ended

        # What is done must be recorded as done, so this never gives up.
        ended = await until_available(lambda: self._store.write(work), "the outcome of a call", call=call.id)
        self._ended()
        return ended

    async def _carry_out(self, call: Call, action: ToolAction, arguments: Arguments) -> Any:
        caller = await self._store.read(lambda tx: _caller(tx, call))
        if call.approval_id is not None and not call.granted:
            await self._judge_again(call, await action.claim(caller, arguments))
        return await action.act(caller, arguments)

    async def _judge_again(self, call: Call, claim: Claim) -> None:
        """Refuses a call that was allowed without a person seeing it, if its rights have changed since."""

        async def work(tx: Tx) -> str | None:
            session = await records.session(tx, call.session_id or "")
            rights = await raised_rights.check_claim(tx, self._catalog, self._settings, session, claim)
            verdict = await decide_call.judge(tx, session, call.tool, claim, rights)
            return verdict.reason if verdict.effect == "deny" else rights.raises

        if (reason := await self._store.read(work)) is not None:
            raise Denied("call_denied", f"This was allowed without asking a person, and is no longer allowed: {reason}")


async def _caller(tx: Tx, call: Call) -> Caller:
    """Returns the caller that a call is carried out for, with the rights that a person has now. Its key is the same in
    every attempt, so that what was done before a crash is not done again."""
    key = f"call:{call.id}"
    if call.session_id is not None:
        return Caller(kind="session", id=call.session_id, idempotency_key=key, granted=call.granted, door="mcp")
    caller = Caller(idempotency_key=key, granted=call.granted, door="mcp", token_id=call.token_id)
    if call.token_id is None:
        return caller
    token = await tx.one(TOKENS.get, UserToken, id=call.token_id, now=times.now())
    user = await tx.one(USERS.get, User, id=token.user_id) if token is not None and token.user_id else None
    if token is None or (token.user_id is not None and user is None):
        raise Denied("token_ended", "The token with which this call was made has been revoked or has expired.")
    role = lower_role(token.scope, user.role) if user is not None else token.scope
    user_id, user_name = (user.id, user.name) if user is not None else (None, None)
    caller = msgspec.structs.replace(caller, user_id=user_id, user_name=user_name, role=role)
    # Tools that only read are not stored as calls.
    caller.require("operator", f"call {call.tool}")
    return caller


def user_owner(caller: Caller) -> str:
    """Returns a named user as the owner of a call."""
    return f"{USER}{caller.user_id}"


async def get(tx: Tx, call_id: str) -> Call:
    """Returns a call; raises `Conflict` if its session was removed."""
    call = await tx.one(CALLS.get, Call, id=call_id)
    if call is None:
        raise Conflict("call_gone", "The session that made this call was removed.")
    return call


def _report(done: asyncio.Task[Any]) -> None:
    if not done.cancelled() and (error := done.exception()) is not None:
        log.error("call_broke", error=repr(error), exc_info=error)
