"""Tests races (B6): one prompt to several branches that start with the same files; one of them is kept, and nothing of
the others is lost."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from bough.core.trees.race.keep import KeepBody
from bough.core.trees.race.start import NewRace, NewRacer
from bough.errors import Conflict
from bough.model.session import Caller
from bough.storage.queries import Query
from tests.core.trees.tree_helpers import Grove, grove
from tests.support.client import Json
from tests.support.repos import git

COMMIT = "git add . && git -c user.name=A -c user.email=a@b.c commit -qm mine"
MODE = "bypassPermissions"
Sessions = list[str]
# A racer like the session itself.
SAME: Json = {}


async def race(
    trees: Grove, root: str, prompt: str = "[[say go]]", count: int = 2, **fields: Any
) -> tuple[str, Sessions]:
    """Starts a race and waits until all racers have run."""
    body = {"prompt": prompt, "contenders": [SAME] * count, **fields}
    begun = await trees.client.post(f"/api/sessions/{root}/race", body)
    for session in begun["sessions"]:
        await trees.client.wait_task(session["taskId"])
    return begun["raceId"], [session["sessionId"] for session in begun["sessions"]]


async def keep(trees: Grove, race_id: str, session: str, expect: int = 200, **fields: Any) -> Json:
    return await trees.client.post(f"/api/races/{race_id}/keep", {"sessionId": session, **fields}, expect=expect)


async def folder(trees: Grove, session: str) -> Path:
    return Path((await trees.get(session))["cwd"])


def repo(trees: Grove) -> Path:
    return trees.server.root / "repo"


def status(where: Path) -> str:
    return git(where, "status", "--porcelain", "--untracked-files=all")


def commits(where: Path) -> list[str]:
    return git(where, "log", "--format=%s").splitlines()


def left(where: Path) -> tuple[list[str], list[str]]:
    """Returns the branches and worktrees of a repository."""
    named = git(where, "for-each-ref", "--format=%(refname)", "refs/heads", "refs/bough/races").split()
    listed = git(where, "worktree", "list", "--porcelain").splitlines()
    return named, [line for line in listed if line.startswith("worktree ")]


async def test_all_racers_start_with_the_same_files(tmp_path: Path) -> None:
    """B6, B2: All racers get the committed, staged, uncommitted, deleted and untracked files, each in a worktree and on
    a branch of its own; forks know the conversation. The race is marked in each and announced where it began."""
    async with grove(tmp_path) as trees:
        top = repo(trees)
        for name in ("gone", "changed"):
            (top / name).write_text("old\n")
        git(top, "add", ".")
        git(top, "commit", "--quiet", "--message", "More.")
        root = await trees.root(permissionMode=MODE)
        await trees.say(root, "one heron")
        (top / "gone").unlink()
        (top / "changed").write_text("new\n")
        (top / "sub").mkdir()
        (top / "sub" / "untracked").write_text("u\n")
        (top / "staged").write_text("s\n")
        git(top, "add", "staged")
        before = status(top)
        race_id, sessions = await race(trees, root, "[[recall]] [[run ls > listed]]", 3, title="Birds")
        places = [await folder(trees, item) for item in sessions]
        assert len({*places, top}) == 4
        for number, (session, place) in enumerate(zip(sessions, places, strict=True), 1):
            assert not (place / "gone").exists() and (place / "changed").read_text() == "new\n"
            assert (place / "sub" / "untracked").read_text() == "u\n" and (place / "staged").read_text() == "s\n"
            assert git(place, "rev-parse", "HEAD") == git(top, "rev-parse", "HEAD")
            racer = await trees.get(session)
            assert racer["metadata"]["race"] == {"id": race_id, "number": number}
            assert (racer["kind"], racer["forkedFromSessionId"], racer["title"]) == ("fork", root, f"Birds ({number})")
            assert "one heron" in "".join(await trees.client.texts(session))
        assert status(top) == before
        [notice] = [item for item in await trees.contents(root, "notice") if "race" in item]
        assert race_id in notice["text"]
        state = await trees.client.get(f"/api/races/{race_id}")
        assert [
            (contender["files"], contender["insertions"], contender["deletions"]) for contender in state["contenders"]
        ] == [(1, 5, 0)] * 3


async def test_the_state_of_a_race(tmp_path: Path) -> None:
    """B6: Shows what each racer has changed since the common start, committed or not, in numbers and as text, and what
    it has used."""
    async with grove(tmp_path) as trees:
        root = await trees.root(permissionMode=MODE)
        (repo(trees) / "mine").write_text("mine\n")
        race_id, [first, second] = await race(trees, root, kind="spawn", contenders=[SAME, {"model": "demo-large"}])
        await trees.say(first, f"[[write a.txt one]] [[run {COMMIT}]] [[run rm README.md]]")
        state = await trees.client.get(f"/api/races/{race_id}")
        first_racer, second_racer = state["contenders"]
        assert (state["sessionId"], state["kind"], state["prompt"]) == (root, "spawn", "[[say go]]")
        assert (first_racer["files"], first_racer["insertions"], first_racer["deletions"], first_racer["diff"]) == (
            2,
            1,
            1,
            None,
        )
        assert (
            second_racer["files"],
            second_racer["insertions"],
            second_racer["deletions"],
            second_racer["model"],
        ) == (0, 0, 0, "demo-large")
        assert (first_racer["turns"], second_racer["turns"], first_racer["taskStatus"]) == (2, 1, "completed")
        assert first_racer["tokens"] > 0 and second_racer["cost"] > 0 and state["keptSessionId"] is None
        diff = await trees.client.get(f"/api/races/{race_id[-8:]}/diff?session={first[-12:]}")
        assert "+one" in diff["text"] and "mine" not in diff["text"]
        assert (await trees.client.get(f"/api/races/{race_id}/diff?session={first}&path=README.md"))["additions"] == 0
        whole = await trees.client.get(f"/api/races/{race_id}?full=true")
        assert [contender["diff"]["text"] for contender in whole["contenders"]] == [diff["text"], ""]
        # Racers that are spawned do not report unless the request says so.
        assert await trees.callbacks(root) == [] and len(await trees.tasks(root)) == 0
        assert (await trees.get(second))["parentSessionId"] == root
        await trees.say(first, "[[run yes 'a long line of text' | head -n 60000 > long.txt]]")
        cut = (await trees.client.get(f"/api/races/{race_id}?full=true"))["contenders"][0]["diff"]
        assert cut["truncated"] and "is cut after" in cut["note"] and len(cut["text"]) <= 1024 * 1024 // 2


@pytest.mark.parametrize("moved", [False, True])
async def test_the_winner_is_merged(tmp_path: Path, moved: bool) -> None:
    """B6: Commits the winner's files on its branch and merges it into the branch where the race began, by a
    fast-forward or a merge commit; uncommitted files that it does not touch stay. A repeated request gets the same
    answer."""
    async with grove(tmp_path) as trees:
        top = repo(trees)
        root = await trees.root(permissionMode=MODE)
        race_id, [first, second] = await race(trees, root, "[[write shared.txt x]] count birds")
        await trees.say(first, "[[write a.txt one]]")
        await trees.say(second, "[[write b.txt two]]")
        if moved:
            (top / "other").write_text("other\n")
            git(top, "add", "other")
            git(top, "commit", "--quiet", "--message", "Meanwhile.")
        (top / "README.md").write_text("dirty\n")
        result = await keep(trees, race_id, second)
        assert (result["merged"], result["into"], result["files"]) == ("merge" if moved else "fast_forward", "main", 2)
        assert result["committed"] and status(top) == " M README.md\n"
        assert (top / "b.txt").read_text() == "two" and not (top / "a.txt").exists()
        winner = await folder(trees, second)
        assert status(winner) == "" and git(winner, "rev-parse", "HEAD").strip() == result["sha"]
        body = git(winner, "log", "-1", "--format=%B")
        assert race_id in body and body.startswith("[[write shared.txt x]] count birds")
        assert len(commits(top)) == (4 if moved else 2)
        [notice] = [item for item in await trees.contents(root, "notice") if "was kept" in item["text"]]
        assert "merged into main" in notice["text"]
        state = await trees.client.get(f"/api/races/{race_id}")
        assert state["keptSessionId"] == second and [contender["files"] for contender in state["contenders"]] == [2, 2]
        assert await keep(trees, race_id, second) == result
        refused = await keep(trees, race_id, first, 409)
        assert refused["error"]["code"] == "race_decided" and refused["error"]["details"]["sessionId"] == second
        assert len(commits(top)) == (4 if moved else 2)


async def test_the_other_racers_are_archived_and_can_be_recovered(tmp_path: Path) -> None:
    """B6, W2: Stops the racers that still run and completes the others; their worktrees are removed, and can be
    recovered with every file."""
    async with grove(tmp_path) as trees:
        root = await trees.root(permissionMode=MODE)
        race_id, [idle, running, winner] = await race(trees, root, count=3)
        await trees.say(idle, f"[[write a.txt one]] [[run {COMMIT}]] [[write b.txt two]]")
        hanging = await trees.client.prompt(running, "[[write c.txt three]] [[hang]]")
        await trees.client.wait_task(hanging, "running")
        await trees.client.prompt(running, "[[say never]]")
        place = await folder(trees, idle)
        result = await keep(trees, race_id, winner, how="branch")
        assert (result["how"], result["committed"], result["merged"], result["files"]) == ("branch", False, None, 0)
        assert [other["sessionId"] for other in result["others"]] == [idle, running]
        assert all(
            other["archived"] and other["worktreeRemoved"] and not other["message"] for other in result["others"]
        )
        states = [(await trees.get(item))["status"] for item in (idle, running, winner)]
        assert states == ["completed", "cancelled", "active"]
        assert {task["status"] for task in await trees.tasks(running)} == {"completed", "cancelled"}
        assert not place.exists() and (await folder(trees, winner)).exists()
        assert f"bough worktree recover {result['others'][0]['worktreeId']}" in result["others"][0]["recover"]
        # Their changes can still be compared.
        standings = (await trees.client.get(f"/api/races/{race_id}"))["contenders"]
        assert [standing["files"] for standing in standings] == [2, 1, 0]
        await trees.client.post(f"/api/worktrees/{result['others'][0]['worktreeId']}/recover")
        assert (place / "a.txt").read_text() == "one" and status(place) == "?? b.txt\n"
        assert commits(place)[0] == "mine"
        # Keeping the winner in another way later leaves recovered worktrees alone.
        assert (await keep(trees, race_id, winner))["merged"] == "none"
        assert place.exists()


async def test_the_winners_files_are_checked_out(tmp_path: Path) -> None:
    """B6, W4: Copies the winner's files as uncommitted changes, over uncommitted work only by force; a checkpoint
    undoes it."""
    async with grove(tmp_path) as trees:
        top = repo(trees)
        root = await trees.root(permissionMode=MODE)
        (top / "mine").write_text("mine\n")
        race_id, [first, _] = await race(trees, root)
        await trees.say(first, "[[write a.txt one]] [[run rm README.md; echo more >> mine]]")
        refused = (await keep(trees, race_id, first, 409, how="checkout"))["error"]
        assert (refused["code"], refused["details"]["files"]) == ("source_changed", ["mine"])
        winner = await folder(trees, first)
        assert len(commits(winner)) == 1 and status(top) == "?? mine\n"
        result = await keep(trees, race_id, first, how="checkout", force=True)
        assert result["files"] == 3 and result["merged"] is None and len(commits(top)) == 1
        assert status(top) == " D README.md\n?? a.txt\n?? mine\n" and (top / "mine").read_text() == "mine\nmore\n"
        assert await keep(trees, race_id, first, how="checkout", force=True) == result
        assert (await trees.contents(root, "notice"))[-1]["undoCheckpointId"] == result["undoCheckpointId"]
        await trees.client.post(f"/api/checkpoints/{result['undoCheckpointId']}/restore", {})
        assert status(top) == "?? mine\n" and (top / "mine").read_text() == "mine\n"


async def test_a_checkout_does_not_undo_newer_commits(tmp_path: Path) -> None:
    """B6: The winner's exact files would undo what was committed since where the race began, so this needs force."""
    async with grove(tmp_path) as trees:
        top = repo(trees)
        race_id, [first, _] = await race(trees, await trees.root(permissionMode=MODE), "[[write a.txt one]]")
        (top / "other").write_text("other\n")
        git(top, "add", "other")
        git(top, "commit", "--quiet", "--message", "Meanwhile.")
        assert (await keep(trees, race_id, first, 409, how="checkout"))["error"]["code"] == "source_changed"
        await keep(trees, race_id, first, how="checkout", force=True)
        assert status(top) == " D other\n?? a.txt\n"


