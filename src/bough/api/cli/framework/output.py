"""Writes to the terminal: one JSON document for scripts, or tables and lines for people."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
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
# Cells are not truncated below this; their columns are left out instead.
SHORTEST_CELL = 6
GAP = 2
# An id, or a short form of one, as every command takes it.
_ID = re.compile(r"[0-9a-f-]{8,36}")
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
    """Prints rows under headings, one line each, within the width of the terminal. Ids are always whole: first the
    flexible column is truncated, then the widest others, and then columns are left out, the last ones first."""
    from rich.table import Table
    from rich.text import Text

    if not rows:
        line(empty, "dim")
        return
    rows = [[clean(cell) for cell in row] for row in rows]
    widths = fit(columns, rows, columns.index(flexible), console().width)
    grid = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold", collapse_padding=True)
    for index in widths:
        grid.add_column(brief(columns[index], widths[index]), no_wrap=True)
    for row in rows:
        cells = [_fitted(row[index], widths[index]) for index in widths]
        styles = [STATES.get(row[index], "") for index in widths]
        grid.add_row(*(Text(cell, style=style) for cell, style in zip(cells, styles, strict=True)))
    console().print(grid)


def fit(columns: Sequence[str], rows: Sequence[Sequence[str]], flexible: int, available: int) -> dict[int, int]:
    """Returns the columns that fit into a line, each with its width."""
    from rich.cells import cell_len

    widths = {
        index: max(cell_len(cell) for cell in (name, *(row[index] for row in rows)))
        for index, name in enumerate(columns)
    }
    cells_of = {index: [row[index] for row in rows if row[index]] for index in widths}
    ids = {index for index, cells in cells_of.items() if cells and all(_ID.fullmatch(cell) for cell in cells)}

    def excess() -> int:
        return sum(widths.values()) + GAP * (len(widths) - 1) - available

    if flexible not in ids:
        widths[flexible] = max(widths[flexible] - max(excess(), 0), min(widths[flexible], NARROWEST))
    while excess() > 0:
        others = [index for index in widths if index not in ids and widths[index] > SHORTEST_CELL and index != flexible]
        if not others:
            break
        widths[max(others, key=lambda index: widths[index])] -= 1
    # The first column and the flexible one say which row it is.
    dropped = [index for index in reversed(widths) if index not in (*ids, 0, flexible)]
    while excess() > 0 and dropped:
        del widths[dropped.pop(0)]
    if flexible not in ids:
        left = available - sum(widths.values()) - GAP * (len(widths) - 1) + widths[flexible]
        needed = max(cell_len(cell) for cell in (columns[flexible], *cells_of[flexible]))
        widths[flexible] = max(min(needed, left), 1)
    return widths


def _fitted(text: str, most: int) -> str:
    """Truncates a cell to one line; unlike `brief`, it keeps spaces, which draw the branches of a tree."""
    from rich.cells import cell_len, set_cell_size

    text = text.replace("\n", " ").replace("\t", " ")
    return text if cell_len(text) <= most else set_cell_size(text, most - 1).rstrip() + "…"


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
