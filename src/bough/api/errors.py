"""What each family of errors means at each door: HTTP status, JSON-RPC code, exit code of a command (one table)."""

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
)
from bough.model.ids import new_id


class Meaning(NamedTuple):
    """One family at every door."""

    status: int
    rpc: int
    exit: int


# The most special family first; JSON-RPC codes are those of ACP.
MEANINGS: dict[type[BoughError], Meaning] = {
    TooLarge: Meaning(413, -32602, 1),
    Invalid: Meaning(400, -32602, 1),
    NotFound: Meaning(404, -32002, 1),
    Conflict: Meaning(409, -32600, 1),
    Unauthenticated: Meaning(401, -32000, 1),
    Denied: Meaning(403, -32000, 1),
    Busy: Meaning(429, -32603, 1),
    AgentFailed: Meaning(502, -32603, 1),
    Internal: Meaning(500, -32603, 1),
}

# Codes for what the web framework itself refuses.
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
    """The one shape of an error: a stable code, a sentence, an id that the log has too."""

    code: str
    message: str
    id: str
    details: dict[str, Any] = {}


class ErrorAnswer(msgspec.Struct):
    error: ErrorBody


def meaning(error: BoughError) -> Meaning:
    for family, found in MEANINGS.items():
        if isinstance(error, family):
            return found
    return MEANINGS[Internal]


def answer(error: BoughError) -> ErrorAnswer:
    """What a caller is told. An agent's own last words are for the transcript, not for every caller."""
    details = {name: value for name, value in error.details.items() if name not in ("stderr", "command")}
    return ErrorAnswer(ErrorBody(error.code, error.message, new_id(), details))
