"""Issues, checks and revokes page keys: the random keys by which signed-in browsers call the server.

Browsers send cookies to every port of a host, so a cookie may open nothing but the page's files. A page key lives in
the storage of one origin, is sent as a header, and is stored here only as a hash. A browser gets its key for a ticket,
which the link with the server's token is exchanged for."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec
import structlog

from bough.core.access.one_at_a_time import OneAtATime
from bough.core.store.sql import PAGE_KEYS
from bough.core.store.transactions import Change, Store
from bough.core.store.until_available import UNDO_WITHIN, until_available
from bough.errors import NotFound, Unauthenticated
from bough.model.access.page_key import PageKey
from bough.model.session import Caller
from bough.model.values import ids, own_tokens, times

log = structlog.get_logger("bough.access")

PREFIX = own_tokens.PAGE
# Seconds: how long a browser stays signed in, as long as its cookie.
LIFETIME = 30 * 24 * 3600
# Seconds; the page redeems its ticket as soon as it is loaded.
TICKET_LIFETIME = 120
# Seconds between two records of a key's use.
USE_RECORDED_EVERY = 60
# No person has more; above this, the oldest ticket is dropped.
MOST_TICKETS = 100


class _StoredKey(msgspec.Struct):
    """A row of `page_keys`."""

    id: str
    name: str
    origin: str
    key_hash: str
    cookie_hash: str
    created_at: str
    last_used_at: str
    expires_at: str
    token_id: str | None = None

    def shown(self) -> PageKey:
        return PageKey(
            self.id, self.name, self.origin, self.created_at, self.last_used_at, self.expires_at, self.token_id
        )


@dataclass
class _KnownKey:
    row: _StoredKey
    revoked: asyncio.Event = field(default_factory=asyncio.Event)
    # The use that the database has; `row.last_used_at` may be later.
    recorded_at: str = ""

    @property
    def expired(self) -> bool:
        return self.row.expires_at <= times.now()


@dataclass(frozen=True)
class UsedKey:
    """A valid key that came with a request, and the event that is set when it is revoked."""

    key: PageKey
    revoked: asyncio.Event


@dataclass(frozen=True)
class SignIn:
    """The ticket and the cookie that a link's token was exchanged for."""

    ticket: str
    cookie: str


@dataclass(frozen=True)
class _Ticket:
    origin: str
    cookie_hash: str
    expires_at: str
    token_id: str | None


