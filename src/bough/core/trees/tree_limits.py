"""Checks the limits of a tree: its depth, its number of children and sessions (B5), that nothing branches off a side
question (B4), and that no session creates one with a wider mode by itself (5e)."""

from __future__ import annotations

from typing import Literal

from bough.core.store import records
from bough.core.store.sql import TREES
from bough.errors import Conflict, Denied
from bough.model.session import RANK, Caller, PermissionMode, Session
from bough.settings import Settings
from bough.storage.backend import Tx

BranchKind = Literal["fork", "subsession", "btw"]


async def check_room(tx: Tx, settings: Settings, source: Session, kind: BranchKind, depth: int, count: int = 1) -> None:
    """Raises `Conflict` if the tree of a session has no room for `count` new branches of this kind."""
    children = await tx.value(TREES.live_children, id=source.id) or 0 if kind == "subsession" else 0
    size = await tx.value(TREES.size, root=source.root_session_id) or 0
    check_counts(settings, source, kind, depth, children, size, count)


def check_counts(
    settings: Settings, source: Session, kind: BranchKind, depth: int, children: int, size: int, count: int = 1
) -> None:
    """Raises `Conflict`, with the setting that can be raised, in any of these cases:

    - a child would stand deeper than `max_depth`;
    - a session would have more than `max_children` active children;
    - the tree would have more than `max_tree` sessions. Side questions do not count.
    """
    if kind == "subsession":
        if depth > settings.max_depth:
            raise Conflict(
                "tree_too_deep",
                f"Session {source.id} is {source.depth} levels deep and the limit is {settings.max_depth}. Do the "
                "work here, or raise BOUGH_MAX_DEPTH.",
                limit=settings.max_depth,
            )
        if children + count > settings.max_children:
            raise Conflict(
                "too_many_children",
                f"Session {source.id} has {children} active children{_over(count, settings.max_children)}. Complete or "
                "archive some, or raise BOUGH_MAX_CHILDREN.",
                limit=settings.max_children,
            )
    if kind != "btw" and size + count > settings.max_tree:
        raise Conflict(
            "tree_too_large",
            f"This tree has {size} sessions{_over(count, settings.max_tree)}. Archive some, or raise BOUGH_MAX_TREE.",
            limit=settings.max_tree,
        )


def _over(count: int, limit: int) -> str:
    return ", which is the limit" if count == 1 else f", {count} more were requested, and the limit is {limit}"


async def refuse_side_question(tx: Tx, caller: Caller, source: Session, kind: BranchKind) -> None:
    """Raises `Conflict` if a side question is branched, or branches: it only answers. People may fork it."""
    if source.kind == "btw" and kind != "fork":
        raise Conflict(
            "aside_has_no_children",
            f"Session {source.id} is a side question and cannot have children or side questions. Use session "
            f"{source.parent_session_id}, or fork this one first.",
        )
    if caller.kind == "session" and caller.id is not None and (await records.session(tx, caller.id)).kind == "btw":
        raise Conflict(
            "aside_has_no_children",
            f"Session {caller.id} is a side question and cannot create sessions. Say in the answer what should be "
            "done.",
        )


async def check_mode(tx: Tx, caller: Caller, source: Session, mode: PermissionMode, kind: BranchKind) -> None:
    """Raises `Denied` if a mode grants more than that of the parent, or of the session that requests it (5e), unless a
    person makes or approved the request. `mode_warnings` warns people."""
    if caller.granted or caller.kind == "person":
        return
    if kind == "subsession":
        _refuse_wider_mode(source, mode)
    if caller.kind == "session" and caller.id is not None:
        _refuse_wider_mode(await records.session(tx, caller.id), mode)


def mode_warnings(source: Session, mode: PermissionMode) -> list[str]:
    """Returns a warning if a new session's mode grants more than that of the session it branches from."""
    if RANK[mode] <= RANK[source.permission_mode]:
        return []
    return [f"Mode {mode} grants more than {source.permission_mode}, the mode of session {source.id}."]


def _refuse_wider_mode(bound: Session, mode: PermissionMode) -> None:
    if RANK[mode] > RANK[bound.permission_mode]:
        raise Denied(
            "mode_above_parent",
            f"{mode} grants more than {bound.permission_mode}, the mode of session {bound.id}. Request that mode or "
            "less; a person can change the mode of the new session afterwards.",
            mode=mode,
            parent=bound.permission_mode,
        )
