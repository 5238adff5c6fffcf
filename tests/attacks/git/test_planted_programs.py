"""Programs that an agent leaves in its folder do not become ours, wherever our PATH leads."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bough.git.run import git
from bough.search_path import find_own_program, safe_entries, safe_lists
from tests.support.repos import make_repo


def plant(folder: Path, name: str) -> Path:
    """Puts a program into a folder; returns the file that it writes when it runs."""
    folder.mkdir(parents=True, exist_ok=True)
    mark = folder / "ran"
    (folder / name).write_text(f"#!/bin/sh\ntouch {mark}\n")
    (folder / name).chmod(0o755)
    return mark


@pytest.mark.parametrize("entry", ["", ".", "tools", "{repo}/tools", "{repo}"])
async def test_git_is_not_a_program_of_the_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entry: str
) -> None:
    """W3: Relative and empty entries of PATH, which lead into the folder where git runs, and entries inside a working
    copy are not searched for git."""
    repo = make_repo(tmp_path / "repo")
    marks = [plant(folder, "git") for folder in (repo, repo / "tools")]
    monkeypatch.setenv("PATH", f"{entry.format(repo=repo)}:{os.environ['PATH']}")
    assert await git(str(repo), "rev-parse", "--is-inside-work-tree") == "true\n"
    assert not any(mark.exists() for mark in marks)


@pytest.mark.parametrize("entry", ["", "tools", "{repo}/tools"])
def test_the_sandbox_is_not_a_program_of_the_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entry: str
) -> None:
    """S6: The same holds for the program that confines agents."""
    repo = make_repo(tmp_path / "repo")
    plant(repo / "tools", "bwrap-of-a-test")
    plant(tmp_path / "own", "bwrap-of-a-test")
    monkeypatch.chdir(repo)
    monkeypatch.setenv("PATH", f"{entry.format(repo=repo)}:{tmp_path / 'own'}")
    assert find_own_program("bwrap-of-a-test") == str(tmp_path / "own" / "bwrap-of-a-test")


def test_safe_lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """W3: Libraries and modules are not looked up there either. A home folder that is kept in git is no such folder."""
    home = make_repo(tmp_path / "home")
    repo = make_repo(home / "project")
    monkeypatch.setenv("HOME", str(home))
    safe_entries.cache_clear()
    environ = {"PATH": f":{repo}/bin", "LD_LIBRARY_PATH": f"{home}/lib::{repo}/lib", "PYTHONPATH": ".", "A": ":"}
    assert safe_lists(environ) == {"PATH": os.defpath, "LD_LIBRARY_PATH": f"{home}/lib", "A": ":"}
    safe_entries.cache_clear()
