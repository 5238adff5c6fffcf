"""The record of a browser's key."""

from __future__ import annotations

import msgspec


class PageKey(msgspec.Struct, rename="camel", frozen=True):
    """A key by which one browser calls the server; valid only at one origin, until it expires or is revoked."""

    id: str
    name: str
    origin: str
    created_at: str
    last_used_at: str
    expires_at: str
    # The user's token that the browser was signed in with; None for the server's.
    token_id: str | None = None
