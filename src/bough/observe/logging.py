"""Log lines: structured, one event each, secrets taken out before anything is written."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Mapping, MutableMapping
from typing import Any, cast

import structlog

# Values under such names are never written, wherever they turn up.
SECRET_NAMES = re.compile(r"token|secret|password|authorization|cookie|api[_-]?key|^env$|^headers$", re.IGNORECASE)
# Tokens in running text: a bearer header, or a link that carries one.
SECRET_TEXT = re.compile(r"(bearer\s+|token=)[\w.~+/=-]{8,}", re.IGNORECASE)
MASK = "***"


def masked(value: Any) -> Any:
    """The same value without anything secret in it."""
    if isinstance(value, str):
        return SECRET_TEXT.sub(rf"\1{MASK}", value)
    if isinstance(value, Mapping):
        entries = cast("Mapping[Any, Any]", value)
        return {name: MASK if SECRET_NAMES.search(str(name)) else masked(one) for name, one in entries.items()}
    if isinstance(value, (list, tuple)):
        return [masked(one) for one in cast("list[Any]", value)]
    return value


def _mask(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    return {name: MASK if SECRET_NAMES.search(name) else masked(value) for name, value in event.items()}


def configure(level: str, form: str) -> None:
    """Sends all log lines to stderr in one form; libraries that use the standard module follow."""
    console = form == "console" or (form == "auto" and sys.stderr.isatty())
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _mask,
    ]
    render: list[Any] = (
        [structlog.dev.ConsoleRenderer()]
        if console
        else [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    )
    number = logging.getLevelNamesMapping()[level.upper()]
    structlog.configure(
        processors=[*shared, *render],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(processors=[_drop_record, *render], foreign_pre_chain=shared)
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)


def _drop_record(logger: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    return structlog.stdlib.ProcessorFormatter.remove_processors_meta(logger, method, event)
