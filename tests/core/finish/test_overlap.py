"""Tests which files several worktrees of a repository changed."""

from __future__ import annotations

import pytest

from bough.core.finish import overlap
from tests.api.worktree_helpers import at, commit, made
from tests.core.finish.finish_helpers import Work, start
from tests.support.server import Running


async def test_files_that_two_worktrees_changed_are_shown_on_both(
    server: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F5: A file that two live worktrees changed, committed or not, is reported for both; after a merge, removal or in
    the base alone it is not."""
    monkeypatch.setattr(overlap, "REMEMBERED", 0.0)
    work = await start(server)
    other = Work(server, work.repo, await made(server.client, work.repo, "other"))
    commit(work.folder, "both.txt", "mine\n")
    commit(work.folder, "mine.txt")
    (at(other.worktree["path"]) / "both.txt").write_text("theirs\n")
    commit(work.main, "base.txt")
    expected = {"name": "other", "files": ["both.txt"], "filesTotal": 1, "worktreeId": other.worktree["id"]}
    assert (await work.state())["overlaps"] == [expected]
    assert [item["worktreeId"] for item in (await other.state())["overlaps"]] == [work.worktree["id"]]
    (other.folder / "both.txt").unlink()
    assert (await work.state())["overlaps"] == []
    (other.folder / "mine.txt").write_text("theirs\n")
    assert [item["files"] for item in (await work.state())["overlaps"]] == [["mine.txt"]]
    await server.client.call("DELETE", f"/api/worktrees/{other.worktree['id']}?force=true")
    assert (await work.state())["overlaps"] == []
