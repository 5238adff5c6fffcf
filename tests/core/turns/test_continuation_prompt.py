"""Tests how a continued turn quotes what the agent was told before."""

from __future__ import annotations

from typing import Any

import pytest

from bough.agents.acp.types import TextBlock
from bough.core.turns.continuation_prompt import continuation
from bough.model.task import Source, Task


@pytest.mark.parametrize("source", ["session", "initial"])
def test_quotations_of_other_sessions_are_marked(source: Source) -> None:
    """Q8: A continued turn quotes every line of what another session's agent wrote, whatever ends the line, and marks
    it, also if it was the first prompt of a session that this agent created."""
    fields: dict[str, Any] = dict.fromkeys(Task.__struct_fields__)
    fields.update(prompt="a\rb\u2028c", source=source, source_session_id="s1")
    task = Task(**fields)
    quotation, request = [block.text for block in continuation(task) if isinstance(block, TextBlock)]
    assert quotation.startswith("The task that you were cut off from:\n> a\n> b\n> c\nThis was written by the agent of")
    assert "s1" in quotation and "cannot approve" in quotation and request.startswith("You were interrupted")
