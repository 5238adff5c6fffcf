"""What can go wrong with an agent, as kinds of `AgentFailed` that a caller can tell apart.
It leaves what to do about it (another attempt, an answer to a person) to the core."""

import os
import shlex
from collections.abc import Sequence
from typing import Any

from bough.errors import AgentFailed

NAME_LENGTH = 80
"""A command is named in a sentence; beyond this length the sentence is no longer read."""


class AgentGone(AgentFailed):
    """The agent's process, or our line to it, is no longer there."""


class AgentTimeout(AgentFailed):
    """The agent did not answer in time."""


class AgentRefused(AgentFailed):
    """The agent answered a request with a JSON-RPC error: `rpc_code`, and `data` as it was sent."""

    def __init__(
        self, code: str, message: str, *, agent_message: str, rpc_code: int, data: Any = None, **details: Any
    ) -> None:
        super().__init__(code, message, rpc_code=rpc_code, data=data, **details)
        # The agent's own words, without the sentence around them.
        self.agent_message = agent_message
        self.rpc_code = rpc_code
        self.data = data


def command_name(command: Sequence[str]) -> str:
    """How a sentence names an agent: its command without the folder of the program."""
    name = shlex.join([os.path.basename(command[0]), *command[1:]])
    return name if len(name) <= NAME_LENGTH else name[: NAME_LENGTH - 1] + "…"
