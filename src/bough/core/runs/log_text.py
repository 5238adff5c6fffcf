"""Turns what a command printed into plain text: without escape sequences, and with lines as they looked at the end."""

from __future__ import annotations

import re

from bough.model.values.visible import visible

# Operating system commands and other strings, control sequences, and short escapes.
_SEQUENCES = re.compile(r"\x1b(?:[\]PX^_][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)?|\[[0-?]*[ -/]*[@-~]?|[ -/]*[0-~])")


def log_text(data: bytes, *, is_cut: bool) -> str:
    """Returns the text of a log. With `is_cut` it starts in the middle of a line, which is left out."""
    text = data.decode("utf-8", "replace")
    if is_cut:
        first, newline, rest = text.partition("\n")
        text = rest if newline else first
    lines = _SEQUENCES.sub("", text).split("\n")
    return visible("\n".join(_last_drawn(line) for line in lines))


def _last_drawn(line: str) -> str:
    """Returns what a line showed last: programs draw progress by going back to its beginning."""
    return next((part for part in reversed(line.split("\r")) if part), "")