async def test_a_refused_merge_changes_nothing(tmp_path: Path) -> None:
    """B6: Names a conflict, uncommitted or ignored files in the way, or a detached HEAD, and touches nothing."""
    async with grove(tmp_path) as trees:
        top = repo(trees)
        (top / ".git" / "info" / "exclude").write_text("/.worktrees/\nignored\n")
        race_id, [first, second] = await race(trees, await trees.root(permissionMode=MODE))
        await trees.say(
            first, "[[write README.md theirs]] [[write new.txt new]] [[run echo x > ignored; git add -f ignored]]"
        )
        winner = await folder(trees, first)
        was = status(winner)

        async def refused(code: str, *files: str) -> None:
            before = (git(top, "rev-parse", "HEAD"), status(top), (top / "README.md").read_text())
            error = (await keep(trees, race_id, first, 409))["error"]
            assert (error["code"], error.get("details", {}).get("files", [])) == (code, list(files))
            assert (git(top, "rev-parse", "HEAD"), status(top), (top / "README.md").read_text()) == before
            assert status(winner) == was and len(commits(winner)) == 1
            assert not (top / ".git" / "MERGE_HEAD").exists()
            assert (await trees.get(second))["archived"] is False

        (top / "new.txt").write_text("mine\n")
        (top / "ignored").write_text("mine\n")
        await refused("merge_blocked", "ignored", "new.txt")
        (top / "new.txt").unlink()
        (top / "ignored").unlink()
        (top / "README.md").write_text("ours\n")
        await refused("merge_blocked", "README.md")
        git(top, "commit", "--quiet", "--all", "--message", "Ours.")
        await refused("merge_conflict", "README.md")
        git(top, "checkout", "--quiet", "--detach")
        await refused("merge_blocked")
        git(top, "checkout", "--quiet", "main")
        git(top, "reset", "--quiet", "--hard", "HEAD~1")
        assert (await keep(trees, race_id, first))["merged"] == "fast_forward"
        assert (top / "README.md").read_text() == "theirs" and status(top) == ""


