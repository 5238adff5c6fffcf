"""Routes for full-text search, and for records by the names that people use."""

from __future__ import annotations

from typing import Annotated, Any

from litestar import Request, Router, get
from litestar.params import QueryParameter

from bough.api.http.requests import LIMIT, Offset, Services, errors
from bough.core.search.names import Kind, NamedRecord
from bough.core.search.service import LARGEST_LIMIT, LONGEST_QUERY, SearchFilter, SearchResults
from bough.model.session import Caller

Words = Annotated[
    str,
    QueryParameter(
        max_length=LONGEST_QUERY,
        description='Words that must all occur; case and accents are ignored. Also `"a phrase"`, `-excluded` and '
        "`prefix*`. Any other syntax is searched as plain words.",
    ),
]
SearchLimit = Annotated[int, QueryParameter(ge=1, le=LARGEST_LIMIT, description="Maximum number of results.")]


@get("/search", responses=errors(404, 409), summary="Search all transcripts and titles, best matches first")
async def search(
    services: Services,
    q: Words,
    session_id: Annotated[str | None, QueryParameter(name="sessionId", description="Only in this session.")] = None,
    root_id: Annotated[
        str | None, QueryParameter(name="rootId", description="Only in the tree with this root.")
    ] = None,
    repo_id: Annotated[str | None, QueryParameter(name="repoId", description="Only sessions of this repo.")] = None,
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
        QueryParameter(description="Only sessions with one of these statuses: active, completed, cancelled, error."),
    ] = None,
    archived: Annotated[
        bool | None, QueryParameter(description="Only archived sessions, or only those that are not archived.")
    ] = None,
    since: Annotated[str | None, QueryParameter(description="Only at or after this time (ISO 8601).")] = None,
    until: Annotated[str | None, QueryParameter(description="Only before this time (ISO 8601).")] = None,
    limit: SearchLimit = LIMIT,
    offset: Offset = 0,
) -> SearchResults:
    filters = SearchFilter(
        session_id, root_id, repo_id, worktree_id, agent, role, of_type, status, archived, since, until
    )
    return await services.search.find(q, filters, limit, offset)


@get(
    "/find",
    responses=errors(404, 409),
    summary="Find a session, worktree, repo or race by an id, a name, a folder or @last",
)
async def find(
    services: Services,
    request: Request[Any, Any, Any],
    kind: Annotated[Kind, QueryParameter(description="session, worktree, repo or race.")],
    name: Annotated[
        str | None,
        QueryParameter(
            description="An id or a part of it, a title or name, a branch, the name of a repo, a race's prompt, or "
            "`@last`: the session that you created last, or the newest record of another kind."
        ),
    ] = None,
    folder: Annotated[
        str | None,
        QueryParameter(
            description="An absolute path: the record of this folder or of the nearest one above it. With a `name` "
            "that nothing has: the record of exactly this folder."
        ),
    ] = None,
    removed: Annotated[bool, QueryParameter(description="Look among removed worktrees.")] = False,
) -> NamedRecord:
    caller: Caller = request.scope["state"]["caller"]
    return await services.names.find(caller, kind, name, folder, removed=removed)


router = Router("/api", route_handlers=[search, find], tags=["sessions"])
