"""Implements the protocol's session methods: new, load, resume, fork, list, close, delete, and setting modes and
options."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec

from bough.agents import acp_params
from bough.agents.json_rpc import INVALID_PARAMS, Json, RpcError
from bough.api.acp.protocol import wire
from bough.api.acp.sessions import workspace
from bough.api.acp.sessions.mcp_servers import UNNAMED
from bough.api.acp.sessions.open_sessions import OpenSessions
from bough.api.acp.sessions.prompts import Prompts
from bough.api.acp.view import options
from bough.core.services import Services
from bough.core.sessions.requests import OpenedSession
from bough.core.sessions.service import SessionFilter, SessionPatch
from bough.core.state.limits.session_limit import MadeRoom
from bough.core.store.decode import decoded
from bough.errors import Invalid, NotFound
from bough.model.session import Caller, Session

PAGE = 50


class Methods:
    """The session methods for one editor."""

    def __init__(self, services: Services, caller: Caller, attached: OpenSessions, turns: Prompts) -> None:
        self._services = services
        self._caller = caller
        self._open_sessions = attached
        self._prompts = turns
        # Stands for the editor in the names of its MCP servers; set when it says who it is.
        self.editor = UNNAMED
        # Called with every session that the editor closes.
        self.closed: Callable[[str], Awaitable[None]] | None = None

    async def new(self, params: msgspec.Raw) -> OpenedSession:
        request = acp_params.read(params, wire.NewSessionParams)
        return await workspace.open_session(self._services, self._caller, self.editor, request)

    async def fork(self, params: msgspec.Raw) -> OpenedSession:
        request = acp_params.read(params, wire.ExistingSession)
        fork = await workspace.fork_session(self._services, self._caller, self.editor, request)
        return OpenedSession(fork, None)

    async def load(self, params: msgspec.Raw) -> Json:
        return await self._open(params, replay=True)

    async def resume(self, params: msgspec.Raw) -> Json:
        return await self._open(params, replay=False)

    async def _open(self, params: msgspec.Raw, *, replay: bool) -> Json:
        request = acp_params.read(params, wire.ExistingSession)
        async with self._open_sessions.order(request.session_id):
            session = await workspace.open_again(self._services, self._caller, self.editor, request)
            attachment = await self._open_sessions.attach(session, replay=replay)
            await self._open_sessions.offer(attachment)
        return self.opened(attachment.session)

    def opened(self, session: Session, made_room: MadeRoom | None = None) -> Json:
        """Returns what the editor learns about an opened session, and about the one that made room for it."""
        return {
            "modes": options.modes(session),
            "configOptions": options.options(session, self._services.catalog),
            "_meta": {"bough": _lineage(session) | {"cwd": session.cwd} | wire.made_room_meta(made_room)},
        }

    async def list(self, params: msgspec.Raw) -> Json:
        request = acp_params.read(params, acp_params.ListSessions)
        offset = _offset(request.cursor)
        cwd = workspace.real(request.cwd) if request.cwd is not None else None
        page = await self._services.sessions.list(SessionFilter(cwd=cwd, archived=False), PAGE, offset)
        sessions = [decoded(msgspec.json.encode(row), Session) for row in page.rows]
        listed: Json = {"sessions": [_listed(session) for session in sessions]}
        if offset + len(sessions) < page.total:
            listed["nextCursor"] = str(offset + len(sessions))
        return listed

    async def close(self, params: msgspec.Raw) -> Json:
        """Closes a session in this editor; its turn continues for everybody else."""
        request = acp_params.read(params, acp_params.SessionOnly)
        async with self._open_sessions.order(request.session_id):
            session = await workspace.find_session(self._services, request.session_id)
            await self._let_go(session.id)
        return await self._forget(session.id)

    async def delete(self, params: msgspec.Raw) -> Json:
        """Takes a session off the list for everybody: archives it, which a person can undo. One that has work to do is
        refused; one that does not exist needs nothing."""
        request = acp_params.read(params, acp_params.SessionOnly)
        async with self._open_sessions.order(request.session_id):
            try:
                session = await workspace.find_session(self._services, request.session_id)
            except (NotFound, Invalid):
                return {}
            await self._services.archiving.archive(self._caller, session.id, True)
            await self._let_go(session.id)
        return await self._forget(session.id)

    async def _let_go(self, session_id: str) -> None:
        """Stops showing a session in this editor."""
        self._prompts.let_go(session_id)
        await self._open_sessions.detach(session_id)

    async def _forget(self, session_id: str) -> Json:
        if self.closed is not None:
            await self.closed(session_id)
        return {}

    async def set_mode(self, params: msgspec.Raw) -> Json:
        request = acp_params.read(params, acp_params.SetMode)
        mode = options.mode(request.mode_id)
        if mode is None:
            raise RpcError(INVALID_PARAMS, f"Invalid params: there is no mode {request.mode_id[:100]!r}")
        async with self._open_sessions.order(request.session_id):
            session = await workspace.find_session(self._services, request.session_id)
            await self._services.sessions.patch(self._caller, session.id, SessionPatch(permission_mode=mode))
        return {}

    async def set_option(self, params: msgspec.Raw) -> Json:
        request = acp_params.read(params, acp_params.SetConfigOption)
        async with self._open_sessions.order(request.session_id):
            session = await workspace.find_session(self._services, request.session_id)
            sessions, value = self._services.sessions, options.chosen(request.value)
            if request.config_id == "agent":
                session = await sessions.change_agent(self._caller, session.id, request.value)
            elif request.config_id == "model":
                session = await sessions.patch(self._caller, session.id, SessionPatch(model=value))
            elif request.config_id == "effort":
                session = await sessions.patch(self._caller, session.id, SessionPatch(effort=value))
            else:
                raise RpcError(INVALID_PARAMS, f"Invalid params: there is no option {request.config_id[:100]!r}")
        return {"configOptions": options.options(session, self._services.catalog)}


def _lineage(session: Session) -> Json:
    return {
        "kind": session.kind,
        "agent": session.agent,
        "status": session.status,
        "activity": session.activity,
        "parentSessionId": session.parent_session_id,
        "forkedFromSessionId": session.forked_from_session_id,
        "rootSessionId": session.root_session_id,
    }


def _listed(session: Session) -> Json:
    entry: Json = {"sessionId": session.id, "cwd": session.cwd, "updatedAt": session.updated_at}
    return entry | ({"title": session.title} if session.title else {}) | {"_meta": {"bough": _lineage(session)}}


def _offset(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not cursor.isascii() or not cursor.isdigit() or len(cursor) > 9:
        raise Invalid("bad_cursor", f"{cursor[:40]!r} is not a cursor of this list.")
    return int(cursor)
