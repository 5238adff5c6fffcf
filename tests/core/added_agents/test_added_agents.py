"""Tests that admins add agents from a registry's entry at a running server, and remove them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.agents.registry.test_read_entry import ENTRY
from tests.support.people import as_user
from tests.support.server import Running, serving

TEXT = json.dumps(ENTRY)


def program(folder: Path, name: str, mark: Path) -> None:
    """Writes a program that leaves a mark if it is run."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\necho ran >> {mark}\n")
    (folder / name).chmod(0o755)


async def named(server: Running, name: str) -> dict[str, Any] | None:
    rows = (await server.client.get("/api/agents"))["agents"]
    return next((row for row in rows if row["name"] == name), None)


async def test_an_agent_is_added_and_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A5: An added agent is listed at once and after a restart, with what is known about it; nothing is run meanwhile.
    It is replaced only on request, and removed again."""
    mark = tmp_path / "ran"
    program(tmp_path / "bin", "npx", mark)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    async with serving(tmp_path) as server:
        added = await server.client.post("/api/agents", {"entry": TEXT, "idempotencyKey": "k"}, expect=201)
        assert (added["name"], added["how"], added["version"], added["defaultMode"]) == (
            *("swift-agent", "npx", "1.2.3"),
            "ask",
        )
        assert added["registry"]["license"] == "MIT"
        assert added["modes"] == {}
        assert (await server.client.post("/api/agents", {"entry": TEXT, "idempotencyKey": "k"}, expect=201)) == added
        again = await server.client.post("/api/agents", {"entry": TEXT}, expect=409)
        assert again["error"]["code"] == "agent_exists"
        newer = json.dumps(ENTRY | {"version": "1.3.0", "distribution": {"npx": {"package": "@swift/agent@1.3.0"}}})
        replaced = await server.client.post("/api/agents", {"entry": newer, "replace": True}, expect=201)
        assert replaced["version"] == "1.3.0"
        # It would have to be downloaded to be asked.
        assert (await server.client.post("/api/agents/swift-agent/offer", {}, expect=202))["checking"] is False
        actions = [entry["action"] for entry in (await server.client.get("/api/audit"))["entries"]]
        assert actions.count("agent.added") == 2
    async with serving(tmp_path) as server:
        assert (await named(server, "swift-agent") or {})["version"] == "1.3.0"
        await server.client.call("DELETE", "/api/agents/swift-agent")
        assert await named(server, "swift-agent") is None
    assert not mark.exists()
    assert not list((tmp_path / "data" / "agents").iterdir())


async def test_who_may_add_what(server: Running) -> None:
    """A5: Only admins add and remove agents. Names that Bough or a person's own file describes are refused, and
    neither is removed."""
    async with as_user(server, "olga", "operator") as operator:
        refused = await operator.client.post("/api/agents", {"entry": TEXT}, expect=403)
        assert refused["error"]["code"] == "role_too_low"
    own = server.data / "agents"
    own.mkdir(exist_ok=True)
    (own / "mine.toml").write_text('title = "Mine"\ncommand = ["mine"]')
    for name in ("claude-code", "demo", "mine"):
        body = {"entry": json.dumps(ENTRY | {"id": name}), "replace": True}
        assert (await server.client.post("/api/agents", body, expect=409))["error"]["code"] == "agent_exists"
    answer = await server.client.http.delete("/api/agents/demo")
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "agent_not_added")
    assert (own / "mine.toml").read_text().startswith('title = "Mine"')
    nothing = await server.client.post("/api/agents", {}, expect=400)
    assert nothing["error"]["code"] == "agent_entry_missing"
    unset = await server.client.post("/api/agents", {"name": "swift-agent"}, expect=400)
    assert unset["error"]["code"] == "no_registry"


async def test_a_registry_of_the_setting(tmp_path: Path) -> None:
    """A5: A name is looked up in the registry's document that the setting names."""
    document = tmp_path / "registry.json"
    document.write_text(json.dumps({"version": "1.0.0", "agents": [ENTRY]}))
    async with serving(tmp_path, agent_registry=str(document)) as server:
        added = await server.client.post("/api/agents", {"name": "swift-agent"}, expect=201)
        assert added["title"] == "Swift Agent"
        missing = await server.client.post("/api/agents", {"name": "none"}, expect=404)
        assert missing["error"]["code"] == "registry_agent_not_found"
