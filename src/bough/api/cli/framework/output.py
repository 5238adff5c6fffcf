"""Writes to the terminal: one JSON document for scripts, or tables and lines for people."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bough.api.cli.framework.formats import brief
from bough.api.cli.framework.terminal_safety import clean, escaped

if TYPE_CHECKING:
    from rich.console import Console

# Output to a pipe is never truncated.
PIPE_WIDTH = 10_000
NARROWEST = 12
GAP = 2
STATES = {
    "active": "green",
    "completed": "dim",
    "cancelled": "yellow",
    "error": "red",
    "failed": "red",
    "running": "green",
    "dispatching": "green",
    "queued": "cyan",
    "waiting_permission": "yellow",
    "stopping": "yellow",
    "interrupted": "yellow",
    "pending": "yellow",
    "allowed": "green",
    "denied": "red",
    "allow": "green",
    "deny": "red",
}


@functools.cache
def console() -> Console:
    """Returns the console for standard output, with the colors and width of the terminal if there is one."""
    from rich.console import Console

    class Quiet(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    wide = None if sys.stdout.isatty() or os.environ.get("COLUMNS") else PIPE_WIDTH
    return Quiet(highlight=False, markup=False, emoji=False, width=wide)


def width() -> int:
    """Returns the number of characters in a line."""
    return console().width


def line(text: str, style: str = "") -> None:
    console().print(clean(text), style=style, soft_wrap=True)


def note(text: str) -> None:
    """Prints a remark to stderr."""
    with contextlib.suppress(OSError):
        print(clean(text), file=sys.stderr, flush=True)


def parting(text: str) -> None:
    """Prints the last remark after Ctrl-C, on a new line because the terminal has echoed ^C."""
    note(f"\n{text}" if sys.stderr.isatty() else text)


def raw(document: bytes) -> None:
    """Prints a JSON document unchanged on one line; on a terminal, control characters are escaped."""
    _write(escaped(document.decode("utf-8", "replace")).encode() if sys.stdout.isatty() else document)


def text(document: bytes) -> None:
    """Prints a text unchanged; on a terminal, control characters are removed."""
    _write(clean(document.decode("utf-8", "replace")).encode() if sys.stdout.isatty() else document)


def _write(document: bytes) -> None:
    sys.stdout.flush()
    sys.stdout.buffer.write(document + b"\n")
    sys.stdout.buffer.flush()


def document(value: Any) -> None:
    raw(json.dumps(value).encode())


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, flexible: str, empty: str) -> None:
    """Prints rows under headings, one line each; the flexible column is truncated so that the others fit."""
    from rich.cells import cell_len
    from rich.table import Table
    from rich.text import Text

    if not rows:
        line(empty, "dim")
        return
    rows = [[clean(cell) for cell in row] for row in rows]
    stretch = columns.index(flexible)
    widths = [max(cell_len(row[index]) for row in [columns, *rows]) for index in range(len(columns))]
    available = console().width - sum(widths) + widths[stretch] - GAP * (len(columns) - 1)
    grid = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold", collapse_padding=True)
    for name in columns:
        grid.add_column(name, no_wrap=True)
    for row in rows:
        cells = [brief(cell, max(available, NARROWEST)) if index == stretch else cell for index, cell in enumerate(row)]
        grid.add_row(*(Text(cell, style=STATES.get(cell, "")) for cell in cells))
    console().print(grid)


def facts(pairs: Sequence[tuple[str, str]]) -> None:
    """Prints names and values, one pair per line; empty values are omitted."""
    from rich.text import Text

    shown = [(name, clean(value)) for name, value in pairs if value]
    width = max((len(name) for name, _ in shown), default=0)
    for name, value in shown:
        text = Text.assemble((f"{name:<{width}}  ", "bold"), (value, STATES.get(value, "")))
        console().print(text, soft_wrap=True)


def more(page: dict[str, Any], shown: int) -> None:
    """Points out that a list has more pages."""
    if page["offset"] + shown < page["total"]:
        note(f"{shown} of {page['total']} shown. For more, add --offset {page['offset'] + shown}.")


def is_interactive() -> bool:
    """Returns whether a person at a terminal can be asked."""
    return sys.stdin.isatty() and sys.stdout.isatty()
