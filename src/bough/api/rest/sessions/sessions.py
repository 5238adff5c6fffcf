"""Routes for sessions and their transcripts: create, list, read, prompt, change, export and delete."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from litestar import Response, Router, delete, get, patch, post, put
from litestar.params import JSONBody, QueryParameter

from bough.api.http.requests import (
    LIMIT,
    Caller,
    Id,
    Limit,
    Offset,
    Services,
    answered,
    errors,
    whole_id,
    with_key,
)
from bough.api.rest.worktrees.worktrees import WorktreeRemoved, removed_answer
from bough.core.sessions.ending.cascades import Cascaded
from bough.core.sessions.requests import NewSession, SessionFilter, SessionPatch
from bough.core.state.limits.session_limit import MadeRoom
from bough.core.transcripts import export
from bough.core.transcripts import inherited as inheritance
from bough.core.transcripts.files import NewFiles
from bough.core.transcripts.transcript_limit import TranscriptLimit, TranscriptSize
from bough.core.worktrees.file_names import FileMatches
from bough.errors import Invalid
from bough.model.message import Message
from bough.model.repo import Repo
from bough.model.session import Session
from bough.model.task import Task, When

Since = Annotated[
    str | None,
    QueryParameter(
        description="Only messages changed after this time (ISO 8601), in the order of their changes. For the next "
        "page, pass the `updatedAt` of the last message."
    ),
]
MessageLimit = Annotated[
    int | None,
    QueryParameter(
        ge=1,
        le=10_000,
        description="Maximum number of messages, counted from the end, or with `after` from the start; all by default. "
        "With `since`, the page also holds every message that changed at the same moment as its last one.",
    ),
]
Before = Annotated[str | None, QueryParameter(description="Only messages before this one of the same session.")]
After = Annotated[str | None, QueryParameter(description="Only messages after this one of the same session.")]
StatusFilter = Annotated[
    str | None,
    QueryParameter(
        description="One or more of active, completed, cancelled, error, separated by commas; or what an active "
        "session is doing: idle, running, waiting_permission, not_started (which idle includes)."
    ),
]
TaskStatusFilter = Annotated[str | None, QueryParameter(description="One or more task statuses, separated by commas.")]


class SessionList(msgspec.Struct, rename="camel"):
    sessions: list[Session]
    total: int
    limit: int
    offset: int


class TaskList(msgspec.Struct, rename="camel"):
    tasks: list[Task]
    total: int
    limit: int
    offset: int


class SessionCreated(Session):
    """The new session, the task of its initial prompt, warnings about its folder, and the session that was completed to
    make room for it."""

    task_id: str | None = None
    warnings: list[str] = msgspec.field(default_factory=list[str])
    made_room: MadeRoom | None = None


class SessionEnded(Session):
    """The cancelled or deleted session, its worktree if that was removed too, and with `cascade` the outcome for every
    session below it."""

    worktree: WorktreeRemoved | None = None
    cascade: list[Cascaded] | None = None


class SessionDetail(Session, kw_only=True):
    """A session with its repo and its full transcript."""

    repo: Repo
    messages: list[Message]


class PromptBody(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """A prompt with its files; `resume` reopens a session that has ended. At the limit on sessions, `makeRoom` then
    completes the one that has been idle longest, resumably, instead of refusing.

    `when` is `next` (in its place in the queue), `now` (into the running turn, where the agent takes it) or
    `after_stop` (first, after the running turn is stopped)."""

    text: str
    files: NewFiles = msgspec.UNSET
    resume: bool = False
    make_room: bool = False
    when: When = "next"
    idempotency_key: str | None = None


class Prompted(msgspec.Struct, rename="camel", omit_defaults=True):
    """The task of the prompt, and the session that was completed to make room for the one that it reopened."""

    task_id: str
    made_room: MadeRoom | None = None


@post("/sessions", responses=errors(404, 409, 413, 429), summary="Create a session")
async def create_session(services: Services, caller: Caller, data: JSONBody[NewSession]) -> SessionCreated:
    created = await services.worktree_sessions.create(with_key(caller, data.idempotency_key), data)
    return SessionCreated(
        *_values(created.session),
        task_id=created.task_id,
        warnings=created.warnings,
        made_room=created.made_room,
    )


@get("/sessions", responses=errors(404, 409), summary="List sessions, newest first")
async def list_sessions(
    services: Services,
    repo_id: Annotated[str | None, QueryParameter(name="repoId", description="Only sessions of this repo.")] = None,
    worktree_id: Annotated[
        str | None, QueryParameter(name="worktreeId", description="Only sessions in this worktree.")
    ] = None,
    status: StatusFilter = None,
    archived: Annotated[
        bool | None, QueryParameter(description="Only archived sessions, or only those that are not archived.")
    ] = None,
    root_id: Annotated[
        str | None, QueryParameter(name="rootId", description="Only sessions of the tree with this root.")
    ] = None,
    parent_id: Annotated[
        str | None, QueryParameter(name="parentId", description="Only children of this session.")
    ] = None,
    limit: Limit = LIMIT,
    offset: Offset = 0,
) -> Response[SessionList]:
    async def build() -> SessionList:
        filters = SessionFilter(repo_id, worktree_id, status, archived, root_id, parent_id)
        page = await services.sessions.list(filters, limit, offset)
        return SessionList(page.rows, page.total, page.limit, page.offset)

    key = ("sessions", repo_id, worktree_id, status, archived, root_id, parent_id, limit, offset)
    return await answered(services, key, build)


@get("/sessions/{session_id:str}", responses=errors(404, 409), summary="Get a session with its transcript")
async def get_session(
    services: Services,
    session_id: Id,
    messages: Annotated[bool, QueryParameter(description="Whether to include the transcript.")] = True,
) -> Response[SessionDetail]:
    async def build() -> SessionDetail:
        whole = await services.transcript.whole(session_id, messages=messages)
        return SessionDetail(*_values(whole.session), repo=whole.repo, messages=whole.messages)

    return await answered(services, ("session", session_id, messages), build)


@patch("/sessions/{session_id:str}", responses=errors(404, 409, 413), summary="Change a session's settings")
async def patch_session(services: Services, caller: Caller, session_id: Id, data: JSONBody[SessionPatch]) -> Session:
    return await services.sessions.patch(caller, session_id, data)


@delete("/sessions/{session_id:str}", status_code=200, responses=errors(404, 409), summary="Cancel or delete a session")
async def delete_session(
    services: Services,
    caller: Caller,
    session_id: Id,
    purge: Annotated[bool, QueryParameter(description="Delete it permanently, with its transcript.")] = False,
    worktree: Annotated[
        Literal["keep", "remove"],
        QueryParameter(
            description="Keep or remove its worktree. If the worktree contains work, the whole request is refused."
        ),
    ] = "keep",
    force: Annotated[
        bool, QueryParameter(description="Remove the worktree even if it contains work, which is saved on a git ref.")
    ] = False,
    cascade: Annotated[
        bool, QueryParameter(description="First do the same to everything forked or spawned from it.")
    ] = False,
) -> SessionEnded:
    if cascade:
        if worktree == "remove":
            raise Invalid("bad_cascade", "A cascade keeps worktrees; remove each of them afterwards.")
        full_id = await whole_id(services, "sessions", session_id)
        result = await services.cascades.run(caller, full_id, "purge" if purge else "cancel")
        return SessionEnded(*_values(result.session), cascade=result.sessions)
    ended = await services.worktree_sessions.end(
        caller, session_id, purge=purge, remove_worktree=worktree == "remove", force=force
    )
    removed = removed_answer(ended.worktree) if ended.worktree is not None else None
    return SessionEnded(*_values(ended.session), worktree=removed)


@post(
    "/sessions/{session_id:str}/prompt", status_code=202, responses=errors(404, 409, 413, 429), summary="Send a prompt"
)
async def prompt_session(services: Services, caller: Caller, session_id: Id, data: JSONBody[PromptBody]) -> Prompted:
    keyed = with_key(caller, data.idempotency_key)
    task = await services.resuming.prompt(
        keyed, session_id, data.text, resume=data.resume, make_room=data.make_room, files=data.files, when=data.when
    )
    return Prompted(task.id, task.made_room)


@get("/sessions/{session_id:str}/tasks", responses=errors(404, 409), summary="List the tasks of a session")
async def list_session_tasks(
    services: Services, session_id: Id, status: TaskStatusFilter = None, limit: Limit = LIMIT, offset: Offset = 0
) -> TaskList:
    page = await services.tasks.list(session_id, status, limit, offset)
    return TaskList(page.rows, page.total, page.limit, page.offset)


@get("/sessions/{session_id:str}/messages", responses=errors(404, 409), summary="Read a transcript")
async def list_messages(
    services: Services,
    session_id: Id,
    since: Since = None,
    limit: MessageLimit = None,
    before: Before = None,
    after: After = None,
    inherited: Annotated[
        bool,
        QueryParameter(description="For a fork, include the messages from before it, each with its own `sessionId`."),
    ] = False,
) -> Response[list[Message]]:
    if inherited:
        messages = await inheritance.page(
            services.store, session_id, limit=limit, before=before, after=after, since=since
        )
        return Response(messages)
    return await answered(
        services,
        ("messages", session_id, limit, before, after, since),
        lambda: services.transcript.page(session_id, limit=limit, before=before, after=after, since=since),
    )


@get("/sessions/{session_id:str}/files", responses=errors(403, 404, 409), summary="Find files of a session's folder")
async def find_files(
    services: Services,
    session_id: Id,
    match: Annotated[str, QueryParameter(max_length=200, description="Letters of the path, in this order.")] = "",
) -> FileMatches:
    return await services.file_names.find(session_id, match)


@get("/sessions/{session_id:str}/export", responses=errors(404, 409), summary="Export a session")
async def export_session(
    services: Services,
    session_id: Id,
    format: Annotated[
        Literal["json", "markdown"], QueryParameter(description="json for programs, markdown for people.")
    ] = "json",
) -> Response[bytes]:
    body = await export.export(services.store, session_id, format)
    media_type = "application/json" if format == "json" else "text/markdown"
    return Response(body, media_type=media_type)


@get("/messages/{message_id:str}", responses=errors(404, 409), summary="Get a message")
async def get_message(services: Services, message_id: Id) -> Message:
    return await services.transcript.message(message_id)


def _values(session: Session) -> tuple[Any, ...]:
    return msgspec.structs.astuple(session)


@get(
    "/sessions/{session_id:str}/transcript",
    responses=errors(404, 409),
    summary="Get the size of a session's transcript and its limit",
)
async def get_transcript_size(services: Services, session_id: Id) -> TranscriptSize:
    return await services.transcript_limits.get(session_id)


@put(
    "/sessions/{session_id:str}/transcript",
    responses=errors(403, 404, 409, 413),
    summary="Set the limit of a session's transcript",
)
async def set_transcript_limit(
    services: Services, caller: Caller, session_id: Id, data: JSONBody[TranscriptLimit]
) -> TranscriptSize:
    return await services.transcript_limits.set(caller, session_id, data)


router = Router(
    "/api",
    route_handlers=[
        create_session,
        list_sessions,
        get_session,
        patch_session,
        delete_session,
        prompt_session,
        list_session_tasks,
        list_messages,
        find_files,
        export_session,
        get_transcript_size,
        set_transcript_limit,
        get_message,
    ],
    tags=["sessions"],
)
