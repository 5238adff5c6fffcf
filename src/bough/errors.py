"""The whole tree of errors that Bough raises on purpose. What each means to HTTP, JSON-RPC or a shell is decided in
`bough.api.errors`."""

from __future__ import annotations

from typing import Any


class BoughError(Exception):
    """Something went wrong in a way that we can name; `code` is stable, `message` helps a person or a model on."""

    def __init__(self, code: str, message: str, **details: Any) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details = details


class NotFound(BoughError):
    """What was asked for is not there."""


class Invalid(BoughError):
    """The request itself is wrong; the same request will never work."""


class TooLarge(Invalid):
    """The request is bigger than we take."""


class Conflict(BoughError):
    """The request is fine, but not in the present state."""


class Denied(BoughError):
    """The caller may not do this."""


class Unauthenticated(Denied):
    """We do not know who is calling."""


class Busy(BoughError):
    """A limit is reached; the same request can work later."""


class AgentFailed(BoughError):
    """An agent could not be started, died, or answered with an error."""


class Internal(BoughError):
    """We broke a rule of our own; always a bug."""
