"""Commits, merges and cleans up worktrees during a kill run, and checks that each was done once (F1, F3, F7)."""

from __future__ import annotations

from pathlib import Path

from tests.api.worktree_helpers import at, branches, known_to_git
from tests.kill.scripts.script import CheckedScript, Json
from tests.support.client import Client
from tests.support.repos import git

WORKTREES = 2


class Finishing(CheckedScript):
    """Worktrees with a session and a changed file, which are committed, merged and cleaned up."""

    name = "finishing"

    async def play(self) -> None:
        repo_id = await self.repo()
        self._done: list[tuple[str, str, Json]] = []
        for number in range(WORKTREES):
            row = await self.worktree(repo_id, f"work-{number}")
            session_id = await self.session(repo_id, worktreeId=row["id"])
            (Path(row["path"]) / f"{number}.txt").write_text(f"{number}\n", "utf-8")
            path = f"/api/worktrees/{row['id']}"
            await self.call("POST", f"{path}/commit", {"message": f"Work {number}."}, self.key())
            await self.call("POST", f"{path}/merge", {}, self.key())
            await self.call("POST", f"{path}/cleanup", {}, self.key())
            self._done.append((row["id"], session_id, row))

    async def check(self, client: Client) -> None:
        subjects = git(self.path, "log", "--format=%s", "main").splitlines()
        assert sorted(text for text in subjects if text.startswith("Work")) == [f"Work {n}." for n in range(WORKTREES)]
        merges = git(self.path, "log", "--merges", "--format=%h", "main").splitlines()
        assert len(merges) == WORKTREES, "a branch was merged twice, or not at all"
        names = {f"{number}.txt": f"{number}\n" for number in range(WORKTREES)}
        assert {name: (self.path / name).read_text() for name in names} == names
        assert git(self.path, "status", "--porcelain") == ""
        assert (branches(self.path), known_to_git(self.path)) == (["main"], [])
        entries = (await client.get("/api/audit?action=worktree.cleaned_up&limit=500"))["entries"]
        cleaned = [entry["subjectId"] for entry in entries]
        for worktree_id, session_id, row in self._done:
            session = await client.get(f"/api/sessions/{session_id}")
            assert (session["status"], session["archived"]) == ("completed", True), session
            assert not at(row["path"]).exists()
            assert cleaned.count(worktree_id) == 1
