"""Tests sweeping worktrees that nobody needs any longer, and the disk use of worktrees and repositories."""

from __future__ import annotations

import os
from pathlib import Path

from bough.core.worktrees.disk_use import folder_size
from tests.api.error_responses import Json
from tests.api.worktree_helpers import branches, commit, made
from tests.core.finish.finish_helpers import Work, start
from tests.support.eventually import eventually
from tests.support.server import Running


async def merged(work: Work, branch: str) -> Work:
    """Returns other work of the same repository that is merged."""
    other = Work(work.server, work.repo, await made(work.server.client, work.repo, branch))
    commit(other.folder, f"{branch}.txt")
    await other.do("merge")
    return other


async def test_only_what_nobody_needs_is_swept(server: Running) -> None:
    """F9: A sweep removes merged worktrees with their branches after a preview. It leaves alone those with active
    sessions, uncommitted files, unmerged or no commits, and says why."""
    unmerged = await start(server, "unmerged")
    commit(unmerged.folder, "one.txt")
    await made(server.client, unmerged.repo, "unused")
    done, busy, dirty = [await merged(unmerged, name) for name in ("done", "busy", "dirty")]
    ended = await done.session()
    await server.client.post(f"/api/sessions/{ended['id']}/complete", {})
    session = await busy.session()
    (dirty.folder / "draft.txt").write_text("draft\n")
    preview = await server.client.post("/api/worktrees/sweep", {"dryRun": True, "repoId": unmerged.repo["id"]})
    reasons = {item["name"]: (item["outcome"], item["reason"] or "") for item in preview["worktrees"]}
    assert reasons["done"] == ("removable", "") and done.folder.is_dir()
    for name, words in {
        "busy": "Active sessions are working",
        "dirty": "not committed",
        "unmerged": "does not contain",
        "unused": "Nothing was committed",
    }.items():
        assert reasons[name][0] == "kept" and words in reasons[name][1]
        # A sweep never forces.
        assert "force" not in reasons[name][1]
    swept = await server.client.post("/api/worktrees/sweep", {"idempotencyKey": "once"})
    assert [item["name"] for item in swept["worktrees"] if item["outcome"] == "removed"] == ["done"]
    assert await server.client.post("/api/worktrees/sweep", {"idempotencyKey": "once"}) == swept
    assert not done.folder.exists() and "done" not in branches(done.main)
    assert busy.folder.is_dir() and dirty.folder.is_dir() and unmerged.folder.is_dir()
    assert (await server.client.get(f"/api/sessions/{session['id']}"))["status"] == "active"
    await done.do("recover")
    assert (done.folder / "done.txt").is_file()


async def test_only_chosen_worktrees_are_swept(server: Running) -> None:
    """F9: With a list of worktrees, a sweep touches no other."""
    first = await start(server, "first")
    commit(first.folder, "first.txt")
    await first.do("merge")
    second = await merged(first, "second")
    swept = await server.client.post("/api/worktrees/sweep", {"worktreeIds": [second.worktree["id"]]})
    assert [item["name"] for item in swept["worktrees"]] == ["second"]
    assert first.folder.is_dir() and not second.folder.exists()


async def test_disk_use_is_measured(server: Running) -> None:
    """F9: The disk use of worktrees counts apart from that of their repository, in whose folder they are."""
    work = await start(server)
    (work.folder / "large.bin").write_bytes(os.urandom(3_000_000))

    async def measured() -> Json | None:
        use = await server.client.get("/api/worktrees/disk?wait=10")
        return use if use["measuredAt"] else None

    use = await eventually(measured)
    [worktree], [repo] = use["worktrees"], use["repos"]
    assert 3_000_000 <= worktree["bytes"] < 4_000_000 and repo["worktreesBytes"] == worktree["bytes"]
    assert 0 < repo["ownBytes"] < 3_000_000 and repo["repoId"] == work.repo["id"]


def test_links_count_once(tmp_path: Path) -> None:
    """F9: A file with two names counts once, and links lead nowhere."""
    apart, inside = tmp_path / "apart", tmp_path / "inside"
    apart.mkdir()
    inside.mkdir()
    (apart / "large").write_bytes(os.urandom(1_000_000))
    (inside / "one").write_bytes(os.urandom(500_000))
    os.link(inside / "one", inside / "two")
    (inside / "link").symlink_to(apart)
    assert 500_000 <= folder_size(str(inside)) < 600_000
    assert folder_size(str(tmp_path), frozenset({str(apart)})) < 600_000 < folder_size(str(tmp_path))
