"""Tests `bough repo find`, `clone`, `clones` and `cancel-clone`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.api.cli.cli_program import Cli
from tests.support.eventually import eventually
from tests.support.repos import make_repo
from tests.support.server import Running
from tests.support.slow_remote import slow_remote


async def test_repositories_are_found_and_cloned(server: Running, cli: Cli, tmp_path: Path) -> None:
    """R7, R8, L4: A person finds repositories that are not registered, and clones others by their address."""
    near, far = server.repo("near"), make_repo(tmp_path / "far.git")
    listed = await cli("repo", "find")
    assert (listed.code, "main" in listed.out, "bough repo add" in listed.err) == (0, True, True)
    await cli("repo", "add", str(near))
    assert "No unregistered repositories" in (await cli("repo", "find")).out
    repositories = json.loads((await cli("repo", "find", "--all", "--json")).out)["repos"]
    assert [(row["path"], row["repoId"] is not None) for row in repositories] == [(str(near), True)]
    cloned = await cli("repo", "clone", str(far), str(server.root / "copy"), "--name", "Far")
    assert (cloned.code, "copy" in cloned.out) == (0, True)
    assert "Cloning" in cloned.err
    assert "Far" in (await cli("repo", "list")).out
    again = await cli("repo", "clone", str(far), str(server.root / "copy"))
    assert (again.code, "already exists" in again.err) == (1, True)
    shown = json.loads((await cli("repo", "clones", "--json")).out)["clones"]
    assert [(row["state"], row["name"]) for row in shown] == [("done", "Far")]
    assert "done" in (await cli("repo", "clones")).out
    (tmp_path / "nothing").mkdir()
    failed = await cli("repo", "clone", str(tmp_path / "nothing"))
    assert (failed.code, "does not exist" in failed.err) == (1, True)


async def test_a_clone_is_cancelled(server: Running, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """R7, L4: A clone that nobody waits for is listed with its progress, and cancelled by a part of its id."""
    remote = slow_remote(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    begun = await cli("repo", "clone", remote.address, "--no-wait")
    assert begun.code == 0
    await eventually(remote.is_stopped, "the transfer has begun")
    listed = (await cli("repo", "clones")).out
    assert "connecting" in listed or "receiving" in listed
    ended = await cli("repo", "cancel-clone", begun.out.split()[0])
    assert (ended.code, "cancelled" in ended.out) == (0, True)
    assert list(server.root.iterdir()) == []
