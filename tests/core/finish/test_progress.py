"""Tests how far the work in worktrees is, as boards show it."""

from __future__ import annotations

import pytest

from bough.core.finish import overlap
from bough.core.finish.surveys import background
from tests.api.worktree_helpers import at, commit, made
from tests.core.finish.finish_helpers import Work, start
from tests.support.server import Running

PATH = "/api/worktrees/progress?wait=10"


async def test_the_progress_of_all_worktrees_is_surveyed(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """F5: One request tells how many files each worktree changed and whether its work is merged. A new worktree is not
    merged, and neither is one with commits after its merge; one whose folder is gone is left out."""
    for name in ("GOOD_FOR", "REST"):
        monkeypatch.setattr(background, name, 0.0)
    monkeypatch.setattr(overlap, "REMEMBERED", 0.0)
    work = await start(server)
    other = Work(server, work.repo, await made(server.client, work.repo, "other"))

    async def progress() -> dict[str, tuple[int, bool]]:
        answer = await server.client.get(PATH)
        assert not answer["pending"]
        return {item["worktreeId"]: (item["changedFiles"], item["merged"]) for item in answer["worktrees"]}

    mine, theirs = work.worktree["id"], other.worktree["id"]
    assert await progress() == {mine: (0, False), theirs: (0, False)}
    commit(work.folder, "new.txt")
    (at(other.worktree["path"]) / "draft.txt").write_text("draft\n")
    assert await progress() == {mine: (1, False), theirs: (1, False)}
    await server.client.post(f"/api/worktrees/{mine}/merge", {"how": "squash"})
    assert (await progress())[mine][1]
    commit(work.folder, "later.txt")
    assert not (await progress())[mine][1]
    at(other.worktree["path"]).rename(at(other.worktree["path"]).with_name("moved"))
    assert set(await progress()) == {mine}
