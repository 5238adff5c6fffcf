"""Tries to put sessions where an agent could reach Bough's or git's own files, without a person's confirmation."""

from __future__ import annotations

from pathlib import Path

import pytest

from bough.core.sessions.requests import NewSession
from bough.errors import Conflict, Denied
from bough.model.session import Caller
from tests.support.server import serving

AGENT = Caller(kind="session", id="01a1e48b-4217-7210-bec1-dc1cfda445b4")


async def test_a_folder_around_the_data_folder(tmp_path: Path) -> None:
    """W3: A session in a folder that contains the data folder needs a person's confirmation, not an agent's."""
    async with serving(tmp_path, workspace_root=str(tmp_path)) as server:
        repo = await server.client.repo(tmp_path)
        create = server.services.sessions.create
        for caller in (Caller(), AGENT):
            with pytest.raises(Conflict, match="contains Bough's data folder"):
                await create(caller, NewSession(repo_id=repo["id"], agent="demo"))
        with pytest.raises(Denied, match="Only a person"):
            await create(AGENT, NewSession(repo_id=repo["id"], agent="demo", confirm_folder=True))
        session = await server.client.session(repo["id"], agent="demo", confirmFolder=True)
        assert session["cwd"] == str(tmp_path)


async def test_a_folder_of_git(tmp_path: Path) -> None:
    """W3: A session in `.git` or in a bare repository needs a person's confirmation."""
    async with serving(tmp_path) as server:
        folder = server.repo()
        repo = await server.client.repo(folder)
        for name in (".git", ".git/hooks"):
            with pytest.raises(Conflict, match="belongs to git"):
                await server.services.sessions.create(Caller(), NewSession(repo_id=repo["id"], folder=name))
        assert (await server.client.session(repo["id"], folder=".git", confirmFolder=True))["cwd"].endswith("/.git")


async def test_the_home_folder_warns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """W3: A session in the home folder itself is created with a warning."""
    async with serving(tmp_path) as server:
        folder = server.repo()
        repo = await server.client.repo(folder)
        assert (await server.client.session(repo["id"]))["warnings"] == []
        monkeypatch.setenv("HOME", str(folder))
        (warning,) = (await server.client.session(repo["id"]))["warnings"]
        assert "your home folder" in warning
