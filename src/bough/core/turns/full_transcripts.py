"""Stops turns whose transcript has reached its limit, and reports that as their error."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from bough.agents.acp.answers import PromptResult
from bough.core.live_agents.agent import Agent
from bough.core.transcripts import transcript_limit
from bough.errors import AgentFailed
from bough.model.task import Task

log = structlog.get_logger("bough.runner")


class FullTranscripts:
    """Watches the transcripts of running turns."""

    def __init__(self, cancel: Callable[[str, Task], Awaitable[None]]) -> None:
        """`cancel` stops the turn of a session, and ends an agent that does not stop."""
        self._cancel = cancel
        # Turns that are being stopped.
        self._stopping: set[asyncio.Task[None]] = set()

    async def run(self, agent: Agent, task: Task, prompt: Awaitable[PromptResult]) -> PromptResult:
        """Runs an agent's turn, and stops it when its transcript is full. Raises `AgentFailed` (`transcript_full`) at
        the end of such a turn, unless the agent had said everything."""
        recorder = agent.recorder
        stopping = asyncio.create_task(self._stop_when_full(agent, task), name=f"limit {task.id}")
        try:
            result = await prompt
        except AgentFailed as error:
            if recorder.full.is_set():
                raise transcript_limit.stopped(recorder.growth.limit) from error
            raise
        finally:
            if recorder.full.is_set():
                # It may be ending the agent just now. It ends by itself after the turn.
                self._stopping.add(stopping)
                stopping.add_done_callback(self._stopped)
            else:
                stopping.cancel()
        if recorder.full.is_set() and (recorder.dropped or result.stop_reason == "cancelled"):
            raise transcript_limit.stopped(recorder.growth.limit)
        return result

    async def _stop_when_full(self, agent: Agent, task: Task) -> None:
        await agent.recorder.full.wait()
        log.warning("transcript_full", session=agent.session_id, task=task.id, limit=agent.recorder.growth.limit)
        await self._cancel(agent.session_id, task)

    def _stopped(self, stopping: asyncio.Task[None]) -> None:
        self._stopping.discard(stopping)
        if not stopping.cancelled() and (error := stopping.exception()) is not None:
            log.warning("turn_not_stopped", error=str(error))
