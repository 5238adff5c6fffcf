"""Search over REST (A2): one route. What is found, and how it is ranked, is left to the core."""

from __future__ import annotations

from typing import Annotated

from litestar import Router, get
from litestar.params import QueryParameter

from bough.api.http.requests import LIMIT, Offset, Services, errors
from bough.core.search.service import LARGEST_LIMIT, Found, SearchFilter

LONGEST_QUERY = 1_000

Words = Annotated[
    str,
    QueryParameter(
        max_length=LONGEST_QUERY,
        description='Words that must all be there, without regard to case and accents; `"a phrase"`, `-without`, '
        "`begin*`. Anything else is taken as words.",
    ),
]
SearchLimit = Annotated[int, QueryParameter(ge=1, le=LARGEST_LIMIT, description="How many at most.")]


@get("/search", responses=errors(404, 409), summary="Search all transcripts and titles, best first")
async def search(
    services: Services,
    q: Words,
    session_id: Annotated[str | None, QueryParameter(name="sessionId", description="Only in this session.")] = None,
    root_id: Annotated[str | None, QueryParameter(name="rootId", description="Only in the tree of this root.")] = None,
    repo_id: Annotated[str | None, QueryParameter(name="repoId", description="Only of this repository.")] = None,
    worktree_id: Annotated[str | None, QueryParameter(name="worktreeId", description="Only in this worktree.")] = None,
    agent: Annotated[str | None, QueryParameter(description="Only sessions with this agent.")] = None,
    role: Annotated[str | None, QueryParameter(description="One or more of user, agent, system.")] = None,
    of_type: Annotated[
        str | None,
        QueryParameter(
            name="type",
            description="One or more types of messages, such as text, thought, tool, plan, callback, btw, error, or "
            "`session` for titles and descriptions.",
        ),
    ] = None,
    status: Annotated[
        str | None,
        QueryParameter(description="Only sessions that are one of active, completed, cancelled, error."),
    ] = None,
    archived: Annotated[bool | None, QueryParameter(description="Only archived sessions, or only the others.")] = None,
    since: Annotated[str | None, QueryParameter(description="Not older than this time (ISO 8601).")] = None,
    until: Annotated[str | None, QueryParameter(description="Older than this time (ISO 8601).")] = None,
    limit: SearchLimit = LIMIT,
    offset: Offset = 0,
) -> Found:
    wanted = SearchFilter(
        session_id, root_id, repo_id, worktree_id, agent, role, of_type, status, archived, since, until
    )
    return await services.search.find(q, wanted, limit, offset)


router = Router("/api", route_handlers=[search], tags=["sessions"])
