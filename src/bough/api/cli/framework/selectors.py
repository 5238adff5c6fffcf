"""Finds what people name on the command line: a session, worktree, repo or race by an id or a part of it, a title or
name, a branch, a repo's name, a folder, or `@last`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from bough.api.cli.framework.client import Client, Refused
from bough.errors import Invalid, NotFound

LAST = "@last"
# An id, or a part of one that every command takes.
MAY_BE_ID = re.compile(r"[0-9a-fA-F-]{8,36}")
_FULL_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True)
class Selects:
    """Marks a parameter that names a record. Its command receives the record's full id."""

    kind: Literal["session", "worktree", "repo", "race"]
    removed: bool = False
    # Whether `@last` works. It must not where the newest record may be someone else's and the command is hard to undo.
    last: bool = True


NOT_THERE = {
    "session": "is not the folder of a session. See: bough session list",
    "worktree": "is not in a worktree that Bough knows. See: bough worktree list",
    "repo": "is not in a registered repo. Register it: bough repo add PATH",
    "race": "is not a race. See: bough race list",
}
SESSION, WORKTREE, REPO, RACE = Selects("session"), Selects("worktree"), Selects("repo"), Selects("race")


def find(client: Client, selects: Selects, text: str) -> str:
    """Returns the full id of the record that a text names."""
    if _FULL_ID.fullmatch(text):
        return text
    if text == LAST and not selects.last:
        raise Invalid(
            "bad_name",
            f"{LAST} may be a {selects.kind} that someone else or an agent has just created. "
            f"Name the one that you mean: bough {selects.kind} list",
        )
    folder = folder_named(text)
    query: dict[str, Any] = {"removed": True} if selects.removed else {}
    if folder is not None:
        query["folder"] = str(folder.resolve())
    if not is_path(text):
        # The server takes the folder only if it is a record's own: `docs` is not the worktree around docs/.
        return client.get("/api/find", kind=selects.kind, name=text, **query).value["id"]
    assert folder is not None
    if not selects.removed and not folder.is_dir():
        raise NotFound(f"{selects.kind}_not_found", f"There is no such folder: {folder}")
    try:
        return client.get("/api/find", kind=selects.kind, **query).value["id"]
    except Refused as error:
        if not error.code.endswith("_not_found"):
            raise
        raise NotFound(error.code, f"{folder} {NOT_THERE[selects.kind]}") from error


def is_path(text: str) -> bool:
    """Returns whether a text can only be a path."""
    return text.startswith(("/", "~", "./", "../")) or text in (".", "..")


def folder_named(text: str) -> Path | None:
    """Returns the folder that a text names, existing or not; None if it is a name or an id."""
    named = Path(text).expanduser()
    return named.absolute() if is_path(text) or (text and named.is_dir()) else None


def selected(hint: Any) -> Selects | None:
    """Returns the mark of a parameter, by its type hint."""
    return next((mark for mark in get_args(hint) if isinstance(mark, Selects)), None)
