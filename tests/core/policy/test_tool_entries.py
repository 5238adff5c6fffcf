"""Tests tool calls in the transcript, which agents report piece by piece."""

from __future__ import annotations

from typing import Any

from bough.core.transcripts.fold import CUT_OFF, DENIED, Fold

DIFF = {"type": "diff", "path": "/repo/a.txt", "oldText": "", "newText": "alpha"}
WORD = {"type": "content", "content": {"type": "text", "text": "Done."}}


def test_a_diff_stays_when_a_call_ends_with_text() -> None:
    """R4: The diff of a call stays visible when the agent ends it with a text; a newer diff replaces it."""
    fold = Fold()
    entry = fold.tool({"toolCallId": "1", "status": "pending", "content": [DIFF]})
    fold.tool({"toolCallId": "1", "status": "completed", "content": [WORD]})
    assert entry.body["result"]["content"] == [WORD, DIFF]
    newer = DIFF | {"newText": "beta"}
    fold.tool({"sessionUpdate": "tool_call_update", "toolCallId": "1", "content": [newer]})
    assert entry.body["result"]["content"] == [newer]


def test_a_denied_call_is_closed_at_once() -> None:
    """P1: A denied call is closed even if the agent reports nothing more about it."""
    fold = Fold()
    result = _call(fold, "pending")
    fold.deny("1")
    fold.deny("unheard of")
    fold.close()
    assert result == {"status": "failed", "note": DENIED, "denied": True}


def test_updates_after_a_denial_are_kept() -> None:
    """R4: If the agent continues with a denied call, its report counts; an ended call stays as it is."""
    fold = Fold()
    result = _call(fold, "in_progress")
    fold.deny("1")
    fold.tool({"sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "completed"})
    fold.deny("1")
    assert result == {"status": "completed"}


def test_a_call_that_was_interrupted() -> None:
    """R4: Whether a call that was open when its turn ended took effect is unknown."""
    fold = Fold()
    result = _call(fold, "in_progress")
    fold.close()
    assert (result["status"], result["note"]) == ("failed", CUT_OFF)


def _call(fold: Fold, status: str) -> dict[str, Any]:
    return fold.tool({"toolCallId": "1", "status": status}).body["result"]
