"""R6: Tests the conversion of rows to structs and tuples, and what it refuses."""

from __future__ import annotations

import enum
from typing import Any, Literal

import msgspec
import pytest

from bough.errors import Internal
from bough.storage.rows import mapper


class Kind(enum.Enum):
    ROOT = "root"
    FORK = "fork"


class Plain(msgspec.Struct):
    id: str
    count: int
    state: Literal["on", "off"] | None = None


class Fixed(msgspec.Struct, frozen=True):
    ok: bool
    maybe: bool | None
    cost: float
    body: msgspec.Raw
    kind: Kind | None


def test_plain_structs_are_filled_by_name_in_any_order() -> None:
    """R6: The order of columns does not matter, and defaults fill fields that are not selected."""
    assert mapper("q", Plain, ("id", "count", "state"))([("a", 1, "on")]) == [Plain("a", 1, "on")]
    assert mapper("q", Plain, ("state", "count", "id"))([("on", 1, "a")]) == [Plain("a", 1, "on")]
    assert mapper("q", Plain, ("count", "id"))([(1, "a")]) == [Plain("a", 1)]


def test_values_are_converted_to_the_type_of_the_field() -> None:
    """R6: Converts booleans from 0 and 1, floats from integers, JSON from text, blobs and numbers, enums from
    values."""
    build = mapper("q", Fixed, ("ok", "maybe", "cost", "body", "kind"))
    first, second, third = build(
        [(1, 0, 0, '{"é":1}', "fork"), (0, None, 1.5, b"1.50", None), (True, False, 2, 7, "root")]
    )
    assert (first.ok, first.maybe, first.cost, bytes(first.body), first.kind) == (
        True,
        False,
        0.0,
        '{"é":1}'.encode(),
        Kind.FORK,
    )
    assert (second.ok, second.maybe, second.cost, bytes(second.body), second.kind) == (False, None, 1.5, b"1.50", None)
    assert (type(third.ok), type(third.cost), bytes(third.body)) == (bool, float, b"7")
    assert first.ok is True and first.maybe is False


@pytest.mark.parametrize(
    ("type_", "columns", "message"),
    [
        (Plain, ("id", "count", "weight"), "weight"),
        (Plain, ("id",), "count"),
        (Plain, ("id", "count", "id"), "repeated"),
        (msgspec.defstruct("Nested", [("id", list[str])]), ("id",), "cannot fill the field id"),
        (msgspec.defstruct("Mixed", [("id", bool | str)]), ("id",), "cannot fill the field id"),
        (tuple[str, int], ("id",), "2 items, the row has 1"),
        (str, ("id",), "structs or tuples"),
        (dict[str, Any], ("id",), "structs or tuples"),
    ],
)
def test_a_mismatch_raises_a_clear_error(type_: Any, columns: tuple[str, ...], message: str) -> None:
    """R6: Raises a clear error at first use."""
    with pytest.raises(Internal, match=message):
        mapper("q", type_, columns)
