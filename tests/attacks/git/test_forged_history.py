"""Attacks what Bough decides by refs and by files about history, which an agent can write in its repository."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.api.worktree_helpers import at, bare, commit, head, made
from tests.core.finish.finish_helpers import parents, start
from tests.support.repos import git
from tests.support.server import Running

LAYOUTS = ("refs/bough/merges/{id}/{part}", "refs/bough/merges/{id}/{part}/main")


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_a_forged_merge_is_not_undone(server: Running, layout: str) -> None:
    """F3: Refs that look like a merge of Bough's do not offer an undo that moves the base to a commit of an agent."""
    work = await start(server)
    planted, base = commit(work.folder, "planted.txt"), head(work.main)
    for part, sha in (("before", planted), ("after", base), ("tip", planted)):
        git(work.main, "update-ref", layout.format(id=work.worktree["id"], part=part), sha)
    state = await work.state()
    assert (state["lastMerge"], state["merged"], state["mergedInto"]) == (None, False, None)
    await work.refused("merge/undo", "nothing_to_undo")
    assert head(work.main) == base


async def test_changed_refs_do_not_change_an_undo(server: Running) -> None:
    """F3: An undo moves the base to where it was, although an agent has changed or deleted the refs that keep it."""
    work = await start(server)
    planted, base = commit(work.folder, "planted.txt"), head(work.main)
    await work.do("merge")
    git(work.main, "update-ref", f"refs/bough/merges/{work.worktree['id']}/before", planted)
    git(work.main, "update-ref", "-d", f"refs/bough/merges/{work.worktree['id']}/after")
    undone = await work.do("merge/undo")
    assert (undone["sha"], head(work.main)) == (base, base)


async def test_forged_recovery_refs_recover_nothing(server: Running) -> None:
    """W2: A recovery restores what the removal stored, although an agent has changed its ref; and a removed worktree of
    which nothing was stored gets nothing from a forged one."""
    work = await start(server)
    (work.folder / "mine.txt").write_text("mine\n")
    path, ref = f"/api/worktrees/{work.worktree['id']}", f"refs/bough/recovery/{work.worktree['id']}"
    removed = await server.client.call("DELETE", f"{path}?force=true")
    planted = commit(work.main, "planted.txt")
    git(work.main, "update-ref", ref, planted)
    back = await server.client.post(f"{path}/recover")
    assert (at(back["path"]) / "mine.txt").exists() and not (at(back["path"]) / "planted.txt").exists()
    assert removed["recoveryRef"] == ref
    other = await made(server.client, work.repo, "other")
    git(work.main, "update-ref", f"refs/bough/recovery/{other['id']}", planted)
    git(work.main, "worktree", "remove", "--force", other["path"])
    removed = await server.client.call("DELETE", f"/api/worktrees/{other['id']}?force=true")
    assert removed["recoveryRef"] is None


async def test_forged_remote_branches_are_not_merged(server: Running) -> None:
    """F7, F9: A branch of a remote counts as containing work only as Bough fetched or pushed it, not by git's record,
    which an agent can write: neither a cleanup nor a sweep removes the worktree."""
    work = await start(server)
    sha = commit(work.folder, "mine.txt")
    git(work.main, "update-ref", "refs/remotes/origin/main", sha)
    assert (await work.state())["mergedInto"] is None
    await work.refused("cleanup", "not_merged")
    swept = await server.client.post("/api/worktrees/sweep", {"dryRun": True})
    assert [item["outcome"] for item in swept["worktrees"]] == ["kept"]
    # What Bough has seen on the remote counts.
    remote = bare(server.root / "remote.git")
    git(work.main, "remote", "add", "origin", str(remote))
    git(work.folder, "push", "--quiet", "--force", "origin", f"{sha}:refs/heads/main")
    await work.do("update", fetch=True)
    assert (await work.state())["mergedInto"] == f"main at {remote}"
    assert (await work.preview("cleanup"))["refusal"] is None


def replaced(top: Path, old: str, new: str) -> None:
    """Lets another commit stand for one."""
    git(top, "replace", old, new)


def grafted(top: Path, old: str, new: str) -> None:
    """Gives a commit another parent."""
    (top / ".git" / "info").mkdir(exist_ok=True)
    (top / ".git" / "info" / "grafts").write_text(f"{old} {new}\n")


def in_a_graph(top: Path, old: str, new: str) -> None:
    """Gives a commit another parent in the file in which git keeps the parents of all commits for speed."""
    git(top, "-c", "commitGraph.generationVersion=1", "commit-graph", "write", "--reachable", "--no-progress")
    file = top / ".git" / "objects" / "info" / "commit-graph"
    graph = bytearray(file.read_bytes())
    entries = [graph[8 + 12 * number : 20 + 12 * number] for number in range(graph[6])]
    starts = {bytes(entry[:4]): int.from_bytes(entry[4:], "big") for entry in entries}
    names, commits = starts[b"OIDL"], starts[b"CDAT"]
    shas = [graph[at : at + 20].hex() for at in range(names, commits, 20)]
    # Of each commit: its tree, two parents, and its distance from the first commit.
    entry, top_entry = (commits + 36 * shas.index(sha) for sha in (old, head(top)))
    graph[entry + 20 : entry + 24] = shas.index(new).to_bytes(4, "big")
    for start_of, level in ((entry, 8), (top_entry, 9)):
        graph[start_of + 28 : start_of + 32] = (level << 2).to_bytes(4, "big")
    file.chmod(0o644)
    file.write_bytes(graph)
    assert git(top, "-c", "core.commitGraph=true", "merge-base", new, "HEAD").strip() == new


@pytest.mark.parametrize("forge", [replaced, grafted, in_a_graph])
async def test_forged_parents_merge_nothing(server: Running, forge: Callable[[Path, str, str], None]) -> None:
    """F3, F7: Replaced commits, grafts and a commit graph, by which a base seems to contain an agent's work, count
    neither for a cleanup nor for a merge."""
    work = await start(server)
    sha = commit(work.folder, "mine.txt")
    base = commit(work.main, "base.txt")
    tip = commit(work.main, "tip.txt")
    forge(work.main, base, sha)
    state = await work.state()
    assert (state["ahead"], state["behind"], state["mergedInto"]) == (1, 2, None)
    await work.refused("cleanup", "not_merged")
    done = await work.do("merge")
    names = git(work.main, "--no-replace-objects", "ls-tree", "--name-only", done["sha"]).split()
    assert {"base.txt", "mine.txt"} <= set(names)
    assert parents(work.main, done["sha"]) == [tip, sha]
