"""Defines how an agent takes a prompt in the middle of its turn, where it can."""

from __future__ import annotations

from typing import Any

import msgspec


class SteeringRequest(msgspec.Struct, rename="kebab", forbid_unknown_fields=True, kw_only=True):
    """The request that puts a prompt into the running turn, and the answers that mean that the agent has it.

    Any other answer, and every error, means that the agent has not taken the prompt.
    """

    # The method of the request, with the parameters of `session/prompt`. Empty if the agent takes none during a turn.
    method: str = ""
    # `_meta` of the request: asks the agent to refuse a prompt that comes after the turn's end.
    meta: dict[str, Any] = {}
    # The values of `outcome` in the answer that mean that the agent has the prompt.
    taken: list[str] = []
