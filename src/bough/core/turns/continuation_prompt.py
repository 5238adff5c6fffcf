"""Builds the prompt for the next attempt of a turn that was cut off: the quoted task and the request to go on."""

from __future__ import annotations

from bough.agents.acp.types import Block, TextBlock

CONTINUE = (
    "You were interrupted while working on the task quoted above: the agent's process ended. "
    "What you had started may be done, half done or not done: check first, then go on and finish the task."
)


def continuation(prompt: str) -> list[Block]:
    """Returns the quoted task, then the request to continue."""
    return [TextBlock(text=quoted(prompt)), TextBlock(text=CONTINUE)]


def quoted(prompt: str) -> str:
    """Returns the prompt of the interrupted task as a quotation."""
    return "The task that you were cut off from:\n" + "\n".join(f"> {line}" for line in prompt.split("\n"))
