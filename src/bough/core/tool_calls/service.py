"""Takes calls of Bough's own tools: decides about each, has a person asked where needed, and returns its outcome to the
caller, across restarts. `execute` carries calls out."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext

import msgspec

from bough.agents.catalog import Catalog
from bough.core.approvals.kinds import CALL
from bough.core.state.calls import decide_call, raised_rights, reach, tool_call
from bough.core.state.calls.tool_call import ENDED, EXPECTED
from bough.core.store import records
from bough.core.store.paging import Page
from bough.core.store.session_secrets import redactor_of
from bough.core.store.sql import CALLS
from bough.core.store.transactions import Change, Store
from bough.core.store.until_available import until_available
from bough.core.tool_calls.execute import Arguments, Executor, ToolAction, get, user_owner
from bough.core.tool_calls.waiters import WaitCounts, Waiter
from bough.errors import Busy, Conflict, Denied, Internal
from bough.model.approval import Approval
from bough.model.call import Call, Claim
from bough.model.message import raw
from bough.model.session import Caller, Session
from bough.model.task import Task
from bough.model.values.ids import new_id
from bough.model.values.redaction import Redactor
from bough.settings import Settings
from bough.storage.backend import Tx

# How long a call waits for a person before its caller gets a handle. Every agent waits longer than this for a tool.
PATIENCE = 45.0
LONGEST_TITLE = 400
# How many calls of a session can wait for people at a time.
MOST_ASKED = 50

LendSlot = Callable[[str], AbstractContextManager[object]]


class Calls:
    """Takes calls, has people asked about them where needed, and returns their outcomes."""

    def __init__(self, store: Store, settings: Settings, catalog: Catalog, lend_slot: LendSlot = nullcontext) -> None:
        """`lend_slot` lends a session's slot to others while its turn only waits for a person."""
        self._store = store
        self._settings = settings
        self._catalog = catalog
        self._lend_slot = lend_slot
        self._wait_counts = WaitCounts()
        self._executor = Executor(store, settings, catalog, self._wait_counts, self._wake)
        self._waiting_for_people: set[asyncio.Event] = set()
        self._closed = False

    def provide(self, actions: Mapping[str, ToolAction]) -> None:
        """Sets what each tool does; called once, before the first call is carried out."""
        self._executor.provide(actions)

    async def follow(self) -> None:
        """Carries out what people allow and what an earlier server left undone, until cancelled."""
        await self._executor.follow()

    def let_go(self) -> None:
        """Gives every caller that waits for a person a handle, because the server is about to end."""
        self._closed = True
        self._wake()

    async def close(self) -> None:
        """Waits for the calls that are being carried out."""
        self.let_go()
        await self._executor.close()

    def waiter(self) -> Waiter:
        """Returns a waiter for one request of a client. Report `answered` or `missed` for its calls when it is over."""
        return Waiter(self._wait_counts)

    async def check_read(self, caller: Caller, tool: str) -> None:
        """Raises `Denied` if a rule denies a tool that only reads."""
        if caller.kind == "session" and (session_id := caller.id) is not None:
            await self._store.read(lambda tx: reach.check_read(tx, session_id, tool))

    async def readable_session(self, caller: Caller, tool: str, session_id: str) -> Session:
        """Returns a session; raises `Denied` if the caller may not read it with this tool."""

        async def work(tx: Tx) -> Session:
            session = await records.session(tx, session_id)
            if caller.kind == "session" and caller.id not in (None, session.id):
                await reach.readable(tx, await records.session(tx, caller.id), tool, session)
            return session

        return await self._store.read(work)

    async def readable_roots(self, caller: Caller, tool: str) -> tuple[str, ...] | None:
        """Returns the roots of the trees that the caller may read with this tool; None means all."""
        if caller.kind != "session" or (caller_id := caller.id) is None:
            return None

        async def work(tx: Tx) -> tuple[str, ...] | None:
            session = await records.session(tx, caller_id)
            return None if await reach.opened(tx, session, tool) else await reach.reach(tx, session)

        return await self._store.read(work)

    async def list(self, session_id: str, limit: int, offset: int) -> Page[Call]:
        """Returns a page of the calls of a session's agent, newest first."""

        async def work(tx: Tx) -> Page[Call]:
            session = await records.session(tx, session_id)
            rows = await tx.all(CALLS.of_session, Call, session_id=session.id, limit=limit, offset=offset)
            secrets = await redactor_of(tx, session.id)
            rows = [_without_secrets(call, secrets) for call in rows]
            return Page(rows, await tx.value(CALLS.count_of_session, session_id=session.id) or 0, limit, offset)

        return await self._store.read(work)

    async def run(
        self, caller: Caller, tool: str, arguments: Arguments, claim: Claim, waiter: Waiter | None = None
    ) -> Call:
        """Carries out a call and returns it when it has ended, or after `PATIENCE` if a person still has to decide.

        A call with the same key is the same call. So is one in the same turn with the same words whose answer never
        arrived, because the connection or the server broke.
        """
        call_id = new_id()
        # Counted before the call is stored: the same words may be sent twice at once, on purpose.
        with self._wait_counts.during(call_id):
            call = await self._begun(call_id, caller, tool, arguments, claim)
            try:
                if call.state == "acting":
                    call = await asyncio.shield(self._executor.execute(call, begun=call.id == call_id))
                elif call.state == "asked":
                    with self._lend_slot(call.session_id or ""):
                        call = await self._decided(call)
                if waiter is not None and call.state in ENDED:
                    waiter.hold(call.id)
                return call
            except asyncio.CancelledError:
                # The caller is gone; the session is told what it was asked.
                self._executor.missed(call.id)
                raise
            finally:
                self._wait_counts.remove(call.id)

    async def _begun(self, call_id: str, caller: Caller, tool: str, arguments: Arguments, claim: Claim) -> Call:
        """Stores the call, also if whoever made it leaves meanwhile, and counts the caller as waiting for it."""
        begun = self._executor.start(self._store_and_count(call_id, caller, tool, arguments, claim))
        try:
            return await asyncio.shield(begun)
        except asyncio.CancelledError:
            begun.add_done_callback(self._abandoned)
            raise

    async def _store_and_count(
        self, call_id: str, caller: Caller, tool: str, arguments: Arguments, claim: Claim
    ) -> Call:
        # Without what the claim expects: a repeated call is the same call, also if something has changed since.
        fingerprint = hashlib.sha256(msgspec.json.encode([tool, arguments], order="sorted")).hexdigest()
        arguments = {**arguments, EXPECTED: claim.expected} if claim.expected else arguments
        # One after another: the next call with the same words must know that somebody waits for this one.
        async with self._wait_counts.turn(f"{_owner(caller)}:{fingerprint}"):
            call = await until_available(
                lambda: self._store.write(
                    lambda change: self._begin(change, call_id, caller, tool, arguments, claim, fingerprint)
                ),
                "a call",
                tool=tool,
            )
            self._wait_counts.add(call.id)
            return call

    def _abandoned(self, begun: asyncio.Task[Call]) -> None:
        """Carries out a call whose caller left while it was stored."""
        if begun.cancelled() or begun.exception() is not None:
            return
        call = begun.result()
        self._wait_counts.remove(call.id)
        if call.state == "acting":
            self._executor.execute(call)
        else:
            self._executor.missed(call.id)

    async def answered(self, call_ids: Sequence[str]) -> None:
        """Records that the caller was sent the outcomes, even if the request is cut off. Otherwise they would be told
        twice, and an intended repeat would not be carried out."""
        if call_ids:
            await asyncio.shield(self._executor.start(self._answered(list(call_ids))))

    async def _answered(self, call_ids: list[str]) -> None:
        async def work(change: Change) -> None:
            for call_id in call_ids:
                await change.tx.run(CALLS.answered, id=call_id, now=change.now)

        await until_available(lambda: self._store.write(work), "the outcome of a call")

    def missed(self, call_id: str) -> None:
        """Handles a caller that stopped waiting, perhaps just as the outcome arrived."""
        self._executor.missed(call_id)

    async def check(self, approval_id: str, arguments: Arguments) -> None:
        """Raises an error if the call of an approval could not be carried out with a person's arguments."""
        call = await self._store.read(lambda tx: tx.one(CALLS.of_approval, Call, approval_id=approval_id))
        if call is not None:
            await self._executor.check(call, arguments)

    async def _begin(
        self,
        change: Change,
        call_id: str,
        caller: Caller,
        tool: str,
        arguments: Arguments,
        claim: Claim,
        fingerprint: str,
    ) -> Call:
        """Decides about a call and stores it. A transaction may run again, so this changes nothing in memory."""
        if (stored := await change.tx.one(CALLS.get, Call, id=call_id)) is not None:
            # The reply to its commit was lost.
            return stored
        owner = _owner(caller)
        session = await records.session(change.tx, owner) if caller.kind == "session" else None
        task = await tool_call.turn(change.tx, session) if session else None
        known = await self._same_call(change.tx, caller, tool, fingerprint, task)
        if known is not None:
            return await tool_call.take_up(change, known)
        title = _line(claim.title)
        effect, reason, raises, key = "allow", "", False, ""
        if session is not None:
            rights = await raised_rights.check_claim(change.tx, self._catalog, self._settings, session, claim)
            verdict = await decide_call.judge(change.tx, session, tool, claim, rights)
            effect, reason, raises = verdict.effect, verdict.reason, rights.raises is not None
            key = decide_call.key(tool, claim, rights)
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
            token_id=caller.token_id,
            now=change.now,
        )
        if call is None:
            raise Internal(
                "call_not_stored", f"The idempotencyKey {caller.idempotency_key!r} was just used by another call."
            )
        if effect != "ask":
            return call
        assert session is not None
        if task is None:
            raise Denied("no_turn", "This needs a person's approval, but no turn of your session has started.")
        if len(await change.tx.all(CALLS.asked_by, Approval, session_id=session.id)) >= MOST_ASKED:
            raise Busy(
                "too_many_asked",
                f"{MOST_ASKED} of your calls are already waiting for approval. Continue with other work until they are "
                "decided.",
                limit=MOST_ASKED,
            )
        approval = await CALL.ask(
            change, session, task, call, self._settings, reason=reason, key=key, arguments=arguments
        )
        asked = await change.tx.one(CALLS.ask, Call, id=call.id, approval_id=approval.id, now=change.now)
        assert asked is not None
        return asked

    async def _same_call(self, tx: Tx, caller: Caller, tool: str, fingerprint: str, task: Task | None) -> Call | None:
        """Returns the stored call that this one repeats; None if it is a new call."""
        owner = _owner(caller)
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
            # If somebody still waits for it, this is an intended repeat.
            if known.key is None and known.task_id == task.id and known.id not in self._wait_counts:
                return known
        return None

    # Waiting for people

    async def _decided(self, call: Call) -> Call:
        """Waits until a call is decided and carried out; returns it as it is after `PATIENCE`."""
        call_id, changed, read = call.id, asyncio.Event(), self._store.read
        self._waiting_for_people.add(changed)
        try:
            async with asyncio.timeout(PATIENCE):
                while not self._closed:
                    changed.clear()
                    call = await until_available(lambda: read(lambda tx: get(tx, call_id)), "a call", call=call_id)
                    if call.state in ENDED:
                        return call
                    await changed.wait()
        except TimeoutError:
            pass
        finally:
            self._waiting_for_people.discard(changed)
        return await self._store.write(lambda change: tool_call.hand(change, call))

    def _wake(self) -> None:
        for changed in self._waiting_for_people:
            changed.set()


def _owner(caller: Caller) -> str:
    """Returns whose call it is: a session's id, a named user, or the kind of caller."""
    if caller.kind == "session" and caller.id:
        return caller.id
    return user_owner(caller) if caller.user_id is not None else caller.kind


def _without_secrets(call: Call, secrets: Redactor) -> Call:
    """Returns a call as people may read it. It is stored as it is carried out."""
    return msgspec.structs.replace(
        call,
        title=secrets.text(call.title),
        arguments=secrets.json(call.arguments),
        outcome=secrets.json(call.outcome) if call.outcome is not None else None,
    )


def _line(text: str) -> str:
    """Returns a sentence on one printable line of limited length, whatever the agent put into it."""
    line = "".join(char if char.isprintable() else " " for char in " ".join(text.split()))
    return line if len(line) <= LONGEST_TITLE else line[: LONGEST_TITLE - 2] + "…?"
