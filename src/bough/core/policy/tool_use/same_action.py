"""Decides what counts as the same action, so that "always" recognizes it the next time."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import msgspec

from bough.core.policy.tool_use.json_values import Json, as_dict
from bough.git.decode import escaped
from bough.model.tool import Protection

# Kinds for which "always" covers the files, whatever is read or written there.
BY_PATH = ("read", "edit", "search")
LONGEST_TITLE = 500
# An agent describes the same command differently each time; a person is not asked again for that.
DESCRIPTIONS = frozenset({"description", "justification"})
# Characters of the digest at the end of a key.
DIGEST = 16


def describe(title: str) -> str:
    """Returns a title on one line, cut to `LONGEST_TITLE` characters."""
    return " ".join(title.replace("\0", "").split())[:LONGEST_TITLE]


def action_key(
    kind: str, title: str, arguments: Json, body: Json, paths: tuple[str, ...], protected: tuple[Protection, ...]
) -> str:
    """Returns the key by which "always" recognizes the same use: its title or files for people, and a digest of every
    character of it and of its arguments. The title is cut and its white space folded, which may hide the harm. A
    command that has come to lead to a protected path is another use."""
    if kind in BY_PATH and paths:
        title, exact = ", ".join(paths), [kind, sorted(paths)]
    else:
        inputs: Any = {name: value for name, value in arguments.items() if name not in DESCRIPTIONS}
        exact = [kind, title, inputs or as_dict(body.get("result")).get("content"), sorted(paths)]
    if protected:
        exact.append([protection.path for protection in protected])
    try:
        encoded = msgspec.json.encode(exact, order="sorted")
    except UnicodeEncodeError:  # A link leads to a name that is not valid UTF-8.
        encoded = json.dumps(exact, sort_keys=True).encode()
    return f"{kind}: {describe(escaped(title))} ({hashlib.sha256(encoded).hexdigest()[:DIGEST]})"