async def test_a_busy_racer_is_not_kept(tmp_path: Path) -> None:
    """B6: Refuses while the winner's turn runs, or one of the session where the race began."""
    async with grove(tmp_path) as trees:
        root = await trees.root(permissionMode=MODE)
        race_id, [first, _] = await race(trees, root)
        task = await trees.client.prompt(first, "[[hang]]")
        await trees.client.wait_task(task, "running")
        error = (await keep(trees, race_id, first, 409, force=True))["error"]
        assert (error["code"], set(error["details"]["tasks"])) == ("race_busy", {task})
        await trees.client.post(f"/api/sessions/{first}/stop")
        hanging = await trees.client.prompt(root, "[[hang]]")
        await trees.client.wait_task(hanging, "running")
        assert (await keep(trees, race_id, first, 409))["error"]["code"] == "folder_busy"
        await trees.client.post(f"/api/sessions/{root}/stop")
        assert (await keep(trees, race_id, first))["merged"] == "none"


async def test_a_failed_racer_does_not_stop_the_race(tmp_path: Path) -> None:
    """B6: If an agent does not start, the other racer can be kept and the failed one is archived."""
    agents = tmp_path / "data" / "agents"
    agents.mkdir(parents=True)
    (agents / "broken.toml").write_text('title = "Broken"\ncommand = ["/bin/false"]\n[modes]\ndefault = "default"\n')
    async with grove(tmp_path) as trees:
        root = await trees.root(permissionMode=MODE)
        race_id, [bad, good] = await race(trees, root, "[[write a.txt one]]", contenders=[{"agent": "broken"}, SAME])
        racers = (await trees.client.get(f"/api/races/{race_id}"))["contenders"]
        assert [(item["agent"], item["taskStatus"], item["files"]) for item in racers] == [
            ("broken", "failed", 0),
            ("demo", "completed", 1),
        ]
        result = await keep(trees, race_id, good)
        assert result["merged"] == "fast_forward" and (await trees.get(bad))["archived"]


