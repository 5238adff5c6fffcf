"""Routes for boards and the cards on them."""

from __future__ import annotations

from typing import Annotated

import msgspec
from litestar import Response, Router, delete, get, patch, post
from litestar.params import JSONBody, PathParameter, QueryParameter

from bough.api.http.requests import LIMIT, Caller, Id, Limit, Offset, Services, answered, errors, with_key
from bough.core.store.paging import LARGEST_LIMIT
from bough.model.repo import Board
from bough.model.views.card import Card


class RenameBoard(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    name: str


class NewBoard(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    name: str
    idempotency_key: str | None = None


class BoardList(msgspec.Struct, rename="camel"):
    boards: list[Board]
    total: int
    limit: int
    offset: int


@post("/boards", responses=errors(409, 413), summary="Create a board")
async def add_board(services: Services, caller: Caller, data: JSONBody[NewBoard]) -> Board:
    return await services.boards.add(with_key(caller, data.idempotency_key), data.name)


@get("/boards", responses=errors(), summary="List boards")
async def list_boards(services: Services, limit: Limit = LIMIT, offset: Offset = 0) -> BoardList:
    page = await services.boards.list(limit, offset)
    return BoardList(page.rows, page.total, page.limit, page.offset)


@get("/boards/{board_id:str}", responses=errors(404, 409), summary="Get a board")
async def get_board(services: Services, board_id: Id) -> Board:
    return await services.boards.get(board_id)


@patch("/boards/{board_id:str}", responses=errors(404, 409, 413), summary="Rename a board")
async def rename_board(services: Services, board_id: Id, data: JSONBody[RenameBoard]) -> Board:
    return await services.boards.rename(board_id, data.name)


@delete("/boards/{board_id:str}", status_code=200, responses=errors(404, 409), summary="Remove a board")
async def remove_board(services: Services, board_id: Id) -> Board:
    return await services.boards.remove(board_id)


class CardList(msgspec.Struct, rename="camel"):
    cards: list[Card]
    total: int
    limit: int
    offset: int


@get(
    "/boards/{board_id:str}/cards", responses=errors(404, 409), summary="List the cards of a board with their sessions"
)
async def list_cards(
    services: Services,
    board_id: Annotated[str, PathParameter(description="Board id, a unique part of it, or `default`.")],
    archived: Annotated[bool, QueryParameter(description="Include archived sessions and side questions.")] = False,
    limit: Limit = LARGEST_LIMIT,
    offset: Offset = 0,
) -> Response[CardList]:
    async def build() -> CardList:
        page = await services.cards.list(board_id, limit, offset, archived=archived)
        return CardList(page.rows, page.total, page.limit, page.offset)

    return await answered(services, ("cards", board_id, archived, limit, offset), build)


router = Router(
    "/api", route_handlers=[add_board, list_boards, get_board, rename_board, remove_board, list_cards], tags=["boards"]
)
