"""Tests that what the setup of their worktrees made is no part of the racers' work (B6, W1)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.core.trees.race.test_race import COMMIT, MODE, commits, folder, keep, race, repo, status
from tests.core.trees.tree_helpers import Grove, grove
from tests.support.client import Json
from tests.support.repos import git

# Creates a file, changes one, and creates one that the racers change.
SETUP = ["sh", "-c", "echo made > made.txt; echo set-up >> README.md; echo base > both.txt"]


async def set_up(trees: Grove) -> None:
    await trees.client.call("PATCH", f"/api/repos/{trees.repo_id}", json={"setup": SETUP})


async def changed(trees: Grove, race_id: str) -> list[list[str]]:
    """Returns the names of the files in each racer's diff."""
    standings = (await trees.client.get(f"/api/races/{race_id}?full=true"))["contenders"]
    assert [standing["files"] for standing in standings] == [len(standing["diff"]["files"]) for standing in standings]
    return [[file["path"] for file in standing["diff"]["files"]] for standing in standings]


@pytest.mark.parametrize("committed", [False, True])
async def test_what_the_setup_made_is_neither_compared_nor_merged(tmp_path: Path, committed: bool) -> None:
    """B6, W1: Files that only the setup created or changed are missing in the racers' diffs and in the merge, even if
    the agent committed them; they stay in the winner's worktree. Files that the racer changed further are kept."""
    async with grove(tmp_path) as trees:
        top = repo(trees)
        await set_up(trees)
        root = await trees.root(permissionMode=MODE)
        prompt = "[[write a.txt one]] [[run echo more >> both.txt]]"
        race_id, [first, second] = await race(trees, root, f"{prompt} [[run {COMMIT}]]" if committed else prompt)
        await trees.say(second, "[[run rm both.txt made.txt; git checkout README.md]]")
        expected = [["a.txt", "both.txt"], ["a.txt"]]
        assert await changed(trees, race_id) == expected
        diff = await trees.client.get(f"/api/races/{race_id}/diff?session={first}")
        assert "set-up" not in diff["text"] and "made" not in diff["text"] and diff["note"] is None
        result = await keep(trees, race_id, first)
        assert (result["committed"], result["files"]) == (True, 2)
        assert (top / "both.txt").read_text() == "base\nmore\n" and (top / "a.txt").read_text() == "one"
        assert not (top / "made.txt").exists() and "set-up" not in (top / "README.md").read_text()
        assert status(top) == "" and len(commits(top)) == (3 if committed else 2)
        winner = await folder(trees, first)
        assert status(winner) == " M README.md\n?? made.txt\n" and (winner / "made.txt").read_text() == "made\n"
        # The files of the removed worktree are compared in the same way, and keeping again changes nothing.
        assert await changed(trees, race_id) == expected
        again = await keep(trees, race_id, first, how="branch")
        assert (again["sha"], again["committed"]) == (result["sha"], False)


async def test_what_the_setup_made_is_not_checked_out(tmp_path: Path) -> None:
    """B6, W1: Neither does a checkout bring what only the setup made; uncommitted files of the start stay as they
    were."""
    async with grove(tmp_path) as trees:
        top = repo(trees)
        (top / "README.md").write_text("uncommitted\n")
        await set_up(trees)
        race_id, [first, _] = await race(trees, await trees.root(permissionMode=MODE), "[[write a.txt one]]")
        await keep(trees, race_id, first, how="checkout", force=True)
        assert status(top) == " M README.md\n?? a.txt\n" and (top / "README.md").read_text() == "uncommitted\n"


async def test_racers_that_wait_have_changed_nothing(tmp_path: Path) -> None:
    """B6, W1: A racer that has only been set up so far shows no changes."""
    async with grove(tmp_path, max_agents=1) as trees:
        await set_up(trees)
        root = await trees.root(permissionMode=MODE)
        hanging = await trees.client.prompt(root, "[[hang]]")
        await trees.client.wait_task(hanging, "running")
        begun: Json = await trees.client.post(
            f"/api/sessions/{root}/race", {"prompt": "[[write a.txt one]]", "contenders": [{}, {}], "kind": "spawn"}
        )
        assert await changed(trees, begun["raceId"]) == [[], []]
        await trees.client.post(f"/api/sessions/{root}/stop")
        for session in begun["sessions"]:
            await trees.client.wait_task(session["taskId"])
        assert await changed(trees, begun["raceId"]) == [["a.txt"]] * 2


async def test_without_checkpoints_everything_is_compared(tmp_path: Path) -> None:
    """B6, W1: Without a checkpoint from before the first turn nothing is left out, and a note says so."""
    async with grove(tmp_path, checkpoints=False) as trees:
        await set_up(trees)
        race_id, [first, _] = await race(trees, await trees.root(permissionMode=MODE), "[[write a.txt one]]")
        diff = await trees.client.get(f"/api/races/{race_id}/diff?session={first}")
        assert [file["path"] for file in diff["files"]] == ["README.md", "a.txt", "both.txt", "made.txt"]
        assert "setup made" in diff["note"]
        await keep(trees, race_id, first)
        assert (repo(trees) / "made.txt").exists()


async def test_open_races_keep_the_files_of_their_first_turns(tmp_path: Path) -> None:
    """B6, W4: Old checkpoints that an undecided race needs for its comparison are not pruned."""
    async with grove(tmp_path) as trees:
        top = repo(trees)
        await set_up(trees)
        race_id, [first, _] = await race(trees, await trees.root(permissionMode=MODE), "[[write a.txt one]]")
        await trees.client.post("/api/checkpoints/prune", {"days": 0})
        git(top, "gc", "--quiet", "--prune=now")
        assert await changed(trees, race_id) == [["a.txt"]] * 2
        await keep(trees, race_id, first, how="branch")
        await trees.client.post("/api/checkpoints/prune", {"days": 0})
        assert git(top, "for-each-ref", "refs/bough/checkpoints") == ""
