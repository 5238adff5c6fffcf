"""Tests the rules of the model, and that the documents state them correctly."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bough.errors import Invalid
from bough.model.session import MODES, RANK
from bough.model.task import MOVES, TERMINAL
from bough.model.values import ids, times

ROOT = Path(__file__).parents[2]


def test_the_documented_moves_match_the_code() -> None:
    """R3: ARCHITECTURE.md shows exactly the moves that a task can make."""
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (.+) \|$", text, re.MULTILINE)
    drawn = {origin: set(re.findall(r"`(\w+)`", moves)) for origin, moves in rows}
    assert drawn == {origin: set(moves) for origin, moves in MOVES.items() if moves}
    assert sorted(TERMINAL) == ["cancelled", "completed", "failed"]


def test_ids_sort_by_creation() -> None:
    """R5: Ids are UUIDv7, rising even within a millisecond, with the version and variant bits in place."""
    created = [ids.new_id() for _ in range(5000)]
    assert created == sorted(set(created))
    shape = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
    assert all(shape.fullmatch(value) for value in created)
    assert abs(int(created[0].replace("-", "")[:12], 16) / 1000 - time.time()) < 60


@given(st.from_regex(r"[0-9a-fA-F-]{8,36}", fullmatch=True))
def test_a_short_id_is_a_range(text: str) -> None:
    """R5: Accepts a part of an id in either case; the ids that start with it are a range."""
    low, high = ids.prefix_range(ids.checked_short(text, "task"))
    assert low < high and low.startswith(ids.checked_short(text, "task"))


@given(st.text(max_size=60).filter(lambda text: re.fullmatch(r"[0-9a-f-]{8,36}", text.strip().lower()) is None))
def test_an_invalid_id_is_refused(text: str) -> None:
    """R5: Refuses any other text with a clear error."""
    with pytest.raises(Invalid) as raised:
        ids.checked_short(text, "task")
    assert raised.value.code == "bad_id"


def test_times_sort_as_text() -> None:
    """R6: Stored times sort as text in chronological order."""
    earlier, later = times.before(10), times.now()
    assert earlier < later and len(earlier) == len(later) == 27
    assert times.written(times.parse("2026-11-15T09:00:00+01:00")) == "2026-11-15T08:00:00.000000Z"
    with pytest.raises(Invalid):
        times.parse("yesterday")


def test_modes_are_ordered_by_what_they_grant() -> None:
    """P1: Every mode has a rank, plan the lowest, bypass the highest."""
    assert set(RANK) == set(MODES)
    assert RANK["plan"] < RANK["default"] == RANK["ask"] < RANK["acceptEdits"]
    assert RANK["acceptEdits"] < RANK["auto"] == RANK["on-failure"] < RANK["bypassPermissions"] == RANK["allow-all"]
