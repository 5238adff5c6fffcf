"""Reads the list of steps out of a tool call by which an agent writes its own plan, for agents that send no `plan`
updates. The catalog names these tools (`plans` of `[tools]`)."""

from __future__ import annotations

from typing import Any, cast

from bough.agents.catalog.tool_vocabulary import ToolVocabulary

# Names under which agents put the text of a step.
TEXTS = ("content", "description", "text", "step", "title", "subject")
STATUSES = ("pending", "in_progress", "completed")
PRIORITIES = ("high", "medium", "low")
# ACP has no status for a step that was given up, so it is left out.
GIVEN_UP = ("cancelled", "canceled", "deleted")


def plan_steps(vocabulary: ToolVocabulary, body: dict[str, Any]) -> list[dict[str, Any]] | None:
    """Returns the steps that a folded tool call sets; None if the call is about something else or has failed."""
    if not vocabulary.plans or body["result"].get("status") == "failed":
        return None
    argument = next((vocabulary.plans[name] for name in _names(vocabulary, body) if name in vocabulary.plans), None)
    items: Any = body["args"].get(argument) if argument is not None else None
    if not isinstance(items, list):
        return None
    steps = [_step(item) for item in cast("list[Any]", items)]
    return [step for step in steps if step is not None]


def _names(vocabulary: ToolVocabulary, body: dict[str, Any]) -> list[str]:
    """Returns what may be the tool's name. A title is good enough here, since it decides about no rights."""
    mark = vocabulary.name_ends_id_at
    in_id = str(body.get("toolCallId") or "").partition(mark)[0] if mark else ""
    return [str(name) for name in (body.get("name"), in_id, body.get("firstTitle"), body.get("title")) if name]


def _step(item: Any) -> dict[str, Any] | None:
    """Returns a step in the form of ACP's plans; None if it has no text or was given up."""
    if isinstance(item, str):
        item = {"content": item}
    if not isinstance(item, dict):
        return None
    fields = cast("dict[str, Any]", item)
    text = next((value for name in TEXTS if isinstance(value := fields.get(name), str) and value.strip()), None)
    if text is None or fields.get("status") in GIVEN_UP:
        return None
    status, priority = fields.get("status"), fields.get("priority")
    return {
        "content": text,
        "status": status if status in STATUSES else "pending",
        "priority": priority if priority in PRIORITIES else "medium",
    }
