"""The tokens by which the agents of sessions are known when they call Bough's own tools (5d): random, one for each
start of an agent, kept as a hash with its keeper, and gone with it. What may be done with one is `call_rights`."""

from __future__ import annotations

import hashlib
import hmac
import secrets

from bough.core.store.sql import KEEPERS
from bough.core.store.transactions import Store
from bough.errors import Unauthenticated
from bough.model import ids
from bough.model.session import Caller

PREFIX = "bough-session-"


def mint(session_id: str) -> str:
    """A new token; it says whose it is, so that it is looked up by that and compared in constant time."""
    return f"{PREFIX}{session_id}.{secrets.token_urlsafe(32)}"


def hashed(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


async def caller(store: Store, token: str) -> Caller:
    """Whose token this is; Unauthenticated if it is nobody's, or not any more."""
    session_id = token.removeprefix(PREFIX).partition(".")[0]
    known: str | None = None
    if token.startswith(PREFIX) and ids.is_full(session_id):
        known = await store.read(lambda tx: tx.value(KEEPERS.token_hash, session_id=session_id))
    if not hmac.compare_digest(hashed(token), known or ""):
        raise Unauthenticated("unauthenticated", "This token is not, or no longer, that of a session at work.")
    return Caller(kind="session", id=session_id)
