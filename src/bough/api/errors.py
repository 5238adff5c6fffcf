"""Maps each family of errors to its HTTP status, JSON-RPC code and exit code, in one table."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from bough.errors import (
    AgentFailed,
    BoughError,
    Busy,
    Conflict,
    Denied,
    Internal,
    Invalid,
    NotFound,
    TooLarge,
    Unauthenticated,
    Unavailable,
)
from bough.model.values.ids import new_id
from bough.observe import request_id


class ErrorMapping(NamedTuple):
    """Says what a family of errors becomes at each door."""

    status: int
    rpc: int
    exit: int


# Subclasses come before their families. JSON-RPC codes are those of ACP: -32000 only asks for authentication.
MEANINGS: dict[type[BoughError], ErrorMapping] = {
    TooLarge: ErrorMapping(413, -32602, 1),
    Invalid: ErrorMapping(400, -32602, 1),
    NotFound: ErrorMapping(404, -32002, 1),
    Conflict: ErrorMapping(409, -32600, 1),
    Unauthenticated: ErrorMapping(401, -32000, 1),
    Denied: ErrorMapping(403, -32602, 1),
    Unavailable: ErrorMapping(503, -32603, 1),
    Busy: ErrorMapping(429, -32603, 1),
    AgentFailed: ErrorMapping(502, -32603, 1),
    Internal: ErrorMapping(500, -32603, 1),
}

# Error codes for what the web framework or the HTTP server itself refuses.
HTTP_CODES = {
    400: "bad_request",
    401: "unauthenticated",
    404: "not_found",
    405: "method_not_allowed",
    408: "request_timeout",
    413: "body_too_large",
    415: "unsupported_media_type",
    431: "headers_too_large",
}


class ErrorBody(msgspec.Struct, omit_defaults=True):
    """The body of every error: a stable code, a sentence, and the request's id, which is also in the log and in
    `X-Request-Id`."""

    code: str
    message: str
    id: str
    details: dict[str, Any] = {}


class ErrorAnswer(msgspec.Struct):
    error: ErrorBody


def meaning(error: BoughError) -> ErrorMapping:
    """Returns the codes of an error's family."""
    for family, codes in MEANINGS.items():
        if isinstance(error, family):
            return codes
    return MEANINGS[Internal]


def answer(error: BoughError) -> ErrorAnswer:
    """Returns the body of an error, without an agent's stderr and command, which are only for the transcript."""
    details = {name: value for name, value in error.details.items() if name not in ("stderr", "command")}
    return ErrorAnswer(ErrorBody(error.code, error.message, error_id(), details))


def error_id() -> str:
    """Returns the id of the request that failed, or a new one outside requests."""
    return request_id.current() or new_id()
