"""Describes schemas and their fields in the OpenAPI document by the docstrings and comments of their structs, so that
each is written once."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from bough.api.http.json_shapes import Json

# Fields that mean the same in every schema.
COMMON = {
    "id": "The record's id.",
    "sessionId": "The id of the session.",
    "taskId": "The id of the task.",
    "messageId": "The id of the message.",
    "repoId": "The id of the repo.",
    "worktreeId": "The id of the worktree; null outside worktrees.",
    "boardId": "The id of the board; null if it is on none.",
    "rootSessionId": "The id of the tree's root.",
    "parentSessionId": "The id of the session that spawned it.",
    "createdAt": "When it was created (ISO 8601, UTC).",
    "updatedAt": "When it last changed (ISO 8601, UTC).",
    "startedAt": "When it started (ISO 8601, UTC); null before.",
    "endedAt": "When it ended (ISO 8601, UTC); null before.",
    "total": "How many there are on all pages.",
    "limit": "The most that a page holds.",
    "offset": "How many come before this page.",
    "title": "The title; empty if it has none.",
    "description": "A longer text about it.",
    "agent": "The name of the agent.",
    "model": "The model, as the agent names it; null for the agent's default.",
    "effort": "The effort, as the agent names it; null for the agent's default.",
    "permissionMode": "How much the agent may do without asking.",
    "cwd": "The absolute path of the folder.",
    "path": "An absolute path.",
    "branch": "The git branch.",
    "idempotencyKey": "A request repeated with the same key acts once; the same as the header `Idempotency-Key`.",
    "archived": "Whether it was archived.",
    "x": "The horizontal position of the card on its board.",
    "y": "The vertical position of the card on its board.",
}
_FIELD = re.compile(r"    (\w+): ")


def describe_schemas(components: dict[str, Json]) -> None:
    """Adds a description to each schema and to each field that has none, as far as the source has one."""
    structs = {struct.__name__: struct for struct in _structs(msgspec.Struct)}
    for name, schema in components.items():
        struct = structs.get(name)
        if "description" not in schema:
            schema["description"] = _docstring(struct) or _usual(name)
        comments = _comments(struct) if struct is not None else {}
        for field, part in schema.get("properties", {}).items():
            text = comments.get(field) or COMMON.get(field)
            # Tools ignore or refuse what stands beside a reference.
            if text is not None and "description" not in part and "$ref" not in part:
                part["description"] = text


def _structs(struct: type[Any]) -> Iterator[type[Any]]:
    for derived in struct.__subclasses__():
        if derived.__module__.startswith("bough.") and not derived.__name__.startswith("_"):
            yield derived
        yield from _structs(derived)


def _docstring(struct: type[Any] | None) -> str:
    return inspect.cleandoc(struct.__doc__ or "") if struct is not None else ""


def _usual(name: str) -> str:
    """Returns the description of a schema whose name says it all."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()
    if words.endswith(" list"):
        return f"A page of the {words}."
    return f"{'An' if words[0] in 'aeiou' else 'A'} {words}."


def _comments(struct: type[Any]) -> dict[str, str]:
    """Returns the comments above a struct's fields, also of those that it inherits, by the fields' JSON names."""
    comments: dict[str, str] = {}
    for base in reversed(struct.__mro__):
        if not base.__module__.startswith("bough."):
            continue
        names = dict(zip(struct.__struct_fields__, struct.__struct_encode_fields__, strict=True))
        above: list[str] = []
        for line in inspect.getsource(base).splitlines():
            text = line.strip()
            if text.startswith("# "):
                above.append(text.removeprefix("# "))
                continue
            field = _FIELD.match(line)
            if field is not None and above and field[1] in names:
                comments[names[field[1]]] = " ".join(above)
            above = []
    return comments
