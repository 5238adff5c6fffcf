"""Manages boards, on which the cards of worktrees are arranged (R1)."""

from __future__ import annotations

from bough.core.store.paging import Page, read_page
from bough.core.store.short_ids import find
from bough.core.store.sql import BOARDS
from bough.core.store.transactions import Change, Store
from bough.core.worktrees.repos import checked_name
from bough.errors import Conflict
from bough.model.repo import Board
from bough.model.session import Caller
from bough.model.values.ids import new_id

DEFAULT_NAME = "Board"


class Boards:
    """Creates, renames and deletes boards. At least one always exists."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def ensure_default(self) -> None:
        """Creates the default board of a new database."""

        async def work(change: Change) -> None:
            if not await change.tx.value(BOARDS.count):
                await self._insert(change, DEFAULT_NAME, is_default=True)

        await self._store.write(work)

    async def add(self, caller: Caller, name: str) -> Board:
        title = checked_name(name)

        async def work(change: Change) -> Board:
            return await self._insert(change, title, is_default=False)

        return await self._store.write_once(caller, "boards.add", name, Board, work)

    async def _insert(self, change: Change, name: str, *, is_default: bool) -> Board:
        board = await change.tx.one(BOARDS.add, Board, id=new_id(), name=name, is_default=is_default, now=change.now)
        if board is None:
            raise _taken(name)
        change.emit("board.created", board)
        return board

    async def get(self, board_id: str) -> Board:
        return await self._store.read(lambda tx: find(tx, "boards", board_id, BOARDS.get, Board))

    async def list(self, limit: int, offset: int) -> Page[Board]:
        return await self._store.read(lambda tx: read_page(tx, BOARDS.page, BOARDS.count, Board, limit, offset))

    async def rename(self, board_id: str, name: str) -> Board:
        title = checked_name(name)

        async def work(change: Change) -> Board:
            current = await find(change.tx, "boards", board_id, BOARDS.get, Board)
            other = await change.tx.one(BOARDS.named, Board, name=title)
            if other is not None and other.id != current.id:
                raise _taken(title)
            board = await change.tx.one(BOARDS.rename, Board, id=current.id, name=title, now=change.now)
            assert board is not None
            change.emit("board.patched", board)
            return board

        return await self._store.write(work)

    async def remove(self, board_id: str) -> Board:
        async def work(change: Change) -> Board:
            board = await find(change.tx, "boards", board_id, BOARDS.get, Board)
            if board.is_default:
                raise Conflict("board_is_default", "The default board cannot be removed; rename it instead.")
            if await change.tx.value(BOARDS.uses, id=board.id):
                raise Conflict("board_in_use", f"Board {board.name} still holds cards. Move them first.")
            await change.tx.run(BOARDS.remove, id=board.id)
            change.emit("board.removed", board)
            return board

        return await self._store.write(work)


def _taken(name: str) -> Conflict:
    return Conflict("name_taken", f"A board named {name!r} already exists.")
