"""Builds the prompt for the next attempt of a turn that was cut off: the quoted task and the request to continue."""

from __future__ import annotations

from collections.abc import Sequence

from bough.agents.acp.types import Block, TextBlock
from bough.core.state.reports import quote_sessions
from bough.model.task import Task

GO_ON = "What you had started may be done, half done or not done: check first, then finish the task."
CONTINUE = f"You were interrupted while working on the task quoted above: the agent's process ended. {GO_ON}"
AFTER_LIMIT = (
    "You were interrupted while working on the task quoted above: a usage or rate limit was reached, which should be "
    f"over now. {GO_ON}"
)
CUT_OFF = "The task that you were cut off from:"
MEANWHILE = "While you worked on it, you were also told:"


def continuation(task: Task, steered: Sequence[Task] = (), *, after_limit: bool = False) -> list[Block]:
    """Returns the quoted task with what was sent into its turn, then the request to continue."""
    quotations = [_marked(quoted(task.prompt), task), *(_marked(quoted(row.prompt, MEANWHILE), row) for row in steered)]
    request = AFTER_LIMIT if after_limit else CONTINUE
    return [*(TextBlock(text=text) for text in quotations), TextBlock(text=request)]


def quoted(prompt: str, introduction: str = CUT_OFF) -> str:
    """Returns a prompt as a quotation, by default the one of the interrupted task."""
    return f"{introduction}\n{quote_sessions.quoted(prompt)}"


def _marked(quotation: str, task: Task) -> str:
    """Marks the quotation of a prompt that another session's agent wrote. Reports of children mark themselves."""
    if task.source_session_id is None or task.source == "callback":
        return quotation
    mark = f"This was written by the agent of another session ({task.source_session_id}). {quote_sessions.NO_CONSENT}"
    return f"{quotation}\n{mark}"
