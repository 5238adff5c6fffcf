"""Issues, checks, replaces and revokes the tokens of users. A token is random, shown once, and stored as a hash."""

from __future__ import annotations

import asyncio
import secrets
from contextlib import suppress

import msgspec
import structlog

from bough.core.access.new_tokens import NewToken, check_lifetime, checked_expiry, checked_name, renewed_expiry
from bough.core.access.page_keys import PageKeys
from bough.core.access.token_records import KnownToken, StoredToken, UsedToken
from bough.core.store.sql import PAGE_KEYS, TOKENS
from bough.core.store.transactions import Change, Store
from bough.core.store.until_available import UNDO_WITHIN, until_available
from bough.errors import Conflict, Denied, Invalid, NotFound, Unauthenticated
from bough.model.access.audit import AuditAction
from bough.model.access.page_key import PageKey
from bough.model.access.user import OWNER, Role, User, UserToken, includes, lower_role
from bough.model.session import Caller, Door
from bough.model.values import ids, own_tokens, times

log = structlog.get_logger("bough.access")

PREFIX = own_tokens.USER
# Seconds between two records of a token's use.
USE_RECORDED_EVERY = 60
# Seconds; so that a broken database is not asked in a tight loop.
SHORTEST_PAUSE = 0.05
# All of them are kept in memory.
MOST_TOKENS = 1000


