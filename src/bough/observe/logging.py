"""Log lines: structured, one event each, secrets taken out before anything is written."""

from __future__ import annotations

import contextlib
import io
import logging
import re
import sys
from collections.abc import Generator, Mapping, MutableMapping
from typing import Any, TextIO, cast

import structlog

# Values under such names are never written, wherever they turn up.
SECRET_NAMES = re.compile(r"token|secret|password|authorization|cookie|api[_-]?key|^env$|^headers$", re.IGNORECASE)
# Tokens in running text: a bearer header, or a link that carries one.
SECRET_TEXT = re.compile(r"(bearer\s+|token=)[\w.~+/=-]{8,}", re.IGNORECASE)
MASK = "***"
# What would steer a terminal: control characters, and those that turn the direction of what follows.
STEERING = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
# Only these have several lines.
BLOCKS = ("exception", "stack")


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


def harmless(text: str, *, lines: bool = False) -> str:
    """A text that does not steer a terminal: what would do so stands there as an escape, line breaks unless `lines`."""
    return STEERING.sub(lambda found: found[0] if lines and found[0] in "\n\t" else _escape(found[0]), text)


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def _disarm(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Other values than texts are shown by their `repr`, which has no such characters."""
    texts = {name: value for name, value in event.items() if isinstance(value, str)}
    return {**event, **{name: harmless(text, lines=name in BLOCKS) for name, text in texts.items()}}


def _traceback(file: TextIO, error: Any) -> None:
    """Without the values of variables, which the renderer's own way shows, secrets among them."""
    written = io.StringIO()
    structlog.dev.plain_traceback(written, error)
    file.write(harmless(written.getvalue(), lines=True))


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
    """Writes no log line meanwhile: for commands that report in their own words what they find."""
    before = structlog.get_config()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    try:
        yield
    finally:
        structlog.configure(**before)


def _drop_record(logger: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    return structlog.stdlib.ProcessorFormatter.remove_processors_meta(logger, method, event)
