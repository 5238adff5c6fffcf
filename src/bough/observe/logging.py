"""Configures structured logging and removes secrets before anything is written."""

from __future__ import annotations

import contextlib
import io
import logging
import re
import sys
from collections.abc import Generator, Mapping, MutableMapping
from typing import Any, TextIO, cast

import structlog

# Values with these names are never written, wherever they occur.
SECRET_NAMES = re.compile(r"token|secret|password|authorization|cookie|api[_-]?key|^env$|^headers$", re.IGNORECASE)
# Tokens inside a text: a bearer header, or a link that contains one.
SECRET_TEXT = re.compile(r"(bearer\s+|token=)[\w.~+/=-]{8,}", re.IGNORECASE)
MASK = "***"
# Characters that control a terminal: control characters, and those that change the text's direction.
CONTROL_CHARACTERS = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
# Only these values may have several lines.
BLOCKS = ("exception", "stack")


def masked(value: Any) -> Any:
    """Returns the value with all secrets masked."""
    if isinstance(value, str):
        return SECRET_TEXT.sub(rf"\1{MASK}", value)
    if isinstance(value, Mapping):
        entries = cast("Mapping[Any, Any]", value)
        return {name: MASK if SECRET_NAMES.search(str(name)) else masked(entry) for name, entry in entries.items()}
    if isinstance(value, (list, tuple)):
        return [masked(entry) for entry in cast("list[Any]", value)]
    return value


def _mask(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    return {name: MASK if SECRET_NAMES.search(name) else masked(value) for name, value in event.items()}


def harmless(text: str, *, lines: bool = False) -> str:
    """Returns the text with control characters escaped; newlines and tabs stay if `lines`."""
    return CONTROL_CHARACTERS.sub(lambda match: match[0] if lines and match[0] in "\n\t" else _escape(match[0]), text)


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def _disarm(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Escapes control characters in texts; other values are logged by their `repr`, which has none."""
    texts = {name: value for name, value in event.items() if isinstance(value, str)}
    return {**event, **{name: harmless(text, lines=name in BLOCKS) for name, text in texts.items()}}


def _traceback(file: TextIO, error: Any) -> None:
    """Writes a traceback without the values of variables, which could contain secrets."""
    written = io.StringIO()
    structlog.dev.plain_traceback(written, error)
    file.write(harmless(written.getvalue(), lines=True))


def configure(level: str, form: str) -> None:
    """Sends all log lines to stderr in one format, including those of the standard logging module."""
    console = form == "console" or (form == "auto" and sys.stderr.isatty())
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _mask,
    ]
    render: list[Any] = (
        [_disarm, structlog.dev.ConsoleRenderer(exception_formatter=_traceback)]
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


@contextlib.contextmanager
def silent() -> Generator[None]:
    """Turns logging off, for commands that print their own report."""
    before = structlog.get_config()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    try:
        yield
    finally:
        structlog.configure(**before)


def _drop_record(logger: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    return structlog.stdlib.ProcessorFormatter.remove_processors_meta(logger, method, event)
