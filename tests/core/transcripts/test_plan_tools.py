"""Tests that calls of an agent's todo tool become the transcript's plan."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bough.agents.catalog import load_catalog
from bough.agents.catalog.tool_vocabulary import ToolVocabulary
from bough.core.transcripts.fold import Fold

OPENCODE = load_catalog(Path("/nowhere")).get("opencode").tools
TODOS = [
    {"id": "1", "content": "First", "status": "in_progress", "priority": "high"},
    {"id": "2", "content": "Second", "status": "pending", "priority": "low"},
]


def plans(fold: Fold) -> list[list[dict[str, Any]]]:
    return [entry.body["steps"] for entry in fold.dirty if entry.kind == "plan"]


def test_a_todo_call_sets_the_plan() -> None:
    """R4: The list of the call becomes the plan, and the call itself is kept."""
    fold = Fold(OPENCODE)
    start: dict[str, Any] = {
        "sessionUpdate": "tool_call",
        "toolCallId": "a",
        "title": "todowrite",
        "kind": "other",
        "rawInput": {},
    }
    fold.tool(start)
    assert plans(fold) == []
    fold.tool({"sessionUpdate": "tool_call_update", "toolCallId": "a", "rawInput": {"todos": TODOS}})
    first, second = ({name: item[name] for name in ("content", "status", "priority")} for item in TODOS)
    assert plans(fold) == [[first, second]]
    # Its title is replaced when the call has ended, and a later call replaces the list.
    fold.tool({"sessionUpdate": "tool_call_update", "toolCallId": "a", "title": "2 todos", "status": "completed"})
    fold.tool({**start, "toolCallId": "b"})
    done = [{**item, "status": "completed"} for item in TODOS]
    fold.tool({"sessionUpdate": "tool_call_update", "toolCallId": "b", "rawInput": {"todos": done}})
    assert [[step["status"] for step in steps] for steps in plans(fold)] == [["completed", "completed"]]
    assert fold.tool_count == 2


@pytest.mark.parametrize(
    ("title", "arguments"),
    [
        ("bash", {"todos": TODOS}),
        ("todowrite", {"other": TODOS}),
        ("todowrite", {"todos": "First"}),
        ("todowrite", {}),
    ],
)
def test_other_calls_set_no_plan(title: str, arguments: dict[str, Any]) -> None:
    """R4: Only the tool and the argument that the catalog names hold a plan."""
    fold = Fold(OPENCODE)
    fold.tool({"sessionUpdate": "tool_call", "toolCallId": "a", "title": title, "rawInput": arguments})
    assert plans(fold) == []


def test_odd_steps() -> None:
    """R4: Reads the usual names of a step's text, and leaves out what has no text or was given up."""
    vocabulary = ToolVocabulary(plans={"todo": "items"})
    items = ["One", {"description": "Two", "status": "done"}, {"text": " "}, 7, {"content": "x", "status": "cancelled"}]
    fold = Fold(vocabulary)
    fold.tool({"toolCallId": "a", "name": "todo", "rawInput": {"items": items}})
    assert [[(step["content"], step["status"]) for step in steps] for steps in plans(fold)] == [
        [("One", "pending"), ("Two", "pending")]
    ]
