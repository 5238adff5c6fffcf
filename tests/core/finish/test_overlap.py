"""Tests which files several worktrees of a repository changed."""

from __future__ import annotations

import pytest

from bough.core.finish import overlap
from bough.core.finish.surveys import background
from bough.model.repo import Worktree
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


async def test_all_overlaps_are_surveyed_in_the_background(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """F5: One request gives the overlaps of all worktrees, for boards and lists. It runs git only in the background,
    and not again while the last survey is good."""
    monkeypatch.setattr(overlap, "REMEMBERED", 0.0)
    monkeypatch.setattr(background, "GOOD_FOR", 0.0)
    monkeypatch.setattr(background, "REST", 0.0)
    looked: list[str] = []
    changed = overlap.Overlaps.changed

    async def counted(self: overlap.Overlaps, row: Worktree) -> frozenset[str]:
        looked.append(row.name)
        return await changed(self, row)

    monkeypatch.setattr(overlap.Overlaps, "changed", counted)
    path = "/api/worktrees/overlaps"
    work = await start(server)
    assert await server.client.get(f"{path}?wait=10") == {"worktrees": [], "pending": False}
    # A worktree alone is not looked at.
    assert looked == []
    other = Work(server, work.repo, await made(server.client, work.repo, "other"))
    await made(server.client, work.repo, "third")
    commit(work.folder, "both.txt", "mine\n")
    (other.folder / "both.txt").write_text("theirs\n")
    assert (await server.client.get(path))["pending"]
    surveyed = (await server.client.get(f"{path}?wait=10"))["worktrees"]
    ids = {work.worktree["id"]: other.worktree["id"], other.worktree["id"]: work.worktree["id"]}
    assert {item["worktreeId"]: item["overlaps"][0]["worktreeId"] for item in surveyed} == ids
    assert surveyed[0]["overlaps"][0]["files"] == ["both.txt"]
    monkeypatch.setattr(background, "GOOD_FOR", 600.0)
    await server.client.get(f"{path}?wait=10")
    looked.clear()
    assert (await server.client.get(f"{path}?wait=10"))["worktrees"] == surveyed
    assert looked == []
