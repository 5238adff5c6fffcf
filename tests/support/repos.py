"""Creates temporary git repositories with the real git."""

from __future__ import annotations

import subprocess
from pathlib import Path

from bough.git.run import environment
from bough.git.safe.permissions import AllowedPrograms, allow

_WHO = {
    "GIT_AUTHOR_NAME": "Bough",
    "GIT_AUTHOR_EMAIL": "bough@example.invalid",
    "GIT_COMMITTER_NAME": "Bough",
    "GIT_COMMITTER_EMAIL": "bough@example.invalid",
}


def git(path: Path, *arguments: str) -> str:
    """Runs git in `path` and returns its output; raises if git fails."""
    done = subprocess.run(
        ["git", *arguments], cwd=path, env=environment() | _WHO, check=True, capture_output=True, text=True
    )
    return done.stdout


def make_repo(path: Path) -> Path:
    """Creates a repository with one commit on branch `main`."""
    path.mkdir(parents=True, exist_ok=True)
    git(path, "init", "--quiet", "--initial-branch=main")
    (path / "README.md").write_text("# A repository\n", "utf-8")
    git(path, "add", "README.md")
    git(path, "commit", "--quiet", "--message", "Begin.")
    return path


def allow_programs(path: Path) -> None:
    """Lets Bough's own git calls run everything that this repository has now, as if a person had allowed it."""
    common = git(path, "rev-parse", "--path-format=absolute", "--git-common-dir").rstrip("\n")
    listed = [entry.partition("\n") for entry in git(path, "config", "--list", "-z").split("\0")[:-1]]
    programs = {name: value for name, _, value in listed if name.startswith(("filter.", "merge."))}
    allow(common, AllowedPrograms(hooks=True, programs=programs, submodules=True, fetch=True))
