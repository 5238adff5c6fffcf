"""Reads the cards of a board, each with its sessions, in a fixed number of queries (O4)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from bough.core.store.paging import Page
from bough.core.store.session_secrets import redactors_of
from bough.core.store.short_ids import find
from bough.core.store.sql import BOARDS, CARDS, TREES
from bough.core.store.transactions import Store
from bough.errors import Internal
from bough.model.repo import Board, Worktree
from bough.model.views.card import Card, CardRepo, CardSession
from bough.storage.backend import Tx

NODES = TREES.nodes.with_(more=", s.root_session_id, s.repo_id", where="s.id IN :ids")
DEFAULT = "default"
# How many sessions of a card are shown: those that run or wait, then the latest ones.
MOST_SESSIONS = 40
# The most parameters of one query.
PIECE = 8_000


class _Place(msgspec.Struct):
    repo_id: str
    worktree_id: str | None
    repo_created_at: str
    created_at: str
    x: float | None
    y: float | None


class Cards:
    """Reads boards with their cards."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def list(self, board_id: str, limit: int, offset: int, *, archived: bool = False) -> Page[Card]:
        """Returns the cards of a board; `default` is the board of all cards that are on no other. Archived sessions and
        side questions are left out unless `archived` is set."""
        return await self._store.read(lambda tx: _read(tx, board_id, limit, offset, archived), long=True)


async def _read(tx: Tx, board_id: str, limit: int, offset: int, archived: bool) -> Page[Card]:
    board = await _board(tx, board_id)
    where = {
        name: f"({table}.board_id = :board OR {table}.board_id IS NULL)"
        if board.is_default
        else f"{table}.board_id = :board"
        for name, table in (("repos", "r"), ("worktrees", "w"))
    }
    total = await tx.value(CARDS.count.with_(**where), board=board.id) or 0
    places = await tx.all(CARDS.page.with_(**where), _Place, board=board.id, limit=limit, offset=offset)
    if not places:
        return Page([], total, limit, offset)
    repo_ids = _unique(place.repo_id for place in places)
    repos = {repo.id: repo for repo in await tx.all(CARDS.repos, CardRepo, ids=repo_ids)}
    own = _unique(place.repo_id for place in places if place.worktree_id is None)
    ids = _unique(place.worktree_id for place in places)
    worktrees = {worktree.id: worktree for worktree in await tx.all(CARDS.worktrees, Worktree, ids=ids)} if ids else {}
    shown = "TRUE" if archived else "NOT archived AND kind <> 'btw'"
    totals: dict[str, int] = {}
    for query, keys in ((CARDS.in_worktrees, ids), (CARDS.in_repos, own)):
        if keys:
            heads: list[Any] = await tx.all(query.with_(shown=shown), tuple[str, int], ids=keys, most=MOST_SESSIONS)
            totals.update(heads)
    sessions: dict[tuple[str, str | None], list[CardSession]] = {}
    session_ids = list(totals)
    redactors = await redactors_of(tx, session_ids)
    for start in range(0, len(session_ids), PIECE):
        for session in await tx.all(NODES, CardSession, ids=session_ids[start : start + PIECE]):
            session.first_prompt = redactors[session.id].beginning(session.first_prompt)
            sessions.setdefault((session.repo_id, session.worktree_id), []).append(session)
    cards: list[Card] = []
    for place in places:
        here = sessions.get((place.repo_id, place.worktree_id), [])
        if len(session_ids) > PIECE:
            here.sort(key=lambda session: (session.created_at, session.id))
        worktree = worktrees[place.worktree_id] if place.worktree_id is not None else None
        count = totals[here[0].id] if here else 0
        cards.append(Card(worktree, repos[place.repo_id], place.x, place.y, here, count))
    return Page(cards, total, limit, offset)


async def _board(tx: Tx, board_id: str) -> Board:
    if board_id != DEFAULT:
        return await find(tx, "boards", board_id, BOARDS.get, Board)
    board = await tx.one(BOARDS.default, Board)
    if board is None:
        raise Internal("no_default_board", "There is no default board.")
    return board


def _unique(ids: Iterable[str | None]) -> list[str]:
    return list(dict.fromkeys(row_id for row_id in ids if row_id is not None))
