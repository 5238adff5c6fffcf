"""Routes that control sessions, alone or with everything below them: stop, resume, complete, archive, mark as read,
apply a mode at once."""

from __future__ import annotations

from typing import Any

import msgspec
from litestar import Router, delete, post, put
from litestar.params import JSONBody

from bough.api.http.requests import Caller, Id, OptionalKey, Services, errors, whole_id, with_key
from bough.core.sessions.ending.cascades import Cascaded
from bough.core.sessions.requests import ResumedSession
from bough.errors import Invalid
from bough.model.session import Session
from bough.model.task import Task
from bough.model.views.home import Sidebar


class SessionWithCascade(Session):
    """The session after the change, and with `cascade` the outcome for every session below it."""

    cascade: list[Cascaded] | None = None


class StopBody(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Stops the running turn: with `expectedTaskId` only if it is that task, with `cascade` also all turns below."""

    expected_task_id: str | None = None
    cascade: bool = False
    idempotency_key: str | None = None


class StopAnswer(msgspec.Struct, rename="camel"):
    session: Session
    task: Task | None
    cascade: list[Cascaded] | None = None


class ResumeBody(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Resumes the session. At the limit on sessions, `makeRoom` completes the one that has been idle longest,
    resumably, instead of refusing."""

    make_room: bool = False
    idempotency_key: str | None = None


class Complete(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Completes the session. `force` cancels running and queued tasks; `cascade` first completes all sessions below."""

    force: bool = False
    cascade: bool = False
    idempotency_key: str | None = None


class Archive(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Archives the session or removes it from the archive; with `cascade`, all sessions below come first."""

    archived: bool = True
    cascade: bool = False
    idempotency_key: str | None = None


@post(
    "/sessions/{session_id:str}/stop", status_code=200, responses=errors(404, 409, 413), summary="Stop the running turn"
)
async def stop_session(
    services: Services, caller: Caller, session_id: Id, data: JSONBody[StopBody | None] = None
) -> StopAnswer:
    body = data or StopBody()
    keyed = with_key(caller, body.idempotency_key)
    full_id = await whole_id(services, "sessions", session_id)
    if body.cascade:
        if body.expected_task_id is not None:
            raise Invalid("bad_cascade", "A cascade stops every running turn; omit expectedTaskId.")
        result = await services.cascades.run(keyed, full_id, "stop")
        return StopAnswer(result.session, result.task, result.sessions)
    stopped = await services.control.stop(keyed, full_id, body.expected_task_id)
    return StopAnswer(stopped.session, stopped.task)


@post(
    "/sessions/{session_id:str}/resume",
    status_code=200,
    responses=errors(404, 409, 413, 429),
    summary="Resume a paused queue, or reopen an ended session",
)
async def resume_session(
    services: Services, caller: Caller, session_id: Id, data: JSONBody[ResumeBody | None] = None
) -> ResumedSession:
    body = data or ResumeBody()
    return await services.resuming.resume(with_key(caller, body.idempotency_key), session_id, make_room=body.make_room)


@post(
    "/sessions/{session_id:str}/complete",
    status_code=200,
    responses=errors(404, 409, 413),
    summary="Complete a session",
)
async def complete_session(
    services: Services, caller: Caller, session_id: Id, data: JSONBody[Complete | None] = None
) -> SessionWithCascade:
    body = data or Complete()
    keyed = with_key(caller, body.idempotency_key)
    full_id = await whole_id(services, "sessions", session_id)
    if body.cascade:
        result = await services.cascades.run(keyed, full_id, "complete", force=body.force)
        return SessionWithCascade(*_values(result.session), cascade=result.sessions)
    return SessionWithCascade(*_values(await services.control.complete(keyed, full_id, force=body.force)))


@post(
    "/sessions/{session_id:str}/archive",
    status_code=200,
    responses=errors(404, 409, 413),
    summary="Archive a session, which completes it, or unarchive it",
)
async def archive_session(
    services: Services, caller: Caller, session_id: Id, data: JSONBody[Archive | None] = None
) -> SessionWithCascade:
    body = data or Archive()
    keyed = with_key(caller, body.idempotency_key)
    if body.cascade:
        full_id = await whole_id(services, "sessions", session_id)
        result = await services.cascades.run(keyed, full_id, "archive" if body.archived else "unarchive")
        return SessionWithCascade(*_values(result.session), cascade=result.sessions)
    return SessionWithCascade(*_values(await services.archiving.archive(keyed, session_id, body.archived)))


@post(
    "/sessions/{session_id:str}/seen",
    status_code=200,
    responses=errors(404, 409, 413),
    summary="Mark a session as read",
)
async def see_session(
    services: Services, caller: Caller, session_id: Id, data: JSONBody[OptionalKey | None] = None
) -> Session:
    return await services.sessions.see(with_key(caller, data.idempotency_key if data else None), session_id)


@post(
    "/sessions/{session_id:str}/unseen",
    status_code=200,
    responses=errors(404, 409, 413),
    summary="Mark a session as unread again",
)
async def unsee_session(
    services: Services, caller: Caller, session_id: Id, data: JSONBody[OptionalKey | None] = None
) -> Session:
    return await services.sessions.unsee(with_key(caller, data.idempotency_key if data else None), session_id)


@put("/sessions/{session_id:str}/pin", responses=errors(404, 409, 413), summary="Pin a session in your sidebar")
async def pin_session(services: Services, caller: Caller, session_id: Id) -> Sidebar:
    return await services.sidebars.pin(caller, session_id, pinned=True)


@delete(
    "/sessions/{session_id:str}/pin",
    status_code=200,
    responses=errors(404, 409),
    summary="Remove a session from your pins",
)
async def unpin_session(services: Services, caller: Caller, session_id: Id) -> Sidebar:
    return await services.sidebars.pin(caller, session_id, pinned=False)


@post(
    "/sessions/{session_id:str}/mode/apply",
    status_code=200,
    responses=errors(403, 404, 409, 413),
    summary="Apply the session's mode to the running turn",
)
async def apply_mode(
    services: Services, caller: Caller, session_id: Id, data: JSONBody[OptionalKey | None] = None
) -> Session:
    return await services.modes.apply(with_key(caller, data.idempotency_key if data else None), session_id)


def _values(session: Session) -> tuple[Any, ...]:
    return msgspec.structs.astuple(session)


router = Router(
    "/api",
    route_handlers=[
        stop_session,
        resume_session,
        complete_session,
        archive_session,
        see_session,
        unsee_session,
        pin_session,
        unpin_session,
        apply_mode,
    ],
    tags=["sessions"],
)
