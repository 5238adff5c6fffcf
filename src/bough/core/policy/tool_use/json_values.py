"""Reads values out of JSON that an agent sent, whatever their types are."""

from __future__ import annotations

from typing import Any, cast

Json = dict[str, Any]


def as_dict(value: Any) -> Json:
    """Returns an object; empty if the value is none."""
    return cast("Json", value) if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """Returns a list; one of the value alone if it is none."""
    return cast("list[Any]", value) if isinstance(value, list) else [value]


def as_dicts(value: Any) -> list[Json]:
    """Returns the objects of a list, or the value as the only one."""
    return [as_dict(item) for item in as_list(value)]


def texts_in(value: Any) -> list[str]:
    """Returns the texts of a list, or the value as the only one, without empty ones."""
    return [item for item in as_list(value) if isinstance(item, str) and item]


def field_at(meta: Json, path: str) -> Any:
    """Returns the field of `_meta` at `path.to.field`; None if there is none."""
    *folders, name = path.split(".")
    for folder in folders:
        meta = as_dict(meta.get(folder))
    return meta.get(name)
