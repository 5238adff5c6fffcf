"""Creates repos of several kinds and worktrees for the tests of worktrees."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.api.error_responses import Json
from tests.support.client import Client
from tests.support.repos import git, make_repo
from tests.support.server import Running


def at(*parts: str) -> Path:
    """Returns a path from its parts."""
    return Path(*parts)


async def registered(server: Running, name: str = "repo") -> Json:
    """Registers a new repo."""
    return await server.client.repo(server.repo(name))


async def made(client: Client, repo: Json, branch: str = "feature", **fields: Any) -> Json:
    """Creates a worktree."""
    return await client.post("/api/worktrees", {"repoId": repo["id"], "branch": branch, **fields})


def commit(folder: Path, name: str, text: str = "text\n", message: str | None = None) -> str:
    """Commits one file and returns the commit's sha."""
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, "utf-8")
    git(folder, "add", "--force", name)
    git(folder, "commit", "--quiet", "--message", message or f"Add {name}.")
    return head(folder)


def head(folder: Path, name: str = "HEAD") -> str:
    return git(folder, "rev-parse", name).strip()


def branches(folder: Path) -> list[str]:
    return git(folder, "for-each-ref", "--format=%(refname:short)", "refs/heads").split()


def known_to_git(folder: Path) -> list[str]:
    """Returns the worktrees that git knows, without the main one."""
    listed = git(folder, "worktree", "list", "--porcelain").split("\n")
    return [line.removeprefix("worktree ") for line in listed if line.startswith("worktree ")][1:]


def bare(folder: Path) -> Path:
    """Creates a bare repository with one commit on `main`."""
    source = make_repo(folder.parent / f"{folder.name}-source")
    git(folder.parent, "clone", "--quiet", "--bare", str(source), str(folder))
    return folder


def hook(folder: Path, name: str, text: str) -> None:
    """Adds a hook to the repository."""
    file = folder / ".git" / "hooks" / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"#!/bin/sh\n{text}\n", "utf-8")
    file.chmod(0o755)


def fails(server: Running, table: str, when: str) -> None:
    """Makes the database refuse some changes of a table's rows."""
    _run(server, f"CREATE TRIGGER fails BEFORE UPDATE ON {table} WHEN {when} BEGIN SELECT RAISE(ABORT, 'fails'); END")


def works(server: Running) -> None:
    """Lets the database accept changes again."""
    _run(server, "DROP TRIGGER fails")


def _run(server: Running, statement: str) -> None:
    with closing(sqlite3.connect(server.data / "bough.db", timeout=30)) as database, database:
        database.execute(statement)
