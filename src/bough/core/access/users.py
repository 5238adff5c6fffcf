"""Adds, changes and removes users. The owner, who runs the server, has no record and cannot be changed."""

from __future__ import annotations

import re

import msgspec

from bough.core.access.one_at_a_time import OneAtATime
from bough.core.access.user_tokens import UserTokens
from bough.core.store.sql import PAGE_KEYS, SAVED_PROMPTS, USERS
from bough.core.store.transactions import Change, Store
from bough.core.store.until_available import UNDO_WITHIN, until_available
from bough.errors import Conflict, Invalid, NotFound
from bough.model.access.user import OWNER, Role, User
from bough.model.session import Caller
from bough.model.values import ids

# Names appear in transcripts, lists and commands, so they are plain.
NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
RESERVED = frozenset({OWNER, "me", "bough", "server", "system"})
MOST_USERS = 1000


class NewUser(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """A user to add, without any token yet."""

    name: str
    role: Role = "viewer"
    idempotency_key: str | None = None


class UserPatch(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    role: Role


class Users:
    """Changes users, one change at a time; `UserTokens` keeps them in memory for the checks of requests."""

    def __init__(self, store: Store, tokens: UserTokens, changes: OneAtATime) -> None:
        self._store = store
        self._tokens = tokens
        self._changes = changes

    async def load(self) -> None:
        """Reads the users. Runs before the first request."""
        rows = await self._store.read(lambda tx: tx.all(USERS.list, User))
        self._tokens.users = {user.id: user for user in rows}

    def get(self, name: str) -> User:
        """Returns the user with a name."""
        user = next((user for user in self._tokens.users.values() if user.name == name), None)
        if user is None:
            if name == OWNER:
                raise Conflict("owner_fixed", "The owner runs the server and cannot be changed or removed.")
            raise NotFound("user_not_found", f"There is no user {name[:64]!r}. See: bough user list")
        return user

    async def add(self, caller: Caller, new: NewUser) -> User:
        return await self._changes.run(lambda: self._add(caller, new))

    async def _add(self, caller: Caller, new: NewUser) -> User:
        self._tokens.current(caller).require("admin", "add users")
        if NAME.fullmatch(new.name) is None or new.name in RESERVED:
            raise Invalid(
                "bad_user_name",
                "A user's name must have 1 to 64 of the characters a-z, 0-9, `.`, `_` and `-`, and start with a letter "
                f"or digit. Reserved are {', '.join(sorted(RESERVED))}.",
            )
        if len(self._tokens.users) >= MOST_USERS:
            raise Conflict("too_many_users", f"There are already {MOST_USERS} users. Remove some first.")

        added: list[User] = []

        async def work(change: Change) -> User:
            added.clear()
            user = await change.tx.one(USERS.add, User, id=ids.new_id(), name=new.name, role=new.role, now=change.now)
            if user is None:
                raise Conflict("user_exists", f"There is already a user {new.name!r}.")
            change.audit(caller, "user.added", subject_id=user.id, user=user.name, role=user.role)
            added.append(user)
            return user

        request = [new.name, new.role]
        user = await self._store.write_once(caller, "users.add", request, User, work)
        # Not for a repeated request: the user may have been removed since.
        self._tokens.users |= {item.id: item for item in added}
        return user

    async def set_role(self, caller: Caller, name: str, role: Role) -> User:
        """Gives a user another role, which counts from the next request on; open streams end."""
        return await self._changes.run(lambda: self._set_role(caller, name, role))

    async def _set_role(self, caller: Caller, name: str, role: Role) -> User:
        self._tokens.current(caller).require("admin", "change users")
        before = self.get(name)

        async def work(change: Change) -> User:
            stored = await change.tx.one(USERS.get, User, id=before.id)
            if stored is not None and stored.role == role:
                # Nothing changes, or an earlier try stored it and its reply was lost.
                return stored
            user = await change.tx.one(USERS.set_role, User, id=before.id, role=role, now=change.now)
            if user is None:
                raise NotFound("user_not_found", f"There is no user {name[:64]!r}. See: bough user list")
            change.audit(caller, "user.changed", subject_id=user.id, user=user.name, role=user.role, before=before.role)
            return user

        # Also if the reply is lost: the old role must not stay valid.
        user = await until_available(lambda: self._store.write(work), "a new role", within=UNDO_WITHIN)
        self._tokens.users[user.id] = user
        self._tokens.end_streams(user.id)
        return user

    async def remove(self, caller: Caller, name: str) -> User:
        """Removes a user with all tokens and signed-in browsers. What the user did stays in transcripts and the audit
        trail."""
        return await self._changes.run(lambda: self._remove(caller, name))

    async def _remove(self, caller: Caller, name: str) -> User:
        self._tokens.current(caller).require("admin", "remove users")
        user = self.get(name)

        async def work(change: Change) -> None:
            await change.tx.run(PAGE_KEYS.remove_of_user, user_id=user.id)
            await change.tx.run(SAVED_PROMPTS.remove_of_user, user_id=user.id)
            if await change.tx.run(USERS.remove, id=user.id):
                change.audit(caller, "user.removed", subject_id=user.id, user=user.name, role=user.role)

        # Also if the reply is lost: tokens of a removed user must not stay valid.
        await until_available(lambda: self._store.write(work), "a removed user", within=UNDO_WITHIN)
        self._tokens.users.pop(user.id, None)
        self._tokens.forget_user(user.id)
        return user
