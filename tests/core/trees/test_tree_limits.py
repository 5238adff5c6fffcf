"""Tests the limits of a tree without a database (B5)."""

from __future__ import annotations

import msgspec
import pytest

from bough.core.store.records import depth_below
from bough.core.trees.tree_limits import BranchKind, check_counts
from bough.errors import Conflict
from bough.model.session import Kind
from bough.settings import Settings
from tests.core.state.fake_rows import session

LIMITS = Settings(max_depth=2, max_children=3, max_tree=10)


@pytest.mark.parametrize(("kind", "depth"), [("fork", 1), ("btw", 1), ("subsession", 2)])
def test_only_children_stand_deeper(kind: Kind, depth: int) -> None:
    assert depth_below(session(depth=1), kind) == depth


@pytest.mark.parametrize(
    ("kind", "depth", "children", "size", "count"),
    [
        ("subsession", 2, 2, 9, 1),
        ("subsession", 1, 0, 7, 3),
        # Forks are neither deeper nor children.
        ("fork", 9, 99, 9, 1),
        ("fork", 0, 0, 2, 8),
        # Side questions are not limited.
        ("btw", 9, 99, 99, 1),
    ],
)
def test_there_is_room(kind: BranchKind, depth: int, children: int, size: int, count: int) -> None:
    check_counts(LIMITS, session(depth=depth), kind, depth, children, size, count)


@pytest.mark.parametrize(
    ("kind", "depth", "children", "size", "count", "code", "setting"),
    [
        ("subsession", 3, 0, 1, 1, "tree_too_deep", "BOUGH_MAX_DEPTH"),
        ("subsession", 1, 3, 4, 1, "too_many_children", "BOUGH_MAX_CHILDREN"),
        ("subsession", 1, 2, 3, 2, "too_many_children", "BOUGH_MAX_CHILDREN"),
        ("subsession", 1, 0, 10, 1, "tree_too_large", "BOUGH_MAX_TREE"),
        ("fork", 0, 0, 10, 1, "tree_too_large", "BOUGH_MAX_TREE"),
        ("fork", 0, 0, 7, 4, "tree_too_large", "BOUGH_MAX_TREE"),
    ],
)
def test_there_is_no_room(
    kind: BranchKind, depth: int, children: int, size: int, count: int, code: str, setting: str
) -> None:
    """B5: Each refusal names the setting that can be raised, and several new sessions count together."""
    with pytest.raises(Conflict) as raised:
        check_counts(LIMITS, session(depth=depth), kind, depth, children, size, count)
    assert raised.value.code == code
    assert setting in raised.value.message
    assert (f"{count} more were requested" in raised.value.message) is (count > 1)


def test_metadata_of_a_new_session_is_empty() -> None:
    """R6: The published object contains only what is set."""
    assert msgspec.json.encode(session().metadata) == b"{}"
