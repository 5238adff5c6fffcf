"""The cards of a board, each with its sessions, in a few queries however many there are (O4). Placing a card is a patch
of its worktree or repository, and boards themselves are `boards`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from bough.core.store.paging import Page
from bough.core.store.short_ids import find
from bough.core.store.sql import BOARDS, CARDS, TREES
from bough.core.store.transactions import Store
from bough.errors import Internal
from bough.model.card import Card, CardRepo, CardSession
from bough.model.repo import Board, Worktree
from bough.storage.backend import Tx

NODES = TREES.nodes.with_(more=", s.root_session_id, s.repo_id", where="s.id IN :ids")
DEFAULT = "default"
# Sessions on one card; of more than these the last ones are shown.
MOST_SESSIONS = 40
# Parameters of one query.
PIECE = 8_000


class _Place(msgspec.Struct):
    repo_id: str
    worktree_id: str | None
    repo_created_at: str
    created_at: str
    x: float | None
    y: float | None


class Cards:
    """Reads boards with all that lies on them."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def list(self, board_id: str, limit: int, offset: int, *, archived: bool = False) -> Page[Card]:
        """The cards of a board, `default` for the one on which all lies that is on no other. Sessions that were put
        away and questions aside are left out unless wanted."""
        return await self._store.read(lambda tx: _read(tx, board_id, limit, offset, archived), long=True)


async def _read(tx: Tx, board_id: str, limit: int, offset: int, archived: bool) -> Page[Card]:
    board = await _board(tx, board_id)
    where = {
        name: f"({one}.board_id = :board OR {one}.board_id IS NULL)" if board.is_default else f"{one}.board_id = :board"
        for name, one in (("repos", "r"), ("worktrees", "w"))
    }
    total = await tx.value(CARDS.count.with_(**where), board=board.id) or 0
    places = await tx.all(CARDS.page.with_(**where), _Place, board=board.id, limit=limit, offset=offset)
    if not places:
        return Page([], total, limit, offset)
    repos = {one.id: one for one in await tx.all(CARDS.repos, CardRepo, ids=_unique(one.repo_id for one in places))}
    own = _unique(one.repo_id for one in places if one.worktree_id is None)
    ids = _unique(one.worktree_id for one in places)
    worktrees = {one.id: one for one in await tx.all(CARDS.worktrees, Worktree, ids=ids)} if ids else {}
    shown = "TRUE" if archived else "NOT archived AND kind <> 'btw'"
    found: dict[str, int] = {}
    for query, keys in ((CARDS.in_worktrees, ids), (CARDS.in_repos, own)):
        if keys:
            heads: list[Any] = await tx.all(query.with_(shown=shown), tuple[str, int], ids=keys, most=MOST_SESSIONS)
            found.update(heads)
    sessions: dict[tuple[str, str | None], list[CardSession]] = {}
    wanted = list(found)
    for start in range(0, len(wanted), PIECE):
        for one in await tx.all(NODES, CardSession, ids=wanted[start : start + PIECE]):
            sessions.setdefault((one.repo_id, one.worktree_id), []).append(one)
    cards: list[Card] = []
    for place in places:
        here = sessions.get((place.repo_id, place.worktree_id), [])
        if len(wanted) > PIECE:
            here.sort(key=lambda one: (one.created_at, one.id))
        worktree = worktrees[place.worktree_id] if place.worktree_id is not None else None
        count = found[here[0].id] if here else 0
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
    return list(dict.fromkeys(one for one in ids if one is not None))
