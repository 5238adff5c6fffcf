"""Stops turns whose transcript has reached its limit, and reports that as their error."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable

import structlog

from bough.core.live_agents.agent import Agent
from bough.core.transcripts import transcript_limit
from bough.errors import AgentFailed
from bough.model.task import Task

log = structlog.get_logger("bough.runner")


class FullTranscripts:
    """Watches the transcripts of running turns."""

    def __init__(self, cancel: Callable[[str, Task], Awaitable[None]]) -> None:
        """Takes what stops the turn of a session, and ends an agent that does not stop."""
        self._cancel = cancel
        # Turns that are being stopped.
        self._stopping: set[asyncio.Task[None]] = set()

    @contextlib.asynccontextmanager
    async def watched(self, agent: Agent, task: Task) -> AsyncGenerator[None]:
        """Stops the agent's turn when its transcript is full. Raises `AgentFailed` (`transcript_full`) at the end of
        such a turn, however the agent ended it."""
        full = agent.recorder.full
        stopping = asyncio.create_task(self._stop_when_full(agent, task), name=f"limit {task.id}")
        try:
            yield
        except AgentFailed as error:
            if full.is_set():
                raise transcript_limit.stopped(agent.recorder.growth.limit) from error
            raise
        finally:
            if full.is_set():
                # It may be ending the agent just now. It ends by itself after the turn.
                self._stopping.add(stopping)
                stopping.add_done_callback(self._stopped)
            else:
                stopping.cancel()
        if full.is_set():
            raise transcript_limit.stopped(agent.recorder.growth.limit)

    async def _stop_when_full(self, agent: Agent, task: Task) -> None:
        await agent.recorder.full.wait()
        log.warning("transcript_full", session=agent.session_id, task=task.id, limit=agent.recorder.growth.limit)
        await self._cancel(agent.session_id, task)

    def _stopped(self, stopping: asyncio.Task[None]) -> None:
        self._stopping.discard(stopping)
        if not stopping.cancelled() and (error := stopping.exception()) is not None:
            log.warning("turn_not_stopped", error=str(error))
