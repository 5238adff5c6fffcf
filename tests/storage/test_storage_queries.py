"""R6: Tests named SQL: what is a parameter, what is not, and what a file may contain."""

from __future__ import annotations

from pathlib import Path

import pytest

from bough.errors import Internal
from bough.storage import queries
from bough.storage.queries import Query


def q(text: str) -> Query:
    return Query("test", text, "A test.")


def test_parameters_become_placeholders_of_each_database() -> None:
    """R6: The same text serves both databases; repeated names share a number on PostgreSQL."""
    query = q("SELECT :b, :a FROM t WHERE x = :b")
    statement, values = query.bind("sqlite", {"a": 1, "b": "two"})
    assert (statement.sql, values) == ("SELECT ?, ? FROM t WHERE x = ?", ["two", 1, "two"])
    statement, values = query.bind("postgres", {"a": 1, "b": "two"})
    assert (statement.sql, values) == ("SELECT $1, $2 FROM t WHERE x = $1", ["two", 1])


@pytest.mark.parametrize(
    "text",
    [
        "SELECT x::text, ':a' || ':b''s :c', \":d\" FROM t -- :e {f}\n/* :g\n:h */ WHERE y = '{}'",
        "SELECT '12:30'",
        "SELECT a FROM t WHERE b IN (SELECT c FROM d)",
    ],
)
def test_literals_comments_and_casts_are_left_alone(text: str) -> None:
    """R6: Leaves everything else that looks like a parameter alone."""
    for dialect in ("sqlite", "postgres"):
        assert q(text).bind(dialect, {})[0].sql == text


def test_lists_expand_to_a_power_of_two() -> None:
    """R6: Few statements serve many lengths, with the same meaning."""
    query = q("SELECT 1 WHERE a in :ids AND b = :b AND c IN :ids")
    statement, values = query.bind("postgres", {"ids": [1, 2, 3], "b": 9})
    assert statement.sql == "SELECT 1 WHERE a in ($1, $2, $3, $4) AND b = $5 AND c IN ($1, $2, $3, $4)"
    assert values == [1, 2, 3, 3, 9]
    assert query.bind("postgres", {"ids": (1, 2, 3, 4), "b": 9})[0] is statement
    statement, values = query.bind("sqlite", {"ids": (), "b": 9})
    assert (statement.sql, values) == ("SELECT 1 WHERE a in (?) AND b = ? AND c IN (?)", [None, 9, None])


def test_statements_are_compiled_once() -> None:
    """R6: Compiles nothing on the hot path."""
    query = q("SELECT :a")
    assert query.bind("sqlite", {"a": 1})[0] is query.bind("sqlite", {"a": 2})[0]


def test_fragments_are_filled_and_kept() -> None:
    """A1: Fills in conditions that code chooses, with parameters of their own."""
    query = q("SELECT '{where}' FROM t {where} LIMIT :limit")
    with pytest.raises(Internal, match="fill where by with_"):
        query.bind("sqlite", {"limit": 1})
    filled = query.with_(where="WHERE a = :a")
    assert filled is query.with_(where="WHERE a = :a")
    assert filled.bind("sqlite", {"limit": 1, "a": 2})[0].sql == "SELECT '{where}' FROM t WHERE a = ? LIMIT ?"
    with pytest.raises(Internal, match="has where to fill; given: were"):
        query.with_(were="")


def test_wrong_lists_are_refused() -> None:
    """R6: Refuses a single value in place of a list, and lists that are too long."""
    for value in ("abc", 5, None, list(range(queries.LIST_MAX + 1))):
        with pytest.raises(Internal):
            q("SELECT 1 WHERE a IN :ids").bind("sqlite", {"ids": value})


def test_a_file_becomes_attributes(tmp_path: Path) -> None:
    """R6: One file has many names, each with a sentence; a typo lists the existing names."""
    (tmp_path / "things.sql").write_text(
        "-- Things.\n\n-- name: get\n-- One thing,\n-- by id.\nSELECT 1 -- :no\nWHERE id = :id;\n\n"
        "--name: all\n-- All of them.\nSELECT 2\n"
    )
    things = queries.load("things", tmp_path)
    assert (things.get.name, things.get.doc) == ("get", "One thing, by id.")
    assert things.get.text == "SELECT 1 -- :no\nWHERE id = :id"
    assert [query.name for query in things] == ["get", "all"]
    with pytest.raises(AttributeError, match=r"things\.sql has no query 'got'; it has: all, get"):
        _ = things.got


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 1",
        "-- name: get\nSELECT 1",
        "-- name: get\n-- Only a sentence.",
        "-- name: get\n-- One.\nSELECT 1\n-- name: get\n-- Two.\nSELECT 2",
        "-- name: get-it\n-- One.\nSELECT 1",
        "-- name: _get\n-- One.\nSELECT 1",
    ],
)
def test_a_malformed_file_is_refused(tmp_path: Path, text: str) -> None:
    """R6: Every query needs a usable name, a sentence and a statement."""
    (tmp_path / "things.sql").write_text(text)
    with pytest.raises(Internal) as caught:
        queries.load("things", tmp_path)
    assert caught.value.code == "query_file"
