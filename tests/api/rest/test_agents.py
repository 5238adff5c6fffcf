"""Tests `GET /api/agents`, which tells a client about each agent before it creates a session."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bough import __version__
from bough.agents.catalog import load_catalog
from bough.model.session import MODES
from tests.support.server import Running, serving


async def listed(server: Running) -> dict[str, dict[str, Any]]:
    return {agent["name"]: agent for agent in (await server.client.get("/api/agents"))["agents"]}


async def test_agents_are_listed_with_their_modes(server: Running) -> None:
    """A2, P1: Lists each agent with how it can be started and what every mode means for it."""
    agents = await listed(server)
    catalog = load_catalog(server.data)
    assert set(agents) == set(catalog.names())
    for name, agent in agents.items():
        entry = catalog.get(name)
        assert list(agent["modes"]) == list(MODES)
        for mode in MODES:
            known = entry.mode(mode)
            assert agent["modes"][mode] == {"mode": known.mode, "start": known.start, "note": known.note}
        assert agent["how"] in ("installed", "npx", "missing")
        assert agent["installed"] == (agent["how"] == "installed")
        assert (agent["program"] is None) == (agent["how"] == "missing")
        assert agent["pinned"] == (entry.package.version if entry.package else None)
        assert agent["login"]["how"] == entry.login.how
        assert agent["resumable"] == entry.resume
        assert agent["defaultMode"] == entry.default_mode
    assert (agents["codex"]["defaultMode"], agents["demo"]["defaultMode"]) == ("auto", "acceptEdits")
    for name in ("demo", "terminal"):
        assert agents[name]["version"].startswith(__version__)
        assert (agents[name]["login"]["found"], agents[name]["pinned"], agents[name]["how"]) == (
            None,
            None,
            "installed",
        )


async def test_lookup_of_agent_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """O1, A2: Every request looks up each agent's program, on the PATH or through npx, its API key, and the default
    agent."""
    programs = tmp_path / "bin"
    programs.mkdir()
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("GEMINI_API_KEY", raising=False)
    async with serving(tmp_path) as server:
        gemini = (await listed(server))["gemini"]
        assert (gemini["how"], gemini["program"], gemini["version"]) == ("missing", None, None)
        assert gemini["install"] == "Install it with: bough agents install gemini"
        _program(programs / "npx")
        gemini = (await listed(server))["gemini"]
        assert (gemini["how"], gemini["installed"], gemini["version"]) == ("npx", False, gemini["pinned"])
        assert gemini["command"][0] == str(programs / "npx") and gemini["login"]["found"] is False
        _program(programs / "gemini")
        monkeypatch.setenv("GEMINI_API_KEY", "secret-key")
        answer = await server.client.http.get("/api/agents")
        assert "secret-key" not in answer.text
        agents = await listed(server)
        assert (agents["gemini"]["how"], agents["gemini"]["login"]["found"]) == ("installed", True)
        assert agents["gemini"]["program"] == str(programs / "gemini")
        assert [name for name, agent in agents.items() if agent["isDefault"]] == ["gemini"]


async def test_a_broken_file_is_listed(tmp_path: Path) -> None:
    """O1, A2: Lists a broken agent file with the same fields as an agent, an error, and no modes."""
    (tmp_path / "data" / "agents").mkdir(parents=True)
    (tmp_path / "data" / "agents" / "claude-code.toml").write_text('extends = "claude-code"\ncolour = 3')
    (tmp_path / "data" / "agents" / "mine.toml").write_text("command = 3")
    async with serving(tmp_path) as server:
        agents = (await server.client.get("/api/agents"))["agents"]
        mine = next(item for item in agents if item["name"] == "mine")
        assert mine.keys() == agents[0].keys()
        assert (mine["how"], mine["modes"], mine["installed"]) == ("missing", {}, False)
        assert "mine.toml" in mine["error"]
        # The agent that the file was meant to override is listed unchanged, next to the broken entry.
        assert [item["error"] is None for item in agents if item["name"] == "claude-code"] == [True, False]


def _program(path: Path) -> None:
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