class UserTokens:
    """Keeps all users and tokens in memory, because every request needs them and no other process writes them."""

    def __init__(self, store: Store, page_keys: PageKeys) -> None:
        self._store = store
        self._page_keys = page_keys
        self._by_hash: dict[str, KnownToken] = {}
        self._by_id: dict[str, KnownToken] = {}
        # Tokens that have expired, and whose rows are not deleted yet.
        self._expired: list[KnownToken] = []
        # Set when a token was added that may expire before the next round of `run`.
        self._added = asyncio.Event()
        # `Users` fills and changes it.
        self.users: dict[str, User] = {}

    async def load(self) -> None:
        """Reads the tokens that earlier servers issued."""

        async def work(change: Change) -> list[StoredToken]:
            await change.tx.run(TOKENS.remove_expired, now=change.now)
            await change.tx.run(PAGE_KEYS.remove_orphans)
            return await change.tx.all(TOKENS.list, StoredToken)

        for row in await self._store.write(work):
            self._keep(KnownToken(row, recorded_at=row.last_used_at))

    # Checking

    def find(self, secret: str, door: Door) -> UsedToken | None:
        """Returns a valid token and records its use; None if it is unknown, revoked or expired."""
        known = self._by_hash.get(own_tokens.hashed(secret)) if secret.startswith(PREFIX) else None
        used = self._used(known, door)
        if known is not None and used is not None:
            known.row.last_used_at = times.now()
        return used

    def by_id(self, token_id: str, door: Door) -> UsedToken | None:
        """Returns the valid token with an id."""
        return self._used(self._by_id.get(token_id), door)

    def role_of(self, token: UserToken) -> Role:
        """Returns what a token may do now."""
        user = self.users.get(token.user_id) if token.user_id is not None else None
        return lower_role(token.scope, user.role) if user is not None else token.scope

    def list(self, user_id: str | None = None) -> list[UserToken]:
        """Returns all valid tokens, or those of one user, oldest first."""
        rows = [known.row for known in self._by_hash.values() if self._used(known, "rest") is not None]
        return [row.shown() for row in sorted(rows, key=lambda row: row.id) if user_id in (None, row.user_id)]

    def _used(self, known: KnownToken | None, door: Door) -> UsedToken | None:
        if known is None or known.expired:
            return None
        token = known.row.shown()
        user = self.users.get(token.user_id) if token.user_id is not None else None
        if token.user_id is not None and user is None:
            return None
        caller = Caller(
            user_id=user.id if user is not None else None,
            user_name=user.name if user is not None else None,
            role=self.role_of(token),
            token_id=token.id,
            door=door,
        )
        return UsedToken(token, caller, known.revoked)

    def current(self, caller: Caller) -> Caller:
        """Returns a caller with the rights of now: what it wants to change may have waited for a change that took them
        away."""
        if caller.token_id is None:
            return caller
        key = self._page_keys.find_by_id(caller.token_id)
        if key is not None and key.token_id is None:
            return caller
        used = self.by_id(key.token_id or "" if key is not None else caller.token_id, caller.door)
        if used is None:
            raise Unauthenticated("unauthenticated", "Your token has been revoked or has expired.")
        return msgspec.structs.replace(caller, role=used.caller.role)

    # Changing

    async def add(self, caller: Caller, new: NewToken) -> tuple[UserToken, str]:
        """Creates a token and returns it with its secret, which is not stored."""
        return await self._page_keys.changes.run(lambda: self._add(caller, new))

    async def _add(self, caller: Caller, new: NewToken) -> tuple[UserToken, str]:
        caller = self.current(caller)
        caller.require("admin", "create tokens")
        user_name = new.user or caller.person or OWNER
        user = self._owner_or_user(user_name)
        if user is None and caller.user_id is not None:
            raise Denied("owner_only", "Only the owner can create tokens of the owner.")
        highest: Role = user.role if user is not None else caller.role
        scope = new.scope or highest
        if not includes(highest, scope):
            raise Invalid("scope_too_wide", f"{user_name} has the role {highest}; choose a scope that is not higher.")
        if len(self._by_hash) >= MOST_TOKENS:
            raise Conflict("too_many_tokens", f"There are already {MOST_TOKENS} tokens. Revoke some first.")
        secret = PREFIX + secrets.token_urlsafe(32)
        row = StoredToken(
            id=ids.new_id(),
            user_id=user.id if user is not None else None,
            name=checked_name(new.name),
            scope=scope,
            token_hash=own_tokens.hashed(secret),
            created_at=times.now(),
            last_used_at=None,
            expires_at=checked_expiry(new.expires_at, self._latest(caller)),
        )

        async def work(change: Change) -> None:
            await change.tx.run(
                TOKENS.add,
                id=row.id,
                user_id=row.user_id,
                name=row.name,
                scope=row.scope,
                token_hash=row.token_hash,
                now=row.created_at,
                expires_at=row.expires_at,
            )
            _audit(change, caller, "token.added", row, user_name)

        await self._store.write(work)
        self._keep(KnownToken(row))
        return row.shown(), secret

    async def rotate(self, caller: Caller, token_id: str) -> tuple[UserToken, str]:
        """Replaces a token's secret and returns it. What the old secret opened ends, browsers included. A limited
        lifetime starts again only if an admin does this with another token."""
        return await self._page_keys.changes.run(lambda: self._rotate(caller, token_id))

    async def _rotate(self, caller: Caller, token_id: str) -> tuple[UserToken, str]:
        caller, known = self.current(caller), self._known(token_id)
        old = known.row
        self._check_own(caller, old.user_id, self.role_of(old.shown()))
        secret = PREFIX + secrets.token_urlsafe(32)
        row = msgspec.structs.replace(
            old, token_hash=own_tokens.hashed(secret), created_at=times.now(), last_used_at=None
        )
        latest = self._latest(caller)
        if caller.may("admin") and self._signed_in_with(caller) != old.id:
            row.expires_at = renewed_expiry(old.created_at, old.expires_at, latest)
        check_lifetime(row.expires_at, latest)

        async def work(change: Change) -> None:
            replaced = await change.tx.run(
                TOKENS.replace,
                id=row.id,
                token_hash=row.token_hash,
                replaced=old.token_hash,
                now=row.created_at,
                expires_at=row.expires_at,
            )
            if not replaced and await change.tx.value(TOKENS.has_hash, id=row.id, token_hash=row.token_hash):
                # An earlier try stored it, and its reply was lost.
                return
            if not replaced:
                raise _missing(row.id)
            await change.tx.run(PAGE_KEYS.remove_of_token, token_id=row.id)
            _audit(change, caller, "token.rotated", row, self._user_name(row))

        # Also if the reply is lost: the old secret must not stay valid.
        await until_available(lambda: self._store.write(work), "a new secret", within=UNDO_WITHIN)
        self._forget(known)
        self._keep(KnownToken(row))
        return row.shown(), secret

    async def revoke(self, caller: Caller, token_id: str) -> UserToken:
        """Deletes a token, and ends its streams and the browsers that were signed in with it."""
        return await self._page_keys.changes.run(lambda: self._revoke(caller, token_id))

    async def _revoke(self, caller: Caller, token_id: str) -> UserToken:
        caller, known = self.current(caller), self._known(token_id)
        row = known.row
        self._check_own(caller, row.user_id, self.role_of(row.shown()))

        async def work(change: Change) -> None:
            await change.tx.run(PAGE_KEYS.remove_of_token, token_id=row.id)
            if await change.tx.run(TOKENS.remove, id=row.id):
                _audit(change, caller, "token.revoked", row, self._user_name(row))

        # Also if the reply is lost: a deleted token must not stay valid.
        await until_available(lambda: self._store.write(work), "a revoked token", within=UNDO_WITHIN)
        self._forget(known)
        return row.shown()

    async def revoke_page_key(self, caller: Caller, key_id: str) -> PageKey:
        """Signs a browser out: the caller's own, or any of a person whose tokens the caller may revoke."""
        key = self._page_keys.get(key_id)
        if caller.token_id != key.id:
            used = self.by_id(key.token_id, "page") if key.token_id is not None else None
            person = used.caller if used is not None else Caller()
            self._check_own(caller, person.user_id, person.role)
        return await self._page_keys.revoke(caller, key.id)

    def forget_user(self, user_id: str) -> None:
        """Drops the tokens of a removed user, whose rows are deleted already."""
        for known in [known for known in self._by_id.values() if known.row.user_id == user_id]:
            self._forget(known)

    def end_streams(self, user_id: str) -> None:
        """Ends the streams of a user whose role has changed. The tokens stay valid, and clients connect again."""
        for known in self._by_hash.values():
            if known.row.user_id == user_id:
                known.revoked.set()
                known.revoked = asyncio.Event()
                self._page_keys.end_streams(known.row.id)

    # Recording uses

    async def run(self) -> None:
        """Records when tokens were used, and ends each one when it expires, until cancelled."""
        while True:
            self._added.clear()
            ends = [known.row.expires_at for known in self._by_hash.values() if known.row.expires_at is not None]
            pause = min([USE_RECORDED_EVERY, *(times.seconds_until(moment) for moment in ends)])
            with suppress(TimeoutError):
                await asyncio.wait_for(self._added.wait(), max(pause, SHORTEST_PAUSE))
            try:
                await self.record_uses()
            except Exception:
                # The database may be away for a while; the next round stores the same uses.
                log.exception("token_uses_not_recorded")

    async def record_uses(self) -> None:
        """Ends the tokens that have expired, and stores the last use of each one that was used since the last call."""
        await self._page_keys.changes.run(self._record_uses)

    async def _record_uses(self) -> None:
        for known in [known for known in self._by_hash.values() if known.expired]:
            # At once, also if the database is away: its streams and browsers end now.
            self._forget(known)
            self._expired.append(known)
        uses = [
            (known, at)
            for known in self._by_hash.values()
            if (at := known.row.last_used_at) not in (None, known.recorded_at)
        ]
        expired = list(self._expired)
        if not uses and not expired:
            return

        async def work(change: Change) -> None:
            for known, at in uses:
                await change.tx.run(TOKENS.used, id=known.row.id, at=at)
            for known in expired:
                await change.tx.run(PAGE_KEYS.remove_of_token, token_id=known.row.id)
                if await change.tx.run(TOKENS.remove, id=known.row.id):
                    system = Caller("system", door="server")
                    _audit(change, system, "token.expired", known.row, self._user_name(known.row))

        await self._store.write(work)
        for known, at in uses:
            known.recorded_at = at
        self._expired.clear()

    def _keep(self, known: KnownToken) -> None:
        self._by_hash[known.row.token_hash] = known
        self._by_id[known.row.id] = known
        self._added.set()

    def _forget(self, known: KnownToken) -> None:
        self._by_hash.pop(known.row.token_hash, None)
        self._by_id.pop(known.row.id, None)
        known.revoked.set()
        self._page_keys.forget_token(known.row.id)

    def _known(self, token_id: str) -> KnownToken:
        known = self._by_id.get(token_id)
        if known is None:
            raise _missing(token_id)
        return known

    def _signed_in_with(self, caller: Caller) -> str | None:
        """Returns the id of the user's token that the caller uses, also through a browser; None for the server's."""
        key = self._page_keys.find_by_id(caller.token_id) if caller.token_id is not None else None
        return key.token_id if key is not None else caller.token_id

    def _latest(self, caller: Caller) -> str | None:
        """Returns when the token that the caller uses expires; None if it does not."""
        token_id = self._signed_in_with(caller)
        return self._known(token_id).row.expires_at if token_id is not None else None

    def _owner_or_user(self, name: str) -> User | None:
        """Returns the user with a name; None for the owner."""
        if name == OWNER:
            return None
        user = next((user for user in self.users.values() if user.name == name), None)
        if user is None:
            raise Invalid("unknown_user", f"There is no user {name[:64]!r}. See: bough user list")
        return user

    def _user_name(self, row: StoredToken) -> str:
        user = self.users.get(row.user_id) if row.user_id is not None else None
        return user.name if user is not None else OWNER

    def _check_own(self, caller: Caller, user_id: str | None, role: Role) -> None:
        """Lets people change their own tokens and browsers, admins those of all users, and only the owner the owner's.
        `role` is what the token or browser may do: one with a lower scope must not replace or end a higher one."""
        if user_id == caller.user_id:
            caller.require(role, "change this token")
            return
        caller.require("admin", "change tokens of others")
        if user_id is None:
            raise Denied("owner_only", "Only the owner can change tokens of the owner.")


def _missing(token_id: str) -> NotFound:
    return NotFound("token_not_found", f"There is no token {token_id!r}. See: bough token list")


def _audit(change: Change, caller: Caller, action: AuditAction, row: StoredToken, user: str) -> None:
    change.audit(caller, action, subject_id=row.id, user=user, name=row.name, scope=row.scope, expiresAt=row.expires_at)
