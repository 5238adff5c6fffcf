"""The tool that searches the sessions that its caller may read."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from bough.api.mcp.tools import results
from bough.api.mcp.tools.base import Params, Tool, ToolContext
from bough.api.mcp.tools.results import Listed
from bough.core.search.service import LARGEST_LIMIT, LONGEST_QUERY, Hit, SearchFilter


class SearchParams(Params):
    query: Annotated[
        str, Meta(min_length=1, max_length=LONGEST_QUERY, description='Words, "a phrase", -excluded, prefix*.')
    ]
    session_id: str | None = None
    limit: Annotated[int, Meta(ge=1, le=LARGEST_LIMIT)] = 20
    offset: Annotated[int, Meta(ge=0)] = 0


class HitResult(msgspec.Struct):
    """A passage that matches a search; without a `message_id` it is a session's title and description."""

    session_id: str
    title: str
    agentic_tool: str
    message_id: str | None
    task_id: str | None
    role: str | None
    type: str
    text: str
    created_at: str


async def _search(ctx: ToolContext, params: SearchParams) -> Listed[HitResult]:
    session = await ctx.readable_session(params.session_id) if params.session_id is not None else None
    filters = SearchFilter(
        session_id=session.id if session else None,
        roots=None if session else await ctx.readable_roots(),
    )
    page = await ctx.services.search.find(params.query, filters, params.limit, params.offset)
    return Listed([_result(hit) for hit in page.results], page.total, page.limit, page.offset)


def _result(passage: Hit) -> HitResult:
    return HitResult(
        session_id=passage.session_id,
        title=passage.session_title,
        agentic_tool=passage.agent,
        message_id=passage.message_id,
        task_id=passage.task_id,
        role=passage.role,
        type=passage.type,
        text=passage.snippet,
        created_at=passage.created_at,
    )


SEARCH = Tool(
    "agor_search",
    "Search the transcripts and titles of the sessions you can read, best matches first.",
    SearchParams,
    results.listing("session_id", "text"),
    _search,
    only_rows=False,
)
