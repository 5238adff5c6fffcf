"""Puts prompts into an agent's running turn by the agent's own method, and reads its answers in order: nothing that
follows an answer is read before the effect of the answer is stored."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import structlog

from bough.agents.acp.client import AgentClient
from bough.agents.acp.types import Block
from bough.agents.catalog import CatalogEntry
from bough.agents.errors import AgentRefused
from bough.core.transcripts.recorder import Recorder

log = structlog.get_logger("bough.agents")

StoreAnswer = Callable[[int, bool], Awaitable[None]]
"""Stores the effect of an answer: the number of its line, and whether the agent has taken the prompt."""


class SteerAnswer:
    """An awaited answer: the number of its line, and whether its effect is stored."""

    def __init__(self) -> None:
        self.number = 0
        self.stored = asyncio.Event()


class AgentSteering:
    """The prompts that one agent was sent during its turn and has not answered."""

    def __init__(self, client: AgentClient, entry: CatalogEntry, recorder: Recorder) -> None:
        self._client = client
        self._entry = entry
        self._recorder = recorder
        self._answers: dict[str, SteerAnswer] = {}

    async def send(self, agent_session_id: str, blocks: Sequence[Block], key: str, store: StoreAnswer) -> bool:
        """Sends a prompt into the turn, stores the effect of the answer, and returns whether the agent has the prompt.
        A key that was sent before is not sent again. Raises `AgentGone` if the agent dies before it answers."""
        steering = self._entry.steering
        answer = self._answers[key] = SteerAnswer()
        try:
            try:
                meta = steering.meta or None
                outcome = await self._client.steer(steering.method, agent_session_id, blocks, meta, key)
            except AgentRefused as error:
                log.info("steering_refused", agent=self._entry.name, error=error.message)
                outcome = ""
            has_it = outcome in steering.taken
            await store(answer.number, has_it)
        finally:
            answer.stored.set()
            del self._answers[key]
        return has_it

    def on_answer(self, key: str, number: int) -> bool:
        """Takes the number of an answer's line, unless the turn has ended before. The line counts as received when its
        effect is stored; the message that the agent is writing ends here."""
        answer = self._answers.get(key)
        if answer is None or self._recorder.answered:
            return False
        answer.number = number
        self._recorder.close_text()
        return True

    async def settled(self, key: str) -> None:
        """Waits until the effect of an answer is stored."""
        answer = self._answers.get(key)
        if answer is not None:
            await answer.stored.wait()
