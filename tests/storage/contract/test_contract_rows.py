"""R4, R6: Tests that values are stored and read back the same on both databases."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bough.errors import Internal, Invalid
from bough.storage import queries
from bough.storage.backend import Backend, Tx

Q = queries.load("boxes", Path(__file__).parents[1] / "sql")


class Box(msgspec.Struct):
    id: str
    label: str
    hits: int
    cost: float | None
    open: bool
    note: msgspec.Raw | None


class Label(enum.StrEnum):
    SMALL = "small"
    LARGE = "large"


class LabelledBox(msgspec.Struct, frozen=True, kw_only=True):
    """Has another order, keywords only, an enum, and a default that no column fills."""

    note: msgspec.Raw | None
    open: bool
    label: Label
    id: str
    hits: int = 0
    cost: float | None = None
    extra: str = "default"


async def add_whole(backend: Backend, **values: Any) -> Box:
    row: dict[str, Any] = {"id": "b1", "label": "one", "hits": 0, "cost": None, "open": True, "note": None}
    box = await backend.transaction(lambda tx: tx.one(Q.add_whole, Box, **(row | values)))
    assert box is not None
    return box


async def test_returning_and_select_fill_the_same_struct(backend: Backend) -> None:
    """R6: RETURNING returns what SELECT does, with real booleans and raw JSON."""
    note = msgspec.Raw(b'{"a":[1,2,{"b":null}],"t":"\xc3\xa9"}')
    returned = await add_whole(backend, hits=2**63 - 1, cost=1.5, open=False, note=note)
    selected = await backend.read(lambda tx: tx.one(Q.get, Box, id="b1"))
    assert selected is not None
    assert (selected.open, selected.cost, selected.hits) == (False, 1.5, 2**63 - 1)
    assert selected.note is not None and bytes(selected.note) == bytes(note)
    assert msgspec.json.encode(selected) == msgspec.json.encode(returned)


async def test_null_is_none(backend: Backend) -> None:
    """R6: NULL becomes None."""
    box = await add_whole(backend)
    assert (box.cost, box.note, box.open) == (None, None, True)
    assert await backend.read(lambda tx: tx.one(Q.get, Box, id="nowhere")) is None
    assert await backend.read(lambda tx: tx.value(Q.hits, id="nowhere")) is None
    assert await backend.read(lambda tx: tx.all(Q.page.with_(where="WHERE open = FALSE"), Box, limit=5)) == []


async def test_structs_in_any_order_with_keywords_enums_and_defaults(backend: Backend) -> None:
    """R6: Matches columns to fields by name."""
    await add_whole(backend, label=Label.LARGE, hits=3, note=b"[]")
    box = await backend.read(lambda tx: tx.one(Q.get, LabelledBox, id="b1"))
    assert box is not None
    assert (box.label, box.open, box.hits, box.cost, box.extra) == (Label.LARGE, True, 3, None, "default")
    assert box.note is not None and bytes(box.note) == b"[]"


async def test_tuples_have_types_too(backend: Backend) -> None:
    """R6: A tuple's booleans are booleans and its JSON is raw."""
    await add_whole(backend, open=False, note="[1]")
    rows = await backend.read(lambda tx: tx.all(Q.get, tuple[str, str, int, float | None, bool, msgspec.Raw], id="b1"))
    assert [(row[:5], bytes(row[5])) for row in rows] == [(("b1", "one", 0, None, False), b"[1]")]
    (untyped,) = await backend.read(lambda tx: tx.all(Q.ids, tuple[Any, ...]))
    assert untyped == ("b1",)


@pytest.mark.parametrize("document", [b"1.50", b"12345678901234567890", b" -0", b"1e400", b'"1.50"', b"true", b"null"])
@pytest.mark.parametrize("kind", [bytes, msgspec.Raw])
async def test_json_that_is_not_an_object_is_stored_exactly(backend: Backend, document: bytes, kind: type[Any]) -> None:
    """R4: Stores a document byte for byte, down to the last digit."""
    box = await add_whole(backend, note=kind(document))
    assert box.note is not None and bytes(box.note) == document


async def test_json_can_be_searched_as_text(backend: Backend) -> None:
    """A2: Stores JSON as text, whichever way it came in."""
    await add_whole(backend, id="b1", label="1", note=b'{"text":"needle"}')
    await add_whole(backend, id="b2", label="2", note='{"text":"needle"}')
    await add_whole(backend, id="b3", label="3", note=msgspec.Raw(b'{"text":"hay"}'))
    rows = await backend.read(lambda tx: tx.all(Q.note_like, tuple[str], pattern="%needle%"))
    assert rows == [("b1",), ("b2",)]


async def test_a_column_without_a_field_and_a_field_without_a_column_are_refused(backend: Backend) -> None:
    """R6: A struct that does not fit its query raises an error that names the problem."""
    await add_whole(backend)
    short = msgspec.defstruct("Short", [("id", str)])
    longer = msgspec.defstruct("Longer", [("id", str), ("weight", int)])
    with pytest.raises(Internal, match="label") as caught:
        await backend.read(lambda tx: tx.one(Q.get, short, id="b1"))
    assert caught.value.code == "row_mapping"
    with pytest.raises(Internal, match="weight"):
        await backend.read(lambda tx: tx.all(Q.ids, longer))
    with pytest.raises(Internal, match="1 items, the row has 6"):
        await backend.read(lambda tx: tx.all(Q.get, tuple[str], id="b1"))


