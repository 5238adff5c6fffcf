"""Attacks through `.bough.toml` and `.worktreeinclude`, which whoever can write to a repository writes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bough.core.worktrees.config.include import ignored_files
from bough.core.worktrees.config.parse import parse_config
from bough.core.worktrees.config.read import LARGEST_FILE, read_config
from tests.api.worktree_helpers import at, commit, made, registered
from tests.support.repos import git, make_repo
from tests.support.server import Running


@pytest.mark.parametrize("name", [".bough.toml", ".worktreeinclude"])
def test_a_file_that_leads_elsewhere_is_not_read(tmp_path: Path, name: str) -> None:
    """W5: Links, pipes, folders and huge files are named as problems; nothing of them is shown, and nothing waits."""
    secret = tmp_path / "secret"
    secret.write_text("my-secret = 1\n")
    for place in ("link", "pipe", "folder", "huge", "binary"):
        folder = tmp_path / place
        folder.mkdir()
        if place == "link":
            (folder / name).symlink_to(secret)
        elif place == "pipe":
            os.mkfifo(folder / name)
        elif place == "folder":
            (folder / name).mkdir()
        else:
            (folder / name).write_bytes(b"#" * (LARGEST_FILE + 1) if place == "huge" else b"\n\xff\xfe")
        config = read_config(str(folder))
        assert (config.digest, len(config.problems)) == (None, 1), place
        assert "my-secret" not in config.problems[0].text


@pytest.mark.parametrize(
    "text",
    [
        'setup = "x\\u0000y"',
        "setup = [1]",
        "setup = {a = 1}",
        "setup = [" + '"x", ' * 21 + "]",
        "run = [1]",
        '[run]\n"../../x" = "y"',
        '[run]\nx = { command = "y", port = 10 }',
        '[run]\nx = { command = "y", port = true }',
        '[run]\nx = { command = "y", env = "z" }',
        "ports = 100000",
        "ports = true",
        'mode = "root"',
        'agent = "../x"',
        'sandbox = "off"',
        'copies = ["a\\nb"]',
        'setup = "' + "x" * 5000 + '"',
    ],
)
def test_wrong_values_do_not_count(text: str) -> None:
    """W5: A wrong value is left out and reported; in particular, no entry changes the sandbox."""
    config = parse_config(text)
    assert config.problems
    assert not (config.setup or config.copies or config.run or config.agent or config.mode)
    assert config.ports == 4


async def test_patterns_reach_only_ignored_files_of_the_repository(tmp_path: Path) -> None:
    """W5, W3: No pattern leads out of the working copy, into git's data or into other worktrees."""
    repo = make_repo(tmp_path / "repo")
    commit(repo, ".gitignore", ".env\n.worktrees\n")
    (tmp_path / "outside").write_text("x")
    (repo / ".env").write_text("x")
    (repo / ".worktrees" / "other").mkdir(parents=True)
    (repo / ".worktrees" / "other" / ".env").write_text("x")
    patterns = ["**", "../outside", "/etc/passwd", ".git/config", "*", ".worktrees/**"]
    assert await ignored_files(str(repo), patterns) == [".env"]


async def test_hidden_characters_of_a_command_are_shown(server: Running) -> None:
    """W5: A person who decides sees every character of a command."""
    repo = await registered(server)
    at(repo["path"], ".bough.toml").write_text('setup = "echo \u202e safe"\n', "utf-8")
    report = await server.client.get(f"/api/repos/{repo['id']}/config")
    assert report["setup"] == ["echo \\u202e safe"]


async def test_a_branch_brings_its_own_commands(server: Running) -> None:
    """W5: Commands that were allowed for one branch do not let another branch run its own."""
    repo = await registered(server)
    folder = at(repo["path"])
    commit(folder, ".bough.toml", 'setup = "true"\n')
    path = f"/api/repos/{repo['id']}/config"
    digest = (await server.client.get(path))["digest"]
    await server.client.call("PATCH", path, json={"digest": digest, "allowed": True})
    git(folder, "checkout", "--quiet", "-b", "hostile")
    commit(folder, ".bough.toml", 'setup = "touch /tmp/stolen-by-branch; touch stolen"\n')
    git(folder, "checkout", "--quiet", "main")
    worktree = await made(server.client, repo, "hostile")
    assert not at(worktree["path"], "stolen").exists()
    assert worktree["setupError"].startswith("No person has allowed")
    assert (await made(server.client, repo, "good"))["setupError"] is None
