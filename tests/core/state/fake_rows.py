"""Rows and a transaction for unit tests of the pure rules: every query answers what the test says."""

from __future__ import annotations

from typing import Any, cast, get_args

import msgspec

from bough.model.session import Session
from bough.model.task import Task
from bough.storage.backend import Tx
from bough.storage.queries import Query


class _FakeTx:
    def __init__(self, answers: dict[str, Any]) -> None:
        self._answers = answers

    async def all(self, query: Query, type: Any, /, **params: Any) -> list[Any]:
        return self._answers.get(query.name, [])

    async def one(self, query: Query, type: Any, /, **params: Any) -> Any:
        return self._answers.get(query.name)

    async def value(self, query: Query, /, **params: Any) -> Any:
        return self._answers.get(query.name)


def FakeTx(answers: dict[str, Any]) -> Tx:
    """Returns a transaction that answers queries by their names; None or nothing for those that are not named."""
    return cast("Tx", _FakeTx(answers))


def session(**fields: Any) -> Session:
    """Returns a session with these fields and plain ones for the rest."""
    return _filled(Session, {"id": "s", "root_session_id": "s", "status": "active", "kind": "root"} | fields)


def task(**fields: Any) -> Task:
    """Returns a task with these fields and plain ones for the rest."""
    return _filled(Task, {"id": "t", "session_id": "s", "status": "completed"} | fields)


def _filled(kind: Any, fields: dict[str, Any]) -> Any:
    return kind(**{field.name: _plain(field.type) for field in msgspec.structs.fields(kind)} | fields)


def _plain(kind: Any) -> Any:
    if type(None) in get_args(kind):
        return None
    if kind is msgspec.Raw:
        return msgspec.Raw(b"{}")
    is_struct = isinstance(kind, type) and issubclass(kind, msgspec.Struct)
    return kind() if is_struct or kind in (str, int, float, bool) else None