async def test_a_race_starts_completely_or_not_at_all(tmp_path: Path) -> None:
    """B6: If one racer cannot be created, nothing is left of the others, and the same key can be used again."""
    async with grove(tmp_path) as trees:
        top = repo(trees)
        root = await trees.root(permissionMode=MODE)
        hook = top / ".git" / "hooks" / "reference-transaction"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text('#!/bin/sh\n[ "$1" != prepared ] || ! grep -q refs/heads/race-2-\n')
        hook.chmod(0o755)
        await trees.client.allow_git((await trees.get(root))["repo"]["id"], hooks=True)
        before = left(top)
        body = {"prompt": "[[say go]]", "contenders": [SAME] * 3, "idempotencyKey": "once"}
        await trees.client.post(f"/api/sessions/{root}/race", body, expect=409)
        assert left(top) == before and not (top / ".worktrees").exists()
        tree = await trees.client.get(f"/api/sessions/{root}/tree")
        assert len(tree["sessions"]) == 1 and await trees.contents(root, "notice") == []
        assert (await trees.client.get("/api/worktrees"))["total"] == 0
        hook.unlink()
        begun = await trees.client.post(f"/api/sessions/{root}/race", body)
        assert await trees.client.post(f"/api/sessions/{root}/race", body) == begun


