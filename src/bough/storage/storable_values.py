"""Decides which Python values may become SQL parameters: what one database cannot store is refused for both."""

from __future__ import annotations

import math
from typing import Any, cast

import msgspec

from bough.errors import Internal, Invalid

INT_MIN, INT_MAX = -(2**63), 2**63 - 1
_JSON_NUMBER_STARTS = b"-0123456789 \t\r\n"


def storable(value: Any, dialect: str) -> Any:
    """Returns `value` in the form that the drivers take, or raises."""
    kind = cast("type[Any]", type(value))
    if value is None or kind is bool:
        return value
    if kind is str:
        return value if value.isascii() and "\0" not in value else _text(value)
    if kind is int:
        return _integer(value)
    if kind is msgspec.Raw or kind is bytes:
        return _json(value, dialect)
    if kind is float:
        return _float(value)
    # str and int enums end up here, off the fast path.
    if isinstance(value, str):
        return _text(str.__str__(value))
    if isinstance(value, int):
        return _integer(int(value))
    raise Internal("query_parameters", f"A {kind.__name__} cannot be a query parameter.")


def _text(value: str) -> str:
    if "\0" in value:
        raise Invalid("text_has_nul", "Text must not contain the NUL character (U+0000).")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise Invalid("text_not_unicode", "Text must not contain lone surrogates.") from error
    return value


def _integer(value: int) -> int:
    if INT_MIN <= value <= INT_MAX:
        return value
    raise Invalid("number_out_of_range", "An integer must fit in 64 bits.")


def _float(value: float) -> float:
    if math.isfinite(value):
        return value
    raise Invalid("number_out_of_range", "A number must be finite.")


def _json(value: msgspec.Raw | bytes, dialect: str) -> str | bytes:
    """Encodes JSON as text, so that LIKE and the JSON operators work on it.

    A bare number stays a blob in SQLite: a JSON column has numeric affinity there and would drop digits."""
    raw = bytes(value)
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise Invalid("text_not_unicode", "JSON must be UTF-8.") from error
    if b"\0" in raw:
        raise Invalid("text_has_nul", "JSON must not contain a raw NUL byte.")
    return raw if dialect == "sqlite" and raw[:1] in _JSON_NUMBER_STARTS else text
