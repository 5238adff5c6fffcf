"""Describes the cards of a board: one per working copy, with the sessions that work in it (O4)."""

from __future__ import annotations

import msgspec

from bough.model.repo import RepoKind, Worktree
from bough.model.trees.tree import Node


class CardRepo(msgspec.Struct, rename="camel"):
    """The repository of a card."""

    id: str
    name: str
    path: str
    kind: RepoKind
    default_branch: str | None


class CardSession(Node, kw_only=True):
    """A session on a card: its tree node and the root of its tree."""

    root_session_id: str
    repo_id: str


class Card(msgspec.Struct, rename="camel"):
    """A working copy on a board: a worktree, or the repository's own folder if `worktree` is null; its position, and
    its latest sessions, oldest first."""

    worktree: Worktree | None
    repo: CardRepo
    x: float | None
    y: float | None
    sessions: list[CardSession]
    sessions_total: int
