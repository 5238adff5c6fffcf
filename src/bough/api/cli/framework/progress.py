"""Shows that slow work is under way."""

from __future__ import annotations

import contextlib
from collections.abc import Generator

from bough.api.cli.framework import output
from bough.api.cli.framework.terminal_safety import clean


@contextlib.contextmanager
def waiting(text: str) -> Generator[None]:
    """Shows a message during slow work; on a terminal, a spinner that disappears afterwards."""
    from rich.console import Console

    console = Console(stderr=True, highlight=False, markup=False, emoji=False)
    if console.is_terminal:
        with console.status(clean(text)):
            yield
    else:
        output.note(text)
        yield
