"""What an editor can ask of sessions: open, find, fork and close them, and choose how they work; each a few lines over
the services. Prompts are `turns`, the connection itself `editor`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec

from bough.agents.json_rpc import INVALID_PARAMS, Json, RpcError
from bough.api.acp.protocol import wire
from bough.api.acp.sessions import options, workspace
from bough.api.acp.sessions.open_sessions import Attached
from bough.api.acp.sessions.prompts import Turns
from bough.core.services import Services
from bough.core.sessions.service import SessionFilter, SessionPatch
from bough.core.store.transactions import decoded
from bough.errors import Invalid
from bough.model.session import Caller, Session

PAGE = 50


class Methods:
    """The methods about sessions, of one editor."""

    def __init__(self, services: Services, caller: Caller, attached: Attached, turns: Turns) -> None:
        self._services = services
        self._caller = caller
        self._attached = attached
        self._turns = turns
        # Told of every session that the editor closes.
        self.closed: Callable[[str], Awaitable[None]] | None = None

    async def new(self, params: msgspec.Raw) -> Session:
        return await workspace.open_session(self._services, self._caller, wire.read(params, wire.New))

    async def fork(self, params: msgspec.Raw) -> Session:
        return await workspace.fork_session(self._services, self._caller, wire.read(params, wire.Known))

    async def load(self, params: msgspec.Raw) -> Json:
        return await self._open(params, replay=True)

    async def resume(self, params: msgspec.Raw) -> Json:
        return await self._open(params, replay=False)

    async def _open(self, params: msgspec.Raw, *, replay: bool) -> Json:
        asked = wire.read(params, wire.Known)
        async with self._attached.order(asked.session_id):
            session = await workspace.open_again(self._services, self._caller, asked)
            attachment = await self._attached.attach(session, replay=replay)
            await self._attached.offer(attachment)
        return self.opened(attachment.session)

    def opened(self, session: Session) -> Json:
        """What is told of a session that has been opened."""
        return {
            "modes": options.modes(session),
            "configOptions": options.options(session, self._services.catalog),
            "_meta": {"bough": _lineage(session) | {"cwd": session.cwd}},
        }

    async def list(self, params: msgspec.Raw) -> Json:
        asked = wire.read(params, wire.ListSessions)
        offset = _offset(asked.cursor)
        cwd = workspace.real(asked.cwd) if asked.cwd is not None else None
        page = await self._services.sessions.list(SessionFilter(cwd=cwd, archived=False), PAGE, offset)
        found = [decoded(msgspec.json.encode(one), Session) for one in page.rows]
        listed: Json = {"sessions": [_listed(one) for one in found]}
        if offset + len(found) < page.total:
            listed["nextCursor"] = str(offset + len(found))
        return listed

    async def close(self, params: msgspec.Raw) -> Json:
        """This editor lets go of a session; what runs there goes on for whoever else watches."""
        asked = wire.read(params, wire.One)
        async with self._attached.order(asked.session_id):
            session = await workspace.find_session(self._services, asked.session_id)
            self._turns.let_go(session.id)
            await self._attached.detach(session.id)
        if self.closed is not None:
            await self.closed(session.id)
        return {}

    async def set_mode(self, params: msgspec.Raw) -> Json:
        asked = wire.read(params, wire.SetMode)
        mode = options.mode(asked.mode_id)
        if mode is None:
            raise RpcError(INVALID_PARAMS, f"Invalid params: there is no mode {asked.mode_id[:100]!r}")
        async with self._attached.order(asked.session_id):
            session = await workspace.find_session(self._services, asked.session_id)
            await self._services.sessions.patch(session.id, SessionPatch(permission_mode=mode))
        return {}

    async def set_option(self, params: msgspec.Raw) -> Json:
        asked = wire.read(params, wire.SetOption)
        async with self._attached.order(asked.session_id):
            session = await workspace.find_session(self._services, asked.session_id)
            sessions, value = self._services.sessions, options.chosen(asked.value)
            if asked.config_id == "agent":
                session = await sessions.change_agent(session.id, asked.value)
            elif asked.config_id == "model":
                session = await sessions.patch(session.id, SessionPatch(model=value))
            elif asked.config_id == "effort":
                session = await sessions.patch(session.id, SessionPatch(effort=value))
            else:
                raise RpcError(INVALID_PARAMS, f"Invalid params: there is no option {asked.config_id[:100]!r}")
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
    found: Json = {"sessionId": session.id, "cwd": session.cwd, "updatedAt": session.updated_at}
    return found | ({"title": session.title} if session.title else {}) | {"_meta": {"bough": _lineage(session)}}


def _offset(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not cursor.isascii() or not cursor.isdigit() or len(cursor) > 9:
        raise Invalid("bad_cursor", f"{cursor[:40]!r} is no cursor of this list.")
    return int(cursor)
