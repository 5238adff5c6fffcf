"""Builds the one prompt that carries all comments of a review, with paths, lines and quoted code."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Sequence

from bough.model.review import CommentRow

# A longer quote is cut in the middle; the path and lines say where the rest is.
MOST_QUOTED = 60
LANGUAGE = re.compile(r"[A-Za-z0-9]{1,10}")
"""Extensions of file names that tell the language of a quote."""
OUTDATED = "(These lines have changed since I wrote this; the lines and the quote are from before.)"
HEADING = "Here {are} on your work. Address each of them; where nothing needs to change, say why."


def review_prompt(comments: Sequence[CommentRow], note: str, outdated: Collection[str] = ()) -> str:
    """Returns the prompt for all comments; `note` is what the person adds to them. `outdated` are the ids of those
    whose lines have changed since they were written."""
    count = "is my review comment" if len(comments) == 1 else f"are my {len(comments)} review comments"
    parts = [note.strip()] if note.strip() else []
    parts.append(HEADING.format(are=count))
    for number, comment in enumerate(comments, 1):
        quote = _quoted(comment)
        body = f"{OUTDATED}\n\n{comment.body.strip()}" if comment.id in outdated else comment.body.strip()
        parts.append(
            f"{number}. {_where(comment)}\n\n{quote}\n\n{body}" if quote else f"{number}. {_where(comment)}\n\n{body}"
        )
    return "\n\n".join(parts)


def _where(comment: CommentRow) -> str:
    if comment.path is None:
        return "On your plan:" if comment.message_kind == "plan" else "On your message:"
    if comment.start_line == comment.end_line:
        lines = f"line {comment.start_line}"
    else:
        lines = f"lines {comment.start_line}–{comment.end_line}"
    return f"{_named(comment.path)}, {lines}{' before your change' if comment.side == 'old' else ''}:"


def _named(path: str) -> str:
    """Returns a path on one line and in quotation marks: as it is or, where it could end these, as a JSON string. The
    agent chose it, and must not speak for the person by it."""
    return f"`{path}`" if "`" not in path and path.isprintable() else json.dumps(path)


def _quoted(comment: CommentRow) -> str:
    if not comment.quote:
        return ""
    # Of code, only a line feed ends a line; an agent's message must not leave its quotation by any other end.
    lines = comment.quote.splitlines() if comment.path is None else comment.quote.split("\n")
    if len(lines) > MOST_QUOTED:
        half = MOST_QUOTED // 2
        lines = [*lines[:half], f"… {len(lines) - 2 * half} lines …", *lines[-half:]]
    if comment.path is None:
        return "\n".join(f"> {line}".rstrip() for line in lines)
    text = "\n".join(lines)
    # Longer than any fence inside the code.
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
    language = os.path.splitext(comment.path)[1][1:]
    return f"{fence}{language if LANGUAGE.fullmatch(language) else ''}\n{text}\n{fence}"
