"""Creates worktrees with work in them, and calls the operations that finish it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from tests.api.error_responses import Json, refused
from tests.api.worktree_helpers import at, commit, made, registered
from tests.support.repos import git
from tests.support.server import Running


class Work(msgspec.Struct):
    """A repository, its main folder on `main`, and a worktree on `feature`."""

    server: Running
    repo: Json
    worktree: Json

    @property
    def main(self) -> Path:
        return at(self.repo["path"])

    @property
    def folder(self) -> Path:
        return at(self.worktree["path"])

    async def state(self) -> Json:
        return await self.server.client.get(f"/api/worktrees/{self.worktree['id']}/finish")

    async def do(self, verb: str, **body: Any) -> Json:
        return await self.server.client.post(f"/api/worktrees/{self.worktree['id']}/{verb}", body)

    async def preview(self, verb: str, **body: Any) -> Json:
        return await self.do(verb, dryRun=True, **body)

    async def refused(self, verb: str, code: str, **body: Any) -> Json:
        """Asserts that both the preview and the operation refuse with this code, and returns the error."""
        preview = await self.preview(verb, **body)
        assert preview["refusal"]["code"] == code, preview
        answer = await self.server.client.http.post(f"/api/worktrees/{self.worktree['id']}/{verb}", json=body)
        return refused(answer, 409, code)

    async def session(self, **fields: Any) -> Json:
        return await self.server.client.session(self.repo["id"], worktreeId=self.worktree["id"], **fields)


async def start(server: Running, branch: str = "feature", **fields: Any) -> Work:
    """Registers a repository and creates a worktree."""
    repo = await registered(server)
    return Work(server, repo, await made(server.client, repo, branch, **fields))


def conflicting(work: Work) -> None:
    """Commits different lines of one file on both branches."""
    commit(work.main, "both.txt", "ours\n")
    commit(work.folder, "both.txt", "theirs\n")


def log(folder: Path, *arguments: str) -> list[str]:
    """Returns the subjects of a branch's commits, newest first."""
    return git(folder, "log", "--format=%s", *arguments).splitlines()


def status(folder: Path) -> list[str]:
    return git(folder, "status", "--porcelain", "--untracked-files=all").splitlines()


def parents(folder: Path, name: str) -> list[str]:
    return git(folder, "rev-list", "--parents", "-1", name).split()[1:]
