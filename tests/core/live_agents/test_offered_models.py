"""Tests that the models and efforts that an agent offers are shown with its sessions (O4)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from bough.agents.acp.answers import read_session
from bough.agents.catalog import load_catalog
from bough.core.live_agents.agent_settings import MOST_OFFERED, offered, with_offered


def option(id: str, *values: str) -> dict[str, Any]:
    choices = [{"value": value, "name": value.upper()} for value in values]
    return {"id": id, "name": id.title(), "type": "select", "currentValue": values[0], "options": choices}


def told(answer: dict[str, Any], agent: str = "demo") -> list[dict[str, Any]]:
    opened = read_session(msgspec.Raw(msgspec.json.encode(answer)), "s")
    return offered(load_catalog(Path("nowhere")).get(agent), opened)


def test_models_and_efforts_are_offered() -> None:
    """O4: Keeps these two with their category and all values; other options stay with the agent."""
    offered = told({"configOptions": [option("model", "a", "b"), option("mode", "x"), option("effort", "low")]})
    assert [(item["id"], item["category"], item["currentValue"]) for item in offered] == [
        ("model", "model", "a"),
        ("effort", "thought_level", "low"),
    ]
    assert offered[0]["options"] == [{"value": "a", "name": "A"}, {"value": "b", "name": "B"}]
    assert told({}) == []
    many = told({"configOptions": [option("model", *(f"m{number}" for number in range(1000)))]})
    assert len(many[0]["options"]) == MOST_OFFERED


def test_models_outside_of_the_options() -> None:
    """O4: Reads models of agents that list them separately, as older ones do."""
    models = {"currentModelId": "a", "availableModels": [{"modelId": "a"}, {"modelId": "b"}, 3]}
    (offered,) = told({"models": models})
    assert (offered["category"], [option["value"] for option in offered["options"]]) == ("model", ["a", "b"])


def test_only_changes_are_written() -> None:
    """O4: The same offer again changes nothing; another replaces its part and keeps the rest."""
    offers = told({"configOptions": [option("model", "a", "b")]})
    assert with_offered(None, offers) == offers
    assert with_offered(offers, offers) is None
    assert with_offered([option("other", "x"), option("model", "a", "b")], offers) is None
    assert with_offered([option("other", "x"), option("model", "a")], offers) == [option("other", "x"), *offers]
    assert with_offered("nonsense", offers) == offers
