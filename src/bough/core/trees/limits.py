"""What a tree has room for: how deep it grows, how many children and sessions it has (B5), and that nothing grows out
of a question aside (B4). Which rights a branch may have is `branching`."""

from __future__ import annotations

from typing import Literal

from bough.core.store import records
from bough.core.store.sql import TREES
from bough.errors import Conflict
from bough.model.session import Caller, Session
from bough.settings import Settings
from bough.storage.backend import Tx

BranchKind = Literal["fork", "subsession", "btw"]


async def check_room(tx: Tx, settings: Settings, source: Session, kind: BranchKind, depth: int, count: int = 1) -> None:
    """Trees are bounded, each way with a sentence that says which setting it is; `count` are to be made."""
    if kind == "subsession":
        if depth > settings.max_depth:
            raise Conflict(
                "tree_too_deep",
                f"Session {source.id} stands {source.depth} levels deep and the limit is {settings.max_depth}. Do the "
                "work here, or raise BOUGH_MAX_DEPTH.",
                limit=settings.max_depth,
            )
        children = await tx.value(TREES.live_children, id=source.id) or 0
        if children + count > settings.max_children:
            raise Conflict(
                "too_many_children",
                f"Session {source.id} has {children} active children{_room(count, settings.max_children)}. Complete or "
                "archive some, or raise BOUGH_MAX_CHILDREN.",
                limit=settings.max_children,
            )
    size = await tx.value(TREES.size, root=source.root_session_id) or 0
    if kind != "btw" and size + count > settings.max_tree:
        raise Conflict(
            "tree_too_large",
            f"This tree has {size} sessions{_room(count, settings.max_tree)}. Archive some, or raise BOUGH_MAX_TREE.",
            limit=settings.max_tree,
        )


def _room(count: int, limit: int) -> str:
    return ", which is the limit" if count == 1 else f", {count} more are wanted, and the limit is {limit}"


async def refuse_from_aside(tx: Tx, caller: Caller, source: Session, kind: BranchKind) -> None:
    """Nothing grows out of a question aside: it only answers. A person may fork it, to go on from there."""
    if source.kind == "btw" and kind != "fork":
        raise Conflict(
            "aside_has_no_children",
            f"Session {source.id} is a question that was asked aside: nothing is spawned from it or asked about it. "
            f"Turn to session {source.parent_session_id}, or fork this one first.",
        )
    if caller.kind == "session" and caller.id is not None and (await records.session(tx, caller.id)).kind == "btw":
        raise Conflict(
            "aside_has_no_children",
            f"Session {caller.id} is a question that was asked aside, and opens no sessions. Say in the answer what "
            "should be done.",
        )
