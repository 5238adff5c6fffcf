"""Tests the rules of races that need neither rows nor git (B6)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from bough.core.trees.race.rules import (
    How,
    KeptRacer,
    check_racer,
    cut_diff,
    earlier_result,
    is_start_needed,
    kept_notice,
    race_name,
    result_of,
)
from bough.errors import Conflict, Invalid
from bough.git.working_copy.diff import Diff
from bough.model.message import raw
from bough.model.trees.race import RaceRow

DEADLINE = "2026-02-01"


def make_race(result: KeptRacer | None = None, created_at: str = "2026-01-01") -> RaceRow:
    return RaceRow(
        id="race",
        session_id="source",
        kind="fork",
        prompt="Do it.",
        cwd="/repo",
        start_sha="0" * 40,
        head_sha="1" * 40,
        kept_session_id=result.session_id if result is not None else None,
        kept=raw(result) if result is not None else None,
        created_at=created_at,
        updated_at=created_at,
    )


def make_kept(how: How = "merge", **fields: Any) -> KeptRacer:
    return KeptRacer(
        race_id="race", session_id="winner", how=how, branch="work", sha="2" * 40, committed=True, **fields
    )


def test_an_open_race_has_no_result() -> None:
    """B6: An undecided race has no result."""
    assert result_of(make_race()) is None


def test_a_result_is_read_back_whole() -> None:
    """B6: A stored result is read back unchanged."""
    result = make_kept(merged="none", into="main", files=3, others=[])
    assert msgspec.to_builtins(result_of(make_race(result))) == msgspec.to_builtins(result)


@pytest.mark.parametrize(
    ("decided_as", "chosen", "how", "repeated"),
    [
        (None, "winner", "merge", False),
        (None, "loser", "merge", False),
        ("merge", "winner", "merge", True),
        ("branch", "winner", "merge", False),
        ("merge", "winner", "checkout", False),
    ],
)
def test_which_racer_may_be_kept(decided_as: How | None, chosen: str, how: How, repeated: bool) -> None:
    """B6: An open race may be decided; a decided one may be repeated, or its winner kept in another way."""
    race = make_race(make_kept(decided_as) if decided_as is not None else None)
    assert (earlier_result(race, chosen, how) is not None) == repeated


@pytest.mark.parametrize("how", ["merge", "checkout", "branch"])
def test_another_racer_cannot_be_kept_afterwards(how: How) -> None:
    """B6: Refuses to keep another racer of a decided race, and names the winner."""
    with pytest.raises(Conflict) as raised:
        earlier_result(make_race(make_kept()), "loser", how)
    assert (raised.value.code, raised.value.details["sessionId"]) == ("race_decided", "winner")


def test_only_racers_can_be_kept() -> None:
    """B6: Refuses a session that does not run in the race, and lists the racers."""
    check_racer("b", "b-whole", ["a-whole", "b-whole"])
    with pytest.raises(Invalid, match="Its racers are: a-whole, b-whole") as raised:
        check_racer("c", "c-whole", ["a-whole", "b-whole"])
    assert (raised.value.code, raised.value.details["sessions"]) == ("not_a_contender", ["a-whole", "b-whole"])


@pytest.mark.parametrize(
    ("decided", "created_at", "racers_left", "needed"),
    [
        (False, "2026-01-01", 2, True),
        (False, "2026-01-01", 0, False),
        (True, "2026-01-01", 2, False),
        (True, DEADLINE, 2, True),
        (True, "2026-03-01", 1, True),
        (True, "2026-03-01", 0, False),
    ],
)
def test_how_long_the_start_is_needed(decided: bool, created_at: str, racers_left: int, needed: bool) -> None:
    """B6: Keeps the files that a race began with while a racer is left and the race is undecided or recent."""
    race = make_race(make_kept() if decided else None, created_at)
    assert is_start_needed(race, racers_left, DEADLINE) is needed


@pytest.mark.parametrize(
    ("prompt", "name"),
    [
        ("Do it.", "Do it."),
        ("  Do\n\n  it\tnow ", "Do it now"),
        ("x" * 60, "x" * 60),
        ("x" * 61, "x" * 59 + "…"),
        ("word " * 1000, ("word " * 12)[:59] + "…"),
    ],
)
def test_names(prompt: str, name: str) -> None:
    """B6: A race is named by the beginning of its prompt, on one line."""
    assert race_name(prompt) == name


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (make_kept(merged="merge", into="main"), "merged into main."),
        (make_kept(merged="none", into="main"), "already in main."),
        (make_kept("branch"), "left on branch work."),
        (make_kept("checkout", undo_checkpoint_id="c1"), "Restore checkpoint c1 to undo this."),
    ],
)
def test_notices(result: KeptRacer, words: str) -> None:
    """B6: The notice says how the winner was kept, and how to undo that."""
    content = msgspec.json.decode(kept_notice(result, "Count birds (2)"))
    assert content["text"].startswith("The work of Count birds (2) was kept, ") and content["text"].endswith(words)
    assert content["kept"].items() >= {"raceId": "race", "sessionId": "winner", "name": "Count birds (2)"}.items()
    assert content.get("undoCheckpointId") == result.undo_checkpoint_id


@pytest.mark.parametrize(
    ("limit", "text", "truncated"),
    [(100, "+one\n+two\n", False), (10, "+one\n+two\n", False), (9, "+one\n", True), (3, "", True)],
)
def test_diffs_are_cut_after_a_line(limit: int, text: str, truncated: bool) -> None:
    """B6: A diff beyond the limit is cut after a whole line and says so."""
    diff = Diff(sha="0" * 40, text="+one\n+two\n", files=[], additions=2, deletions=0, truncated=False, note=None)
    cut = cut_diff(diff, limit)
    assert (cut.text, cut.truncated, cut.note is not None) == (text, truncated, truncated)
