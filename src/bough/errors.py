"""Defines the families of errors that Bough raises on purpose. They know nothing of HTTP; `bough.api.errors` maps each
family to an HTTP status, a JSON-RPC code and an exit code."""

from __future__ import annotations

from typing import Any


class BoughError(Exception):
    """An expected error. `code` is stable; `message` tells a person or a model what to do."""

    def __init__(self, code: str, message: str, **details: Any) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details = details


class NotFound(BoughError):
    """The requested thing does not exist."""


class Invalid(BoughError):
    """The request itself is wrong and will never succeed."""


class TooLarge(Invalid):
    """The request exceeds a size limit."""


class Conflict(BoughError):
    """The request is valid but not possible in the current state."""


class Denied(BoughError):
    """The caller may not do this."""


class Unauthenticated(Denied):
    """The caller is not authenticated."""


class Busy(BoughError):
    """A limit is reached; the same request can succeed later."""


class Unavailable(Busy):
    """The database cannot be read or written right now, or the server stops or has no room for another connection; the
    same request can succeed later."""

    is_final = False
    """Whether waiting is of no use, because the server stops, or cannot start without its database."""


class AgentFailed(BoughError):
    """An agent could not be started, died, or answered with an error."""


class Internal(BoughError):
    """An invariant is broken; always a bug in Bough."""
