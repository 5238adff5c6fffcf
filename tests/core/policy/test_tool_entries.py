"""Tool calls in the transcript, as agents tell of them bit by bit."""

from __future__ import annotations

from typing import Any

from bough.core.transcripts.fold import CUT_OFF, DENIED, Fold

DIFF = {"type": "diff", "path": "/repo/a.txt", "oldText": "", "newText": "alpha"}
WORD = {"type": "content", "content": {"type": "text", "text": "Done."}}


def test_a_diff_outlives_a_word_of_success() -> None:
    """R4: what a call has changed stays to be seen when the agent ends it with a text; a newer diff takes its place."""
    fold = Fold()
    entry = fold.tool({"toolCallId": "1", "status": "pending", "content": [DIFF]})
    fold.tool({"toolCallId": "1", "status": "completed", "content": [WORD]})
    assert entry.body["result"]["content"] == [WORD, DIFF]
    newer = DIFF | {"newText": "beta"}
    fold.tool({"sessionUpdate": "tool_call_update", "toolCallId": "1", "content": [newer]})
    assert entry.body["result"]["content"] == [newer]


def test_a_denied_call_is_closed_at_once() -> None:
    """P1: an agent that says no more about a call that was denied does not leave it open."""
    fold = Fold()
    result = _call(fold, "pending")
    fold.deny("1")
    fold.deny("unheard of")
    fold.close()
    assert (result["status"], result["note"]) == ("failed", DENIED)


def test_the_agent_has_the_last_word_about_a_denied_call() -> None:
    """R4: one that goes on with a call nevertheless is told as it says, and one that is over stays as it is."""
    fold = Fold()
    result = _call(fold, "in_progress")
    fold.deny("1")
    fold.tool({"sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "completed"})
    fold.deny("1")
    assert result == {"status": "completed"}


def test_a_call_that_was_cut_off() -> None:
    """R4: of a call that is open when its turn ends nobody knows whether it took effect."""
    fold = Fold()
    result = _call(fold, "in_progress")
    fold.close()
    assert (result["status"], result["note"]) == ("failed", CUT_OFF)


def _call(fold: Fold, status: str) -> dict[str, Any]:
    return fold.tool({"toolCallId": "1", "status": status}).body["result"]
