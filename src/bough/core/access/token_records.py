"""Defines how the server keeps the tokens of users, in the database and in memory."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import msgspec

from bough.model.access.user import Role, UserToken
from bough.model.session import Caller
from bough.model.values import times


class StoredToken(msgspec.Struct):
    """A row of `tokens`."""

    id: str
    user_id: str | None
    name: str
    scope: Role
    token_hash: str
    created_at: str
    last_used_at: str | None
    expires_at: str | None

    def shown(self) -> UserToken:
        return UserToken(
            self.id, self.user_id, self.name, self.scope, self.created_at, self.last_used_at, self.expires_at
        )


@dataclass
class KnownToken:
    row: StoredToken
    revoked: asyncio.Event = field(default_factory=asyncio.Event)
    # The use that the database has; `row.last_used_at` may be later.
    recorded_at: str | None = None

    @property
    def expired(self) -> bool:
        return self.row.expires_at is not None and self.row.expires_at <= times.now()


@dataclass(frozen=True)
class UsedToken:
    """A valid token, the person whom it stands for, and the event that is set when its rights end or change."""

    token: UserToken
    caller: Caller
    revoked: asyncio.Event
