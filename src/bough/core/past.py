"""What a waking agent is given of its session: MCP servers that it can reach, and the past if it cannot load it."""

from __future__ import annotations

import msgspec
import structlog

from bough.agents.acp.types import McpServer
from bough.core import mcp_servers, replay
from bough.core.rows import MESSAGES
from bough.core.store import Store
from bough.model.message import Message
from bough.model.session import Session
from bough.storage.backend import Tx

log = structlog.get_logger("bough.runner")


class SessionPast:
    """The past of one session."""

    def __init__(self, store: Store, session: Session) -> None:
        self._store = store
        self._session = session

    async def servers(self, http: bool, sse: bool) -> list[McpServer]:
        session = self._session
        ids = msgspec.json.decode(session.mcp_server_ids, type=list[str])
        found, left_out = await self._store.read(lambda tx: mcp_servers.for_agent(tx, ids, http=http, sse=sse))
        if left_out:
            log.warning("mcp_servers_left_out", session=session.id, agent=session.agent, servers=left_out)
        return found

    async def history(self) -> str:
        """The transcript without the prompt that is about to be sent, as quoted text."""

        async def work(tx: Tx) -> list[Message]:
            return await tx.all(MESSAGES.all.with_(columns="*"), Message, session_id=self._session.id)

        messages = await self._store.read(work, long=True)
        while messages and messages[-1].role == "user":
            messages.pop()
        return replay.transcript(messages)
