"""Routes that steer sessions, alone or with all that hangs below them: stop, resume, complete, archive. What each does
is left to the core."""

from __future__ import annotations

from typing import Any

import msgspec
from litestar import Router, post
from litestar.params import JSONBody

from bough.api.http.requests import Caller, Id, Keyed, Services, errors, whole_id, with_key
from bough.core.sessions.cascades import Cascaded
from bough.errors import Invalid
from bough.model.session import Session
from bough.model.task import Task


class SessionSteered(Session):
    """A session as it stands now, and what became of all below it if that was asked for."""

    cascade: list[Cascaded] | None = None


class Stop(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Stops the running turn; with `expectedTaskId` only if it is that one, with `cascade` also those below."""

    expected_task_id: str | None = None
    cascade: bool = False
    idempotency_key: str | None = None


class StopAnswer(msgspec.Struct, rename="camel"):
    session: Session
    task: Task | None
    cascade: list[Cascaded] | None = None


class Complete(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Completes the session; `force` cancels what still waits or runs, `cascade` completes all below it before."""

    force: bool = False
    cascade: bool = False
    idempotency_key: str | None = None


class Archive(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Archives the session or takes it out; with `cascade` all below it before."""

    archived: bool = True
    cascade: bool = False
    idempotency_key: str | None = None


@post(
    "/sessions/{session_id:str}/stop", status_code=200, responses=errors(404, 409, 413), summary="Stop the running turn"
)
async def stop_session(
    services: Services, caller: Caller, session_id: Id, data: JSONBody[Stop | None] = None
) -> StopAnswer:
    wanted = data or Stop()
    keyed = with_key(caller, wanted.idempotency_key)
    whole = await whole_id(services, "sessions", session_id)
    if wanted.cascade:
        if wanted.expected_task_id is not None:
            raise Invalid("bad_cascade", "A cascade stops whatever runs: leave expectedTaskId out.")
        done = await services.cascades.run(keyed, whole, "stop")
        return StopAnswer(done.session, done.task, done.sessions)
    stopped = await services.control.stop(keyed, whole, wanted.expected_task_id)
    return StopAnswer(stopped.session, stopped.task)


@post(
    "/sessions/{session_id:str}/resume",
    status_code=200,
    responses=errors(404, 409, 413, 429),
    summary="Let a paused queue go on, or reopen an ended session",
)
async def resume_session(
    services: Services, caller: Caller, session_id: Id, data: JSONBody[Keyed | None] = None
) -> Session:
    return await services.sessions.resume(with_key(caller, data.idempotency_key if data else None), session_id)


@post(
    "/sessions/{session_id:str}/complete",
    status_code=200,
    responses=errors(404, 409, 413),
    summary="Complete a session",
)
async def complete_session(
    services: Services, caller: Caller, session_id: Id, data: JSONBody[Complete | None] = None
) -> SessionSteered:
    wanted = data or Complete()
    keyed = with_key(caller, wanted.idempotency_key)
    whole = await whole_id(services, "sessions", session_id)
    if wanted.cascade:
        done = await services.cascades.run(keyed, whole, "complete", force=wanted.force)
        return SessionSteered(*_values(done.session), cascade=done.sessions)
    return SessionSteered(*_values(await services.control.complete(keyed, whole, force=wanted.force)))


@post(
    "/sessions/{session_id:str}/archive",
    status_code=200,
    responses=errors(404, 409, 413),
    summary="Archive a session, which completes it, or take it out of the archive",
)
async def archive_session(
    services: Services, caller: Caller, session_id: Id, data: JSONBody[Archive | None] = None
) -> SessionSteered:
    wanted = data or Archive()
    keyed = with_key(caller, wanted.idempotency_key)
    if wanted.cascade:
        whole = await whole_id(services, "sessions", session_id)
        done = await services.cascades.run(keyed, whole, "archive" if wanted.archived else "unarchive")
        return SessionSteered(*_values(done.session), cascade=done.sessions)
    return SessionSteered(*_values(await services.control.archive(keyed, session_id, wanted.archived)))


def _values(session: Session) -> tuple[Any, ...]:
    return msgspec.structs.astuple(session)


router = Router(
    "/api", route_handlers=[stop_session, resume_session, complete_session, archive_session], tags=["sessions"]
)