class PageKeys:
    """Keeps all keys in memory, because every request needs them and no other process writes them."""

    def __init__(self, store: Store) -> None:
        self._store = store
        # Users and tokens change here, too: what ends a token also ends the browsers that it signed in.
        self.changes = OneAtATime()
        self._by_hash: dict[str, _KnownKey] = {}
        self._cookies: dict[str, _KnownKey] = {}
        self._tickets: dict[str, _Ticket] = {}

    async def load(self) -> None:
        """Reads the keys that browsers have from earlier servers."""

        async def work(change: Change) -> list[_StoredKey]:
            await change.tx.run(PAGE_KEYS.remove_expired, now=change.now)
            return await change.tx.all(PAGE_KEYS.list, _StoredKey)

        for row in await self._store.write(work):
            self._keep(_KnownKey(row, recorded_at=row.last_used_at))

    def sign_in(self, origin: str, token_id: str | None = None) -> SignIn:
        """Returns a ticket that works once, and the cookie with which the browser loads the page meanwhile. `token_id`
        is the user's token that the link contained, if not the server's."""
        self._drop_old_tickets()
        issued = SignIn(secrets.token_urlsafe(32), secrets.token_urlsafe(32))
        expires_at = times.after(TICKET_LIFETIME)
        self._tickets[own_tokens.hashed(issued.ticket)] = _Ticket(
            origin, own_tokens.hashed(issued.cookie), expires_at, token_id
        )
        return issued

    async def redeem(
        self,
        ticket: str,
        origin: str,
        name: str,
        replaced: UsedKey | None,
        find_caller: Callable[[str | None], Caller | None],
    ) -> tuple[PageKey, str]:
        """Exchanges a ticket for a key and returns both; `replaced` is the key that the browser had before.
        `find_caller` returns the person whose token the link contained, or None if it was revoked meanwhile."""
        return await self.changes.run(lambda: self._redeem(ticket, origin, name, replaced, find_caller))

    async def _redeem(
        self,
        ticket: str,
        origin: str,
        name: str,
        replaced: UsedKey | None,
        find_caller: Callable[[str | None], Caller | None],
    ) -> tuple[PageKey, str]:
        entry = self._tickets.pop(own_tokens.hashed(ticket), None)
        caller = None
        if entry is not None and entry.expires_at > times.now() and entry.origin == origin:
            caller = find_caller(entry.token_id)
        if entry is None or caller is None:
            raise Unauthenticated(
                "unauthenticated", "This sign-in was already used or is too old. Run bough open to sign in again."
            )
        key = PREFIX + secrets.token_urlsafe(32)
        now = times.now()
        row = _StoredKey(
            id=ids.new_id(),
            name=name,
            origin=origin,
            key_hash=own_tokens.hashed(key),
            cookie_hash=entry.cookie_hash,
            created_at=now,
            last_used_at=now,
            expires_at=times.after(LIFETIME),
            token_id=entry.token_id,
        )
        person = msgspec.structs.replace(caller, door="page", token_id=row.id)

        async def work(change: Change) -> None:
            await change.tx.run(
                PAGE_KEYS.add,
                id=row.id,
                name=row.name,
                origin=row.origin,
                key_hash=row.key_hash,
                cookie_hash=row.cookie_hash,
                now=row.created_at,
                expires_at=row.expires_at,
                token_id=row.token_id,
            )
            change.audit(person, "page.signed_in", subject_id=row.id, browser=row.name, origin=row.origin)
            if replaced is not None:
                await change.tx.run(PAGE_KEYS.remove, id=replaced.key.id)

        known = _KnownKey(row, recorded_at=now)
        # The browser continues loading files meanwhile.
        self._cookies[row.cookie_hash] = known
        try:
            await self._store.write(work)
        except BaseException:
            del self._cookies[row.cookie_hash]
            raise
        self._keep(known)
        if replaced is not None:
            self._forget(replaced.key.id)
        return row.shown(), key

    def find(self, key: str) -> UsedKey | None:
        """Returns a valid key and records its use; None if it is unknown, revoked or expired."""
        known = self._by_hash.get(own_tokens.hashed(key)) if key.startswith(PREFIX) else None
        if known is None or known.expired:
            return None
        known.row.last_used_at = times.now()
        return UsedKey(known.row.shown(), known.revoked)

    def opens_page(self, cookie: str) -> bool:
        """Returns whether a cookie belongs to a signed-in browser, or to one that is about to redeem its ticket."""
        cookie_hash = own_tokens.hashed(cookie)
        known = self._cookies.get(cookie_hash)
        if known is not None:
            return not known.expired
        return any(
            ticket.cookie_hash == cookie_hash and ticket.expires_at > times.now() for ticket in self._tickets.values()
        )

    def list(self) -> list[PageKey]:
        """Returns all valid keys, oldest first."""
        rows = [known.row for known in self._by_hash.values() if not known.expired]
        return [row.shown() for row in sorted(rows, key=lambda row: row.id)]

    def find_by_id(self, key_id: str) -> PageKey | None:
        """Returns the valid key with an id."""
        return next((key for key in self.list() if key.id == key_id), None)

    def get(self, key_id: str) -> PageKey:
        """Returns the valid key with an id; raises `NotFound` if there is none."""
        key = self.find_by_id(key_id)
        if key is None:
            raise NotFound("token_not_found", f"There is no token {key_id!r}. See: bough token list")
        return key

    async def revoke(self, caller: Caller, key_id: str) -> PageKey:
        """Deletes a key and ends the streams that it opened. `UserTokens.revoke_page_key` checks who may."""
        return await self.changes.run(lambda: self._revoke(caller, key_id))

    async def _revoke(self, caller: Caller, key_id: str) -> PageKey:
        key = self.get(key_id)

        async def work(change: Change) -> None:
            if await change.tx.run(PAGE_KEYS.remove, id=key.id):
                change.audit(caller, "page.signed_out", subject_id=key.id, browser=key.name)

        # Also if the reply is lost: a deleted key must not stay valid.
        await until_available(lambda: self._store.write(work), "a revoked key", within=UNDO_WITHIN)
        self._forget(key.id)
        return key

    def forget_token(self, token_id: str) -> None:
        """Drops the tickets of a token, and the keys that were created with it, whose rows are deleted already."""
        self._tickets = {name: ticket for name, ticket in self._tickets.items() if ticket.token_id != token_id}
        for key in [key for key in self.list() if key.token_id == token_id]:
            self._forget(key.id)

    def end_streams(self, token_id: str) -> None:
        """Ends the streams of the keys that were created with a token, because its rights have changed. The keys stay
        valid, and the pages connect again."""
        for known in self._by_hash.values():
            if known.row.token_id == token_id:
                known.revoked.set()
                known.revoked = asyncio.Event()

    async def run(self) -> None:
        """Records when keys were used, and deletes expired ones, until cancelled."""
        while True:
            await asyncio.sleep(USE_RECORDED_EVERY)
            try:
                await self.record_uses()
            except Exception:
                # The database may be away for a while; the next round stores the same uses.
                log.exception("page_key_uses_not_recorded")

    async def record_uses(self) -> None:
        """Stores the last use of each key that was used since the last call."""
        used = [known for known in self._by_hash.values() if known.row.last_used_at != known.recorded_at]
        expired = [known.row.id for known in self._by_hash.values() if known.expired]
        if not used and not expired:
            return
        uses = [(known, known.row.last_used_at) for known in used]

        async def work(change: Change) -> None:
            for known, at in uses:
                await change.tx.run(PAGE_KEYS.used, id=known.row.id, at=at)
            await change.tx.run(PAGE_KEYS.remove_expired, now=change.now)

        await self._store.write(work)
        for known, at in uses:
            known.recorded_at = at
        for key_id in expired:
            self._forget(key_id)

    def _keep(self, known: _KnownKey) -> None:
        self._by_hash[known.row.key_hash] = known
        self._cookies[known.row.cookie_hash] = known

    def _forget(self, key_id: str) -> None:
        known = next((known for known in self._by_hash.values() if known.row.id == key_id), None)
        if known is not None:
            del self._by_hash[known.row.key_hash]
            del self._cookies[known.row.cookie_hash]
            known.revoked.set()

    def _drop_old_tickets(self) -> None:
        now = times.now()
        valid = [(name, ticket) for name, ticket in self._tickets.items() if ticket.expires_at > now]
        self._tickets = dict(valid[-(MOST_TICKETS - 1) :])
