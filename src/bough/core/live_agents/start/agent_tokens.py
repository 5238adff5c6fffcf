"""Mints and checks the tokens by which agents identify themselves when they call Bough's own tools (5d). Each start of
an agent gets a random token; its hash is stored with the keeper and deleted with it."""

from __future__ import annotations

import hmac
import secrets

from bough.core.store.sql import KEEPERS
from bough.core.store.transactions import Store
from bough.errors import Unauthenticated
from bough.model.session import Caller
from bough.model.values import ids, own_tokens

PREFIX = own_tokens.SESSION


def mint(session_id: str) -> str:
    """Returns a new token. It contains the session's id, to look it up by and compare the rest in constant time."""
    return f"{PREFIX}{session_id}.{secrets.token_urlsafe(32)}"


async def caller(store: Store, token: str) -> Caller:
    """Returns the session that a token belongs to; raises `Unauthenticated` if it is unknown or no longer valid."""
    session_id = token.removeprefix(PREFIX).partition(".")[0]
    known: str | None = None
    if token.startswith(PREFIX) and ids.is_full(session_id):
        known = await store.read(lambda tx: tx.value(KEEPERS.token_hash, session_id=session_id))
    if not hmac.compare_digest(own_tokens.hashed(token), known or ""):
        raise Unauthenticated("unauthenticated", "This token does not belong to a running agent.")
    return Caller(kind="session", id=session_id, door="mcp")
