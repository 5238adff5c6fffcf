"""Tests the advice about a node that is too old for an agent."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bough.agents.catalog.entry import CatalogEntry
from bough.agents.catalog.node_version import node_advice
from tests.support.eventually import eventually
from tests.support.server import serving

ENTRY = CatalogEntry(name="bird", title="Bird", command=["bird"])


def _executable(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def _package(folder: Path, engines: str) -> Path:
    """Makes a package with a program for node."""
    program = _executable(folder / "package" / "bin" / "bird.js", "#!/usr/bin/env node\nnonsense\n")
    (folder / "package" / "package.json").write_text(f'{{"version": "1", "engines": {{"node": "{engines}"}}}}')
    return program


def _node(folder: Path, version: str, then: str = "") -> Path:
    return _executable(folder / "node", f'#!/bin/sh\nif [ "$1" = --version ]; then echo {version}; exit; fi\n{then}\n')


@pytest.mark.parametrize(
    ("engines", "version", "advice"),
    [
        (">=22.5", "v18.19.1", "Bird runs on Node.js 22.5 or newer, but {node} is version 18.19.1."),
        ("^20.10.0 || >=22", "v18.0.0", "Bird runs on Node.js 20.10.0 or newer, but {node} is version 18.0.0."),
        (">=22", "v22.0.0", ""),
        ("*", "v10.0.0", ""),
        (">=22", "nonsense", ""),
    ],
)
def test_an_old_node_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engines: str, version: str, advice: str
) -> None:
    """C1: A program that needs a newer node than the server's says so, with both versions and the path."""
    node = _node(tmp_path / "bin", version)
    monkeypatch.setenv("PATH", f"{node.parent}{os.pathsep}/usr/bin:/bin")
    sentence = node_advice(ENTRY, str(_package(tmp_path, engines)), str(tmp_path / "work"), {})
    assert sentence.startswith(advice.format(node=node)) and bool(sentence) == bool(advice)


def test_nothing_of_a_session_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """C1: No node from a session's folder, its PATH or a relative path is run to learn its version."""
    work = tmp_path / "work"
    mark = tmp_path / "was-run"
    _executable(work / "bin" / "node", f"#!/bin/sh\ntouch {mark}\necho v1.0.0\n")
    outside = tmp_path / "linked"
    outside.mkdir()
    (outside / "node").symlink_to(work / "bin" / "node")
    program = str(_package(tmp_path, ">=22"))
    monkeypatch.chdir(work)
    for path in (str(work / "bin"), "bin", "./bin", str(outside)):
        monkeypatch.setenv("PATH", path)
        assert "no `node` on its PATH" in node_advice(ENTRY, program, str(work), {})
    node = _node(tmp_path / "server", "v18.0.0")
    monkeypatch.setenv("PATH", str(node.parent))
    assert node_advice(ENTRY, program, str(work), {"PATH": str(work / "bin")}) == ""
    assert not mark.exists()
    native = _executable(tmp_path / "native", "\x7fELF")
    assert node_advice(ENTRY, str(native), str(work), {}) == ""


async def test_an_agent_that_does_not_start_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """C1: The turn of an agent that does not start on an old node fails with the version to install."""
    node = _node(tmp_path / "bin", "v18.19.1", "echo 'SyntaxError: Unexpected token' >&2; exit 1")
    program = _package(tmp_path, ">=22")
    monkeypatch.setenv("PATH", f"{node.parent}{os.pathsep}{os.environ['PATH']}")
    agents = tmp_path / "data" / "agents"
    agents.mkdir(parents=True)
    (agents / "bird.toml").write_text(f'title = "Bird"\ncommand = ["{program}"]\n')
    async with serving(tmp_path, sandbox="off") as server:
        repo = await server.client.repo(server.repo())
        session = await server.client.session(repo["id"], agent="bird")
        task_id = await server.client.prompt(session["id"], "hello")

        async def failed() -> str | None:
            task = await server.client.get(f"/api/tasks/{task_id}")
            return task["error"]["message"] if task["status"] == "failed" else None

        message = await eventually(failed)
    assert "SyntaxError: Unexpected token" in message
    assert f"Bird runs on Node.js 22 or newer, but {node} is version 18.19.1." in message