async def test_lists_expand(backend: Backend) -> None:
    """A1: `IN :ids` takes any number of values; an empty list matches nothing."""
    for number in range(7):
        await add_whole(backend, id=f"b{number}", label=str(number))
    for box_ids in ([], ["b3"], ["b1", "b5", "nowhere"], [f"b{number}" for number in range(7)], ("b2",) * 40):
        rows = await backend.read(lambda tx, ids=box_ids: tx.all(Q.among, tuple[str], ids=ids))
        assert [id for (id,) in rows] == sorted({id for id in box_ids if id != "nowhere"})


async def test_on_conflict_and_rowcounts(backend: Backend) -> None:
    """R6: Both databases support the upsert and report how many rows a statement changed."""

    async def work(tx: Tx) -> list[Any]:
        return [
            await tx.value(Q.upsert, id="b1", label="one"),
            await tx.value(Q.upsert, id="b1", label="one"),
            await tx.run(Q.upsert, id="b1", label="one"),
            await tx.run(Q.hit, id="nowhere"),
            await tx.value(Q.hits, id="b1"),
            await tx.run(Q.remove, id=""),
        ]

    assert await backend.transaction(work) == [1, 2, 1, 0, 3, 1]


async def test_sums_are_numbers_of_the_same_kind(backend: Backend) -> None:
    """R3: Totals of tokens are integers and totals of cost are floats on both."""
    await add_whole(backend, id="b1", label="1", hits=5)
    await add_whole(backend, id="b2", label="2", hits=6)
    assert await backend.read(lambda tx: tx.one(Q.totals, tuple[int, float])) == (11, 0.0)
    (row,) = await backend.read(lambda tx: tx.all(Q.totals, tuple[int, float]))
    assert [type(value) for value in row] == [int, float]


async def test_text_is_ordered_by_bytes_and_like_is_case_sensitive(backend: Backend) -> None:
    """A1, R5: A page has the same order on both, and a prefix matches exactly that prefix."""
    names = ["a", "B", "é", "Z", "_", "a b", "ab", "1"]
    for name in names:
        await add_whole(backend, id=name, label=name)
    rows = await backend.read(lambda tx: tx.all(Q.ids, tuple[str]))
    assert [id for (id,) in rows] == sorted(names)
    assert await backend.read(lambda tx: tx.all(Q.label_like, tuple[str], pattern="b%")) == []


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("a\0b", "text_has_nul"),
        ("lone \ud800", "text_not_unicode"),
        (b'{"a":"\xff"}', "text_not_unicode"),
        (b'"\0"', "text_has_nul"),
    ],
)
async def test_text_that_one_database_cannot_store_is_refused_by_both(backend: Backend, value: Any, code: str) -> None:
    """R4: Refuses such text clearly instead of storing it differently."""
    with pytest.raises(Invalid) as caught:
        await add_whole(backend, **({"label": value} if isinstance(value, str) else {"note": value}))
    assert caught.value.code == code


@pytest.mark.parametrize("values", [{"hits": 2**63}, {"hits": -(2**63) - 1}, {"cost": float("nan")}])
async def test_numbers_that_do_not_fit_are_refused(backend: Backend, values: dict[str, Any]) -> None:
    """R3: Both databases have the same limits."""
    with pytest.raises(Invalid) as caught:
        await add_whole(backend, **values)
    assert caught.value.code == "number_out_of_range"


async def test_wrong_parameters_are_named(backend: Backend) -> None:
    """R6: Names the parameter that is misspelled."""
    with pytest.raises(Internal, match=r"takes the parameters id; given: ids") as caught:
        await backend.read(lambda tx: tx.one(Q.get, Box, ids="b1"))
    assert caught.value.code == "query_parameters"
    with pytest.raises(Internal, match="object cannot be"):
        await backend.read(lambda tx: tx.one(Q.get, Box, id=object()))


@settings(max_examples=30)
@given(texts=st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])), max_size=20))
async def test_any_text_comes_back_as_it_went_in(backend: Backend, texts: list[str]) -> None:
    """R4: Any text survives, in a column and inside JSON."""

    async def work(tx: Tx) -> list[tuple[str | None, Any]]:
        await tx.run(Q.add, id="box", label="box")
        seen: list[tuple[str | None, Any]] = []
        for index, text in enumerate(texts):
            await tx.run(Q.add_thing, id=str(index), box_id="box", body=text)
            row = {"label": f"l{index}", "hits": 0, "cost": None, "open": True, "note": msgspec.json.encode([text])}
            box = await tx.one(Q.add_whole, Box, id=f"b{index}", **row)
            assert box is not None and box.note is not None
            seen.append((await tx.value(Q.body, id=str(index)), msgspec.json.decode(box.note)))
        raise _RolledBack(seen)

    with pytest.raises(_RolledBack) as caught:
        await backend.transaction(work)
    assert caught.value.seen == [(text, [text]) for text in texts]


class _RolledBack(Exception):
    """Carries a result out of a transaction that leaves nothing behind."""

    def __init__(self, seen: list[tuple[str | None, Any]]) -> None:
        self.seen = seen
