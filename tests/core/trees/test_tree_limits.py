"""Tests the limits of a tree without a database (B5)."""

from __future__ import annotations

import msgspec
import pytest

from bough.core.store.records import depth_below
from bough.core.trees.tree_limits import BranchKind, check_counts
from bough.errors import Conflict
from bough.model.message import raw
from bough.model.session import Kind, Session, SessionMetadata
from bough.settings import Settings

LIMITS = Settings(max_depth=2, max_children=3, max_tree=10)


def make_session(depth: int = 0) -> Session:
    empty = raw({})
    return Session(
        id="source",
        repo_id="repo",
        worktree_id=None,
        cwd="/",
        agent="demo",
        title="",
        description="",
        status="active",
        activity="idle",
        permission_mode="plan",
        allowed_tools=raw([]),
        model=None,
        effort=None,
        mcp_server_ids=raw([]),
        env=empty,
        context_files=raw([]),
        callback=empty,
        kind="root",
        parent_session_id=None,
        forked_from_session_id=None,
        root_session_id="source",
        branch_task_id=None,
        created_by=empty,
        git_state=empty,
        message_count=0,
        queue_paused=False,
        archived=False,
        metadata=SessionMetadata(),
        context=None,
        cost=None,
        created_at="",
        updated_at="",
        active_at="",
        ended_at=None,
        headless=None,
        depth=depth,
        turns=0,
        tokens=0,
        seconds=0,
        spent=0,
    )


@pytest.mark.parametrize(("kind", "depth"), [("fork", 1), ("btw", 1), ("subsession", 2)])
def test_only_children_stand_deeper(kind: Kind, depth: int) -> None:
    assert depth_below(make_session(depth=1), kind) == depth


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
    check_counts(LIMITS, make_session(depth), kind, depth, children, size, count)


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
        check_counts(LIMITS, make_session(depth), kind, depth, children, size, count)
    assert raised.value.code == code
    assert setting in raised.value.message
    assert (f"{count} more were requested" in raised.value.message) is (count > 1)


def test_metadata_of_a_new_session_is_empty() -> None:
    """R6: The published object contains only what is set."""
    assert msgspec.json.encode(make_session().metadata) == b"{}"
