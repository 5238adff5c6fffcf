"""Defines what a running agent needs from whoever decides its requests; `questions.permissions` does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from bough.core.approvals.ask import Elicitation, Question
from bough.core.live_agents.agent_settings import SettingChange

if TYPE_CHECKING:
    from bough.core.live_agents.agent import Agent


class PermissionHandler(Protocol):
    """Answers an agent's permission requests."""

    async def ask(self, agent: Agent, question: Question) -> None:
        """Decides a permission request, or stores it for a person."""
        ...

    async def ask_question(self, agent: Agent, elicitation: Elicitation) -> None:
        """Stores a question for a person."""
        ...

    async def withdraw(self, agent: Agent, approval_id: str) -> None:
        """Withdraws a request that the agent has cancelled."""
        ...

    async def complete_question(self, agent: Agent, elicitation_id: str) -> None:
        """Ends a question about an address, because the agent says that it is done."""
        ...

    async def moved(self, agent: Agent, move: SettingChange) -> None:
        """Handles a change that the agent made to its own rights."""
        ...

    async def connect(self, agent: Agent, host: str) -> None:
        """Decides whether a host may be reached that is not on the list of the agent's sandbox."""
        ...
