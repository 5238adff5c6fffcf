"""Defines the people who share a server: users, what each role may do, and the tokens by which they call."""

from __future__ import annotations

from typing import Literal, get_args

import msgspec

Role = Literal["viewer", "operator", "admin"]
# In ascending order: each role may do everything that the ones before it may.
ROLES: tuple[Role, ...] = get_args(Role)
# The person who runs the server. This user has no record, and the server's own token.
OWNER = "owner"


class User(msgspec.Struct, rename="camel", frozen=True):
    """A row of `users`: somebody besides the owner."""

    id: str
    name: str
    role: Role
    created_at: str
    updated_at: str


class UserToken(msgspec.Struct, rename="camel", frozen=True):
    """A row of `tokens` without its hash. A token grants the lower of its scope and its user's role."""

    id: str
    # None for a token of the owner.
    user_id: str | None
    name: str
    scope: Role
    created_at: str
    last_used_at: str | None
    # None for a token that does not expire.
    expires_at: str | None


def includes(role: Role, needed: Role) -> bool:
    """Returns whether a role may do what another one may."""
    return ROLES.index(role) >= ROLES.index(needed)


def lower_role(role: Role, other: Role) -> Role:
    """Returns the role of the two that may do less."""
    return role if includes(other, role) else other
