"""Writing to the terminal: one JSON document, or tables and lines for people. What they say is left to the commands."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bough.api.cli.framework.formats import brief, clean, escaped

if TYPE_CHECKING:
    from rich.console import Console

# Into a pipe nothing is cut: whoever reads there has no edge.
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
    """Standard output; colours and widths are those of the terminal, if there is one."""
    from rich.console import Console

    class Quiet(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    wide = None if sys.stdout.isatty() or os.environ.get("COLUMNS") else PIPE_WIDTH
    return Quiet(highlight=False, markup=False, emoji=False, width=wide)


def width() -> int:
    """How many characters a line has room for."""
    return console().width


def line(text: str, style: str = "") -> None:
    console().print(clean(text), style=style, soft_wrap=True)


def note(text: str) -> None:
    """A word beside the output proper."""
    with contextlib.suppress(OSError):
        print(clean(text), file=sys.stderr, flush=True)


def parting(text: str) -> None:
    """The last word to a person who typed Ctrl-C, which stands on the line by now."""
    note(f"\n{text}" if sys.stderr.isatty() else text)


def raw(document: bytes) -> None:
    """One JSON document as it came, on one line; on a terminal what would steer it stands there as an escape."""
    _write(escaped(document.decode("utf-8", "replace")).encode() if sys.stdout.isatty() else document)


def text(document: bytes) -> None:
    """A text as it came; on a terminal without what would steer it."""
    _write(clean(document.decode("utf-8", "replace")).encode() if sys.stdout.isatty() else document)


def _write(document: bytes) -> None:
    sys.stdout.flush()
    sys.stdout.buffer.write(document + b"\n")
    sys.stdout.buffer.flush()


def document(value: Any) -> None:
    raw(json.dumps(value).encode())


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, flexible: str, empty: str) -> None:
    """Rows under headings, a line each; the flexible column is cut so that the others can be read whole."""
    from rich.cells import cell_len
    from rich.table import Table
    from rich.text import Text

    if not rows:
        line(empty, "dim")
        return
    rows = [[clean(cell) for cell in row] for row in rows]
    stretch = columns.index(flexible)
    widths = [max(cell_len(row[at]) for row in [columns, *rows]) for at in range(len(columns))]
    room = console().width - sum(widths) + widths[stretch] - GAP * (len(columns) - 1)
    drawn = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold", collapse_padding=True)
    for name in columns:
        drawn.add_column(name, no_wrap=True)
    for row in rows:
        cells = [brief(cell, max(room, NARROWEST)) if at == stretch else cell for at, cell in enumerate(row)]
        drawn.add_row(*(Text(cell, style=STATES.get(cell, "")) for cell in cells))
    console().print(drawn)


def facts(pairs: Sequence[tuple[str, str]]) -> None:
    """Names and values, one pair a line; what is empty is left out."""
    from rich.text import Text

    shown = [(name, clean(value)) for name, value in pairs if value]
    width = max((len(name) for name, _ in shown), default=0)
    for name, value in shown:
        text = Text.assemble((f"{name:<{width}}  ", "bold"), (value, STATES.get(value, "")))
        console().print(text, soft_wrap=True)


def more(page: dict[str, Any], shown: int) -> None:
    """Says that a list goes on."""
    if page["offset"] + shown < page["total"]:
        note(f"{shown} of {page['total']}; see the rest with --offset {page['offset'] + shown}.")


def is_interactive() -> bool:
    """Whether a person sits in front of it, who can be asked."""
    return sys.stdin.isatty() and sys.stdout.isatty()