async def test_simultaneous_requests_with_one_key_start_one_race(tmp_path: Path) -> None:
    """B6, A4: The second request gets the first answer and leaves nothing behind."""
    async with grove(tmp_path) as trees:
        root = await trees.root()
        new = NewRace("[[say go]]", [NewRacer(), NewRacer()])
        caller = Caller(idempotency_key="once")
        start = trees.server.services.races.start
        first, second = await asyncio.gather(start(caller, root, new), start(caller, root, new))
        assert first == second
        named, listed = left(repo(trees))
        assert len(named) == 4 and len(listed) == 3


@pytest.mark.parametrize(("kind", "code"), [("fork", "tree_too_large"), ("spawn", "too_many_children")])
async def test_limits_count_all_racers(tmp_path: Path, kind: str, code: str) -> None:
    """B5, B6: Refuses a race that has no room for all racers before anything is created."""
    async with grove(tmp_path, max_tree=4 if kind == "fork" else 200, max_children=2) as trees:
        top = repo(trees)
        root = await trees.root()
        await trees.spawn(root, "[[say x]]")
        before = left(top)
        body = {"prompt": "[[say go]]", "contenders": [SAME] * (3 if kind == "fork" else 2), "kind": kind}
        error = await trees.refused(f"{root}/race", body)
        assert error["code"] == code and "more were requested" in error["message"]
        assert left(top) == before and not (top / ".worktrees").exists()
        if kind == "fork":
            await race(trees, root, count=2)


