"""Holds the id of the request that is being answered: it is in the answer's `X-Request-Id`, in each log line that the
request causes, and in the body of an error."""

from __future__ import annotations

import re
from contextvars import ContextVar

import structlog

HEADER = b"x-request-id"
# The name in log lines.
LOGGED = "request"
# Ids of callers are logged and returned, so that only harmless ones are taken.
_SANE = re.compile(rb"[A-Za-z0-9._:+/=@-]{1,128}")
_current: ContextVar[str] = ContextVar("bough_request_id", default="")


def begin(header: bytes | None, new: str) -> str:
    """Gives the current task's request its id: the caller's if it is sane, else the new one."""
    request_id = header.decode("ascii") if header is not None and _SANE.fullmatch(header) else new
    _current.set(request_id)
    structlog.contextvars.bind_contextvars(**{LOGGED: request_id})
    return request_id


def current() -> str:
    """Returns the id of the request that is being answered; empty outside requests."""
    return _current.get()
