"""Defines the ways in which an agent can fail, as subclasses of `AgentFailed`."""

import os
import shlex
from collections.abc import Sequence
from typing import Any

from bough.errors import AgentFailed

NAME_LENGTH = 80
"""Characters of a command in an error message; longer ones would hide the message."""


class _Unanswered(AgentFailed):
    """The agent gave no answer, so its own words do not tell the cause."""

    def add(self, advice: str) -> None:
        """Adds what to do to the message."""
        if advice:
            self.message = f"{self.message.rstrip('.')}. {advice}"
            self.args = (self.message,)


class AgentGone(_Unanswered):
    """The agent's process, or the link to it, is gone."""


class KeeperGone(AgentGone):
    """The keeper is dead or never started."""


class AgentTimeout(_Unanswered):
    """The agent did not answer in time."""


class AgentRefused(AgentFailed):
    """The agent answered a request with a JSON-RPC error: `rpc_code` and its `data`."""

    def __init__(
        self, code: str, message: str, *, agent_message: str, rpc_code: int, data: Any = None, **details: Any
    ) -> None:
        super().__init__(code, message, rpc_code=rpc_code, data=data, **details)
        # The agent's own words, without the sentence around them.
        self.agent_message = agent_message
        self.rpc_code = rpc_code
        self.data = data


class AgentLimited(AgentFailed):
    """A limit of the agent's account or of its model's service ended the turn. `ends_at` is when the agent says that it
    ends; `is_usage` tells that the account's allowance is used up, rather than that there were too many requests."""

    def __init__(self, code: str, message: str, *, is_usage: bool, ends_at: str | None, **details: Any) -> None:
        super().__init__(code, message, is_usage=is_usage, ends_at=ends_at, **details)
        self.is_usage = is_usage
        self.ends_at = ends_at


def command_name(command: Sequence[str]) -> str:
    """Returns the name of an agent in messages: its command without the program's folder."""
    name = shlex.join([os.path.basename(command[0]), *command[1:]])
    return name if len(name) <= NAME_LENGTH else name[: NAME_LENGTH - 1] + "…"