def starts(where: Path) -> list[str]:
    """Returns the refs that keep the files that races began with."""
    return git(where, "for-each-ref", "--format=%(refname)", "refs/bough/races").split()


async def test_the_start_of_a_race_is_kept_while_it_is_needed(tmp_path: Path) -> None:
    """B6, W4: Keeps it however old until the race is decided; then as long as any checkpoint, or until all racers are
    purged."""
    old = Query("old", "UPDATE races SET created_at = '2000' WHERE id = :id", "Makes a race old.")
    async with grove(tmp_path) as trees:
        pruning, store, top = trees.server.services.pruning, trees.server.services.store, repo(trees)
        root = await trees.root(permissionMode=MODE)
        (open_race, _), (decided, [first, _]), (purged, purged_racers) = [await race(trees, root) for _ in range(3)]
        await keep(trees, decided, first, how="branch")
        await pruning.prune()
        assert len(starts(top)) == 3
        for item in (open_race, decided):
            await store.write(lambda change, item=item: change.tx.run(old, id=item))
        for session in purged_racers:
            await trees.client.call("DELETE", f"/api/sessions/{session}?purge=true")
        await pruning.prune()
        assert starts(top) == [f"refs/bough/races/{open_race}"]
        state = await trees.client.get(f"/api/races/{open_race}")
        assert [contender["files"] for contender in state["contenders"]] == [0, 0]
        checkpoints = (await trees.client.get("/api/checkpoints?limit=100"))["checkpoints"]
        assert [item["id"] for item in checkpoints if item["moment"] == "fork"] == [open_race]
        assert (await trees.client.get(f"/api/races/{purged}"))["contenders"] == []


async def test_a_folder_without_git_has_no_races(tmp_path: Path) -> None:
    """B6, W1: A plain folder has no worktrees, so a race is refused."""
    async with grove(tmp_path) as trees:
        plain = trees.server.root / "plain"
        plain.mkdir()
        plain_repo = await trees.client.repo(plain)
        session = (await trees.client.session(plain_repo["id"]))["id"]
        body = {"prompt": "[[say go]]", "contenders": [SAME, SAME]}
        assert (await trees.refused(f"{session}/race", body, 400))["code"] == "not_a_repository"


async def test_too_many_files_for_a_race_are_refused(tmp_path: Path) -> None:
    """B6, W4: Refuses a race with more files than a checkpoint may have, with a sentence."""
    async with grove(tmp_path, checkpoint_files=1) as trees:
        for name in ("one", "two"):
            (repo(trees) / name).write_text(name)
        body = {"prompt": "[[say go]]", "contenders": [SAME, SAME]}
        assert (await trees.refused(f"{await trees.root()}/race", body))["code"] == "no_checkpoint"


async def test_an_interrupted_keep_is_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """B6: If the server fails to archive the others after a merge, a repeated request does that, once."""
    async with grove(tmp_path) as trees:
        root = await trees.root(permissionMode=MODE)
        race_id, [first, second] = await race(trees, root, "[[write a.txt one]]")
        services = trees.server.services

        async def broken(*_: object, **__: object) -> None:
            raise RuntimeError("cut off")

        with monkeypatch.context() as patch:
            patch.setattr(services.cascades, "run", broken)
            with pytest.raises(RuntimeError):
                await services.race_results.keep(Caller(), race_id, KeepBody(first))
        top = repo(trees)
        merged = commits(top)
        assert len(merged) == 2 and not (await trees.get(second))["archived"]
        with pytest.raises(Conflict, match="was kept"):
            await services.race_results.keep(Caller(), race_id, KeepBody(second))
        result = await keep(trees, race_id, first)
        assert result["merged"] == "fast_forward" and commits(top) == merged
        assert (await trees.get(second))["archived"] and not (await folder(trees, second)).exists()
