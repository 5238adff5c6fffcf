"""Tests checkpoints: every task records the files before and after it, and files can be compared and restored."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from bough.core.checkpoints import folders, take
from bough.core.store.transactions import Change
from bough.storage.queries import Query
from tests.api.error_responses import NOBODY, Json, refused
from tests.support.eventually import eventually
from tests.support.repos import git
from tests.support.server import Running, serving

MAY = {"permissionMode": "bypassPermissions"}
AGE = Query("age", "UPDATE checkpoints SET created_at = '2000' WHERE id = :id", "Makes a checkpoint old.")


@pytest.fixture
async def either(database_url: str, tmp_path: Path) -> AsyncGenerator[Running]:
    """Yields a server on each kind of database."""
    async with serving(tmp_path, database=database_url.removeprefix("sqlite://")) as running:
        yield running


async def opened(server: Running, path: Path, **fields: object) -> str:
    repo = await server.client.repo(path)
    return (await server.client.session(repo["id"], **{**MAY, **fields}))["id"]


async def ask(server: Running, session_id: str, text: str) -> Json:
    """Runs a prompt to its end and returns the task with its checkpoints."""
    ended = await server.client.ask(session_id, text)
    assert ended["status"] == "completed", ended["error"]
    return await server.client.get(f"/api/tasks/{ended['id']}")


async def restored(server: Running, task: Json, **body: Any) -> Json:
    return await server.client.post(f"/api/tasks/{task['id']}/restore", body)


def own_refs(path: Path) -> dict[str, str]:
    lines = git(path, "for-each-ref", "--format=%(refname) %(objectname)", "refs/bough/").splitlines()
    return dict(line.split(" ") for line in lines)


async def test_each_task_has_two_checkpoints(either: Running) -> None:
    """W4: A task has a checkpoint before and after it, each a commit on a hidden ref; the next task starts from the
    last one."""
    path = either.repo()
    session = await opened(either, path)
    first = await ask(either, session, "[[write a.txt one]]")
    second = await ask(either, session, "[[write a.txt two]] [[write b.txt new]]")
    before, after = first["checkpoints"]["before"], first["checkpoints"]["after"]
    assert (before["moment"], after["moment"]) == ("before", "after")
    assert before["sha"] == before["head"] == git(path, "rev-parse", "HEAD").strip()
    assert (before["branch"], before["note"], before["cwd"]) == ("main", None, str(path))
    assert git(path, "show", f"{after['sha']}:a.txt") == "one"
    assert second["checkpoints"]["before"]["sha"] == after["sha"]
    assert (first["gitBefore"]["dirty"], first["gitAfter"]["dirty"]) == (False, True)
    held = own_refs(path)
    for task in (first, second):
        for moment in ("before", "after"):
            checkpoint = task["checkpoints"][moment]
            assert checkpoint["ref"] == f"refs/bough/checkpoints/{session}/{task['id']}/{moment}"
            assert held[checkpoint["ref"]] == checkpoint["sha"]
    assert first["overlaps"] == []


async def test_an_unchanged_folder_stores_nothing_new(server: Running) -> None:
    """W4: A turn that changes no files has one ref for both checkpoints and reuses the previous commit."""
    path = server.repo()
    session = await opened(server, path)
    await ask(server, session, "[[write a.txt one]]")
    task = await ask(server, session, "[[say hello]]")
    before, after = task["checkpoints"]["before"], task["checkpoints"]["after"]
    assert (before["sha"], before["ref"]) == (after["sha"], after["ref"])
    assert len(own_refs(path)) == 3
    diff = await server.client.get(f"/api/tasks/{task['id']}/diff")
    assert (diff["files"], diff["text"]) == ([], "")


async def test_diff_of_a_task(either: Running) -> None:
    """W4, A2: A diff lists files with line counts and text, names binary files, detects renames, and can show one
    path."""
    path = either.repo()
    (path / "old.txt").write_text("line\n" * 20)
    (path / "data.bin").write_bytes(b"\0\1\2")
    session = await opened(either, path)
    script = "mv old.txt moved.txt; printf '\\0\\3' > data.bin; printf 'a\\nb\\n' > 'new ü.txt'; rm README.md"
    task = await ask(either, session, f"[[run {script}]]")
    diff = await either.client.get(f"/api/tasks/{task['id']}/diff")
    files = {
        item["path"]: (item["status"], item["oldPath"], item["additions"], item["deletions"], item["binary"])
        for item in diff["files"]
    }
    assert files == {
        "README.md": ("deleted", None, 0, 1, False),
        "data.bin": ("modified", None, 0, 0, True),
        "moved.txt": ("renamed", "old.txt", 0, 0, False),
        "new ü.txt": ("added", None, 2, 0, False),
    }
    assert "+++ b/new ü.txt" in diff["text"] and "rename to moved.txt" in diff["text"]
    assert "Binary files" in diff["text"] and (diff["additions"], diff["deletions"], diff["truncated"]) == (2, 1, False)
    assert diff["fromCheckpointId"] == task["checkpoints"]["before"]["id"]
    stat = await either.client.get(f"/api/tasks/{task['id']}/diff?stat=true")
    assert stat["text"] == "" and stat["files"] == diff["files"]
    single = await either.client.get(f"/api/tasks/{task['id']}/diff", params={"path": "new ü.txt"})
    assert [file["path"] for file in single["files"]] == ["new ü.txt"] and "README" not in single["text"]
    for wrong in ("../x", "/etc/passwd"):
        answer = await either.client.http.get(f"/api/tasks/{task['id']}/diff", params={"path": wrong})
        refused(answer, 400, "bad_path")


async def test_a_huge_diff_is_cut(server: Running) -> None:
    """W4: A long diff is truncated with a note, but its line counts are complete."""
    session = await opened(server, server.repo())
    task = await ask(server, session, "[[run seq 1 300000 > numbers]]")
    diff = await server.client.get(f"/api/tasks/{task['id']}/diff")
    assert diff["truncated"] and "cut after" in diff["note"]
    assert len(diff["text"]) <= 1024 * 1024 and diff["text"].endswith("\n")
    assert diff["additions"] == 300_000


async def test_diff_of_a_session_and_of_a_running_task(either: Running) -> None:
    """W4: A session's diff spans its first to its last task; during a turn, the diff ends with the files on disk."""
    path = either.repo()
    session = await opened(either, path)
    client = either.client
    refused(await client.http.get(f"/api/sessions/{session}/diff"), 409, "no_checkpoint")
    await ask(either, session, "[[write a.txt one]]")
    await ask(either, session, "[[write b.txt two]]")
    (path / "later.txt").write_text("by hand")
    diff = await client.get(f"/api/sessions/{session}/diff")
    assert [file["path"] for file in diff["files"]] == ["a.txt", "b.txt"] and diff["toCheckpointId"]
    running = await client.prompt(session, "[[write c.txt three]] [[hang]]")
    async with client.events(session) as events:
        if not (path / "c.txt").exists():
            await events.until(lambda event: (path / "c.txt").exists())
    diff = await client.get(f"/api/tasks/{running}/diff?stat=true")
    assert ([file["path"] for file in diff["files"]], diff["toCheckpointId"]) == (["c.txt"], None)
    diff = await client.get(f"/api/sessions/{session}/diff?stat=true")
    assert [file["path"] for file in diff["files"]] == ["a.txt", "b.txt", "c.txt", "later.txt"]
    await client.post(f"/api/sessions/{session}/stop")


async def test_restore_and_undo(either: Running) -> None:
    """W4: Restores files to before or after a task, with an undo; index and branch stay; the transcript records it."""
    path = either.repo()
    session = await opened(either, path)
    client = either.client
    task = await ask(either, session, "[[write a.txt one]] [[run rm README.md]]")
    await ask(either, session, "[[write a.txt two]]")
    (path / "staged").write_text("staged")
    git(path, "add", "staged")
    index = (path / ".git/index").read_bytes()
    done = await restored(either, task)
    assert (done["written"], done["removed"], done["left"]) == (["README.md"], ["a.txt", "staged"], [])
    assert (path / "README.md").exists() and not (path / "a.txt").exists()
    assert (path / ".git/index").read_bytes() == index
    back = await client.post(f"/api/checkpoints/{done['undoCheckpointId']}/restore")
    assert (path / "a.txt").read_text() == "two" and (path / "staged").read_text() == "staged"
    assert not (path / "README.md").exists()
    assert back["undoCheckpointId"] != done["undoCheckpointId"]
    done = await restored(either, task, moment="after", paths=["a.txt"])
    assert (path / "a.txt").read_text() == "one" and (path / "staged").exists()
    undo = await client.get(f"/api/checkpoints/{done['undoCheckpointId'][-8:]}")
    assert (undo["moment"], undo["taskId"]) == ("restore", task["id"])
    again = await restored(either, task, moment="after", paths=["a.txt"])
    assert (again["undoCheckpointId"], again["note"]) == (None, "No file had to change.")
    messages = await client.get(f"/api/sessions/{session}/messages")
    notices = [message["content"] for message in messages if message["content"]["type"] == "notice"]
    assert sum("were restored" in notice["text"] for notice in notices) == 3
    assert notices[-1]["undoCheckpointId"] == done["undoCheckpointId"]
    assert done["undoCheckpointId"] in notices[-1]["text"]
    refused(await client.http.post(f"/api/tasks/{task['id']}/restore", json={"paths": ["../x"]}), 400, "bad_path")
    refused(await client.http.post(f"/api/tasks/{NOBODY}/restore", json={}), 404, "task_not_found")
    refused(await client.http.get(f"/api/checkpoints/{NOBODY}"), 404, "checkpoint_not_found")


async def test_the_agent_learns_of_a_restore_once(tmp_path: Path, database_url: str) -> None:
    """W4: The agent's next prompt names the restored files, even after a server restart; later prompts do not."""
    path = tmp_path / "work" / "repo"
    database = database_url.removeprefix("sqlite://")
    async with serving(tmp_path, database=database) as server:
        session = await opened(server, server.repo())
        task = await ask(server, session, "[[write a.txt one]] [[run rm README.md]]")
        await restored(server, task)
        # A restore that changes nothing is not reported.
        assert (await restored(server, task))["undoCheckpointId"] is None
    assert (path / "README.md").exists()
    async with serving(tmp_path, database=database) as server:
        for _ in range(2):
            await ask(server, session, "[[recall]]")
            known = (await server.client.texts(session))[-1]
            assert known.count("files were restored to an earlier state") == 1
            assert known.count("written: README.md") == 1 and known.count("removed: a.txt") == 1


async def test_a_key_restores_once(either: Running) -> None:
    """A4: The same key returns the same answer and does nothing again; a refused request does not use up its key."""
    path = either.repo()
    session = await opened(either, path)
    task = await ask(either, session, "[[write a.txt one]]")
    body = {"paths": ["a.txt"], "idempotencyKey": "once"}
    running = await either.client.prompt(session, "[[hang]]")
    await either.client.wait_task(running, "running")
    refused(await either.client.http.post(f"/api/tasks/{task['id']}/restore", json=body), 409, "folder_busy")
    await either.client.post(f"/api/sessions/{session}/stop")
    first = await restored(either, task, **body)
    assert first["removed"] == ["a.txt"]
    (path / "a.txt").write_text("again")
    assert await restored(either, task, **body) == first
    assert (path / "a.txt").read_text() == "again"
    pruned = await either.client.post("/api/checkpoints/prune", {"days": 0, "idempotencyKey": "once"})
    assert pruned["pruned"] == 5
    assert await either.client.post("/api/checkpoints/prune", {"days": 0, "idempotencyKey": "once"}) == pruned


async def test_a_running_turn_blocks_a_restore(server: Running) -> None:
    """W4: A restore is refused while any session runs a turn in the folder, unless forced."""
    path = server.repo()
    session, other = await opened(server, path), await opened(server, path)
    task = await ask(server, session, "[[write a.txt one]]")
    running = await server.client.prompt(other, "[[hang]]")
    await server.client.wait_task(running, "running")
    error = refused(await server.client.http.post(f"/api/tasks/{task['id']}/restore", json={}), 409, "folder_busy")
    assert (error["details"]["tasks"], error["details"]["sessions"]) == ([running], [other])
    assert (path / "a.txt").exists()
    await restored(server, task, force=True)
    assert not (path / "a.txt").exists()
    await server.client.post(f"/api/sessions/{other}/stop")


async def test_overlaps_are_recorded_both_ways(either: Running) -> None:
    """W4: Tasks of different sessions that ran in one folder at the same time list each other."""
    path = either.repo()
    session, other = await opened(either, path), await opened(either, path)
    apart = await opened(either, either.repo("apart"))
    client = either.client
    alone = await ask(either, session, "[[say alone]]")
    long = await client.prompt(session, "[[hang]]")
    await client.wait_task(long, "running")
    short = await ask(either, other, "[[write b.txt two]]")
    elsewhere = await ask(either, apart, "[[say elsewhere]]")
    assert short["overlaps"] == [long]
    assert (await client.get(f"/api/tasks/{long}"))["overlaps"] == [short["id"]]
    await client.post(f"/api/sessions/{session}/stop")
    after = await ask(either, other, "[[say after]]")
    assert (alone["overlaps"], elsewhere["overlaps"], after["overlaps"]) == ([], [], [])
    assert (await client.get(f"/api/tasks/{long}/diff"))["overlaps"] == [short["id"]]


async def test_a_restore_does_not_undo_other_sessions(either: Running) -> None:
    """W4: Refuses a restore that would undo another session's task, and names the task, unless forced."""
    path = either.repo()
    session, other = await opened(either, path), await opened(either, path)
    client = either.client
    mine = await ask(either, session, "[[write a.txt one]] [[write mine.txt one]]")
    theirs = await ask(either, other, "[[write a.txt two]]")
    await ask(either, other, "[[say nothing was changed by this]]")
    error = refused(await client.http.post(f"/api/tasks/{mine['id']}/restore", json={}), 409, "would_undo_others")
    assert (error["details"]["tasks"], error["details"]["sessions"]) == ([theirs["id"]], [other])
    assert (path / "a.txt").read_text() == "two"
    assert (await restored(either, mine, paths=["mine.txt"]))["removed"] == ["mine.txt"]
    assert (await restored(either, mine, force=True))["removed"] == ["a.txt"]
    assert (await restored(either, theirs, moment="after"))["written"] == ["a.txt", "mine.txt"]


async def test_a_restore_does_not_undo_overlapping_work(server: Running) -> None:
    """W4: Another session's work during the task is protected like work that came later."""
    path = server.repo()
    session, other = await opened(server, path), await opened(server, path)
    client = server.client
    long = await client.prompt(session, "[[write mine.txt one]] [[hang]]")
    await client.wait_task(long, "running")
    short = await ask(server, other, "[[write theirs.txt two]]")
    await client.post(f"/api/sessions/{session}/stop")
    answer = await client.http.post(f"/api/tasks/{long}/restore", json={"paths": ["theirs.txt"]})
    assert refused(answer, 409, "would_undo_others")["details"]["tasks"] == [short["id"]]


async def test_a_restore_does_not_undo_interrupted_work(tmp_path: Path) -> None:
    """W4, O2: Another session's interrupted task that is still to be continued protects its files."""
    async with serving(tmp_path, on_interrupt="hold") as server:
        path = server.repo()
        session, other = await opened(server, path), await opened(server, path)
        client = server.client
        theirs = await client.prompt(other, "[[write theirs.txt two]] [[crash]]")
        await client.wait_task(theirs, "interrupted")
        mine = await ask(server, session, "[[write theirs.txt one]] [[write mine.txt one]]")
        answer = await client.http.post(f"/api/tasks/{mine['id']}/restore", json={"paths": ["theirs.txt"]})
        error = refused(answer, 409, "would_undo_others")
        assert (error["details"]["tasks"], error["details"]["sessions"]) == ([theirs], [other])
        assert (path / "theirs.txt").read_text() == "one"
        await client.post(f"/api/sessions/{other}/stop")


async def test_a_restore_does_not_undo_a_purged_session(either: Running) -> None:
    """W4: The work of a purged session is still protected from another session's restore."""
    path = either.repo()
    session, other = await opened(either, path), await opened(either, path)
    client = either.client
    mine = await ask(either, session, "[[write a.txt one]] [[write mine.txt one]]")
    theirs = await ask(either, other, "[[write a.txt two]]")
    await client.call("DELETE", f"/api/sessions/{other}?purge=true")
    error = refused(await client.http.post(f"/api/tasks/{mine['id']}/restore", json={}), 409, "would_undo_others")
    assert (error["details"]["tasks"], error["details"]["sessions"]) == ([theirs["id"]], [other])
    assert "which was removed" in error["message"]
    assert (await restored(either, mine, paths=["mine.txt"]))["removed"] == ["mine.txt"]


async def test_a_plain_folder_has_no_checkpoints(server: Running) -> None:
    """W4, W1: Tasks run in a folder without git, and a diff or restore says why there are no checkpoints."""
    path = server.root / "plain"
    path.mkdir()
    session = await opened(server, path)
    task = await ask(server, session, "[[write a.txt one]]")
    assert task["checkpoints"] == {"before": None, "after": None}
    error = refused(await server.client.http.get(f"/api/tasks/{task['id']}/diff"), 409, "no_checkpoint")
    assert "not a git repository" in error["message"]
    refused(await server.client.http.post(f"/api/tasks/{task['id']}/restore", json={}), 409, "no_checkpoint")


async def test_too_much_data_prevents_the_checkpoint(tmp_path: Path) -> None:
    """W4: A folder with more uncommitted data than the limit gets a note instead of a checkpoint, and the task still
    runs."""
    async with serving(tmp_path, checkpoint_bytes=1000) as server:
        path = server.repo()
        session = await opened(server, path)
        (path / "huge").write_bytes(b"x" * 2000)
        task = await ask(server, session, "[[say hello]]")
        for moment in ("before", "after"):
            checkpoint = task["checkpoints"][moment]
            assert checkpoint["sha"] is None and "2000 bytes in 1 files" in checkpoint["note"]
        assert task["gitBefore"]["dirty"] is True
        error = refused(await server.client.http.get(f"/api/tasks/{task['id']}/diff"), 409, "no_checkpoint")
        assert "2000 bytes" in error["message"]
        assert own_refs(path) == {}


async def test_the_ref_of_a_prompt_is_of_the_files_it_found(tmp_path: Path) -> None:
    """W4: The ref of the files before a task is right if they changed since the last turn, and gone if they became too
    large to take."""
    async with serving(tmp_path, checkpoint_bytes=1000) as server:
        path = server.repo()
        session = await opened(server, path)
        await ask(server, session, "[[say hello]]")
        (path / "mine.txt").write_text("by hand")
        changed = await ask(server, session, "[[say hello]]")
        sha = changed["checkpoints"]["before"]["sha"]
        assert own_refs(path)[f"refs/bough/checkpoints/{session}/{changed['id']}/before"] == sha
        assert git(path, "show", f"{sha}:mine.txt") == "by hand"
        (path / "mine.txt").write_bytes(b"x" * 2000)
        huge = await ask(server, session, "[[say hello]]")
        assert huge["checkpoints"]["before"]["sha"] is None
        assert not [ref for ref in own_refs(path) if huge["id"] in ref]


async def test_a_slow_folder_delays_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """W4: A folder that takes too long to scan gets no checkpoint, and is skipped for a while."""
    async with serving(tmp_path, checkpoint_patience=0.001) as server:
        path = server.repo()
        session = await opened(server, path)
        (path / "new").write_text("new")
        looked: list[str] = []
        real = take.take

        async def counted(cwd: str, **how: Any) -> Any:
            looked.append(cwd)
            return await real(cwd, **how)

        monkeypatch.setattr(take, "take", counted)
        first = await ask(server, session, "[[say hello]]")
        second = await ask(server, session, "[[say hello]]")
        for task in (first, second):
            assert "too large" in task["checkpoints"]["before"]["note"] and task["checkpoints"]["before"]["sha"] is None
        assert looked == [str(path)]
        assert second["gitBefore"]["dirty"] is True
        monkeypatch.setattr(folders, "TRY_AGAIN", -1.0)
        server.services.checkpoints.folders = folders.Folders()
        await ask(server, session, "[[say hello]]")
        await ask(server, session, "[[say hello]]")
        assert len(looked) == 5


async def test_waiting_for_the_lock_does_not_count_as_slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """W4: The time limit applies to scanning a folder, not to waiting while others scan it."""
    # So short that it expires as soon as the event loop does anything else.
    async with serving(tmp_path, checkpoint_patience=1e-9) as server:
        path = server.repo()
        session = await opened(server, path)
        (path / "new").write_text("new")
        shot = await take.take(str(path))

        async def at_once(_cwd: str, **_how: Any) -> Any:
            return shot

        monkeypatch.setattr(take, "take", at_once)
        service = server.services.checkpoints
        alone, waits = service.alone, asyncio.Event()

        @asynccontextmanager
        async def waited_for(cwd: str) -> AsyncGenerator[None]:
            waits.set()
            async with alone(cwd):
                yield

        monkeypatch.setattr(service, "alone", waited_for)
        async with alone(str(path)), asyncio.timeout(30):
            task = await server.client.prompt(session, "[[say hello]]")
            await waits.wait()
            await server.client.get("/api/health")
        await server.client.wait_task(task)
        before = (await server.client.get(f"/api/tasks/{task}"))["checkpoints"]["before"]
        assert (before["sha"], before["note"]) == (shot.sha, None)
        assert not service.folders.is_slow(str(path))


async def test_a_broken_repository_delays_nothing(server: Running) -> None:
    """W4: If git fails, the task has no checkpoint but still runs."""
    path = server.repo()
    session = await opened(server, path)
    (path / ".git/index").write_bytes(b"no index")
    task = await ask(server, session, "[[say hello]]")
    assert task["checkpoints"]["before"]["sha"] is None
    assert task["checkpoints"]["before"]["note"].startswith("No checkpoint: git status failed")


async def test_without_git(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """W4: Tasks still run if git is no longer installed."""
    session = await opened(server, server.repo())
    await ask(server, session, "[[say hello]]")
    # Not below /tmp: where agents left a `.git` there, everything below counts as theirs.
    monkeypatch.setenv("PATH", "/nonexistent")
    task = await ask(server, session, "[[say hello]]")
    assert "The program git was not found" in task["checkpoints"]["before"]["note"]
    assert task["gitBefore"] is None


async def test_checkpoints_can_be_turned_off(tmp_path: Path) -> None:
    """L2: With checkpoints off, tasks still record the git state before and after."""
    async with serving(tmp_path, checkpoints=False) as server:
        path = server.repo()
        task = await ask(server, await opened(server, path), "[[write a.txt one]]")
        assert task["checkpoints"] == {"before": None, "after": None}
        assert (task["gitBefore"]["dirty"], task["gitAfter"]["dirty"]) == (False, True)
        assert own_refs(path) == {}


async def test_a_second_attempt_keeps_the_first_checkpoint(server: Running) -> None:
    """W4, O2: An interrupted turn that is continued keeps the checkpoint from before its first attempt."""
    path = server.repo()
    session = await opened(server, path)
    # The continuation has no directive and writes nothing, so every change comes from the first attempt.
    task = await ask(server, session, "[[write a.txt one]] [[crash]]")
    assert task["attempt"] == 2
    diff = await server.client.get(f"/api/tasks/{task['id']}/diff")
    assert [file["path"] for file in diff["files"]] == ["a.txt"]


async def test_a_cancelled_prompt_leaves_no_ref(server: Running) -> None:
    """W4: A task that was never sent to an agent has no checkpoint."""
    path = server.repo()
    session = await opened(server, path)
    running = await server.client.prompt(session, "[[hang]]")
    await server.client.wait_task(running, "running")
    waiting = await server.client.prompt(session, "[[say later]]")
    await server.client.call("DELETE", f"/api/tasks/{waiting}")
    task = await server.client.get(f"/api/tasks/{waiting}")
    assert task["checkpoints"] == {"before": None, "after": None}
    await server.client.post(f"/api/sessions/{session}/stop")


async def test_old_checkpoints_are_pruned(either: Running) -> None:
    """W4: Pruning removes the refs of old checkpoints and of purged sessions, and keeps all others."""
    path = either.repo()
    gone, stays = await opened(either, path), await opened(either, path)
    await ask(either, gone, "[[write a.txt one]]")
    later = await ask(either, stays, "[[write b.txt two]]")
    client = either.client
    assert (await client.get("/api/checkpoints"))["total"] == 4
    assert (await client.get(f"/api/checkpoints?sessionId={gone}"))["total"] == 2
    assert (await client.get(f"/api/checkpoints?taskId={later['id']}&limit=1"))["total"] == 2
    assert await either.services.pruning.prune() == 0
    await client.call("DELETE", f"/api/sessions/{gone}?purge=true")
    left = path / ".git" / f"bough-index-{os.getpid()}-left"
    left.write_text("")
    assert await either.services.pruning.prune() == 2 and not left.exists()
    assert {ref.split("/")[3] for ref in own_refs(path)} == {stays}
    assert (await client.post("/api/checkpoints/prune", {"days": 0})) == {"pruned": 2}
    assert own_refs(path) == {} and (await client.get("/api/checkpoints"))["checkpoints"] == []
    refused(await client.http.get(f"/api/tasks/{later['id']}/diff"), 409, "no_checkpoint")


async def test_leftovers_of_a_killed_server_are_removed(tmp_path: Path) -> None:
    """W4: A starting server removes the temporary indexes that a killed server left behind."""
    async with serving(tmp_path) as server:
        path = server.repo()
        await ask(server, await opened(server, path), "[[write a.txt one]]")
    left = path / ".git" / f"bough-index-{os.getpid()}-left"
    left.write_text("")
    async with serving(tmp_path):
        await eventually(lambda: not left.exists(), "the temporary index is gone")


async def test_a_shared_ref_stays_until_its_last_checkpoint_goes(either: Running) -> None:
    """W4: A task that changed nothing has one ref for both checkpoints, which is removed with the later one."""
    path = either.repo()
    task = await ask(either, await opened(either, path), "Nothing to do.")
    before, after = task["checkpoints"]["before"], task["checkpoints"]["after"]
    assert before["ref"] == after["ref"]

    async def age(change: Change) -> None:
        await change.tx.run(AGE, id=before["id"])

    await either.services.store.write(age)
    assert await either.services.pruning.prune() == 1
    assert list(own_refs(path)) == [after["ref"]]
    assert await either.services.pruning.prune(0) == 1
    assert own_refs(path) == {}


async def test_removing_a_repository_removes_its_refs(either: Running) -> None:
    """W4, R1: Removing a repository deletes the refs of its checkpoints, and no others."""
    path = either.repo()
    session = await opened(either, path)
    await ask(either, session, "[[write a.txt one]]")
    assert len(own_refs(path)) == 2
    others = "refs/bough/checkpoints/of/another/server"
    git(path, "update-ref", others, "HEAD")
    (repo,) = (await either.client.get("/api/repos"))["repos"]
    await either.client.call("DELETE", f"/api/sessions/{session}?purge=true")
    await either.client.call("DELETE", f"/api/repos/{repo['id']}")
    assert list(own_refs(path)) == [others]


async def test_one_failing_repository_does_not_block_pruning(server: Running) -> None:
    """W4: Checkpoints that cannot be pruned now are left for later; those of a missing folder are pruned."""
    broken, gone, fine = (server.repo(name) for name in ("broken", "gone", "fine"))
    for path in (broken, gone, fine):
        await ask(server, await opened(server, path), "[[write a.txt one]]")
    (broken / ".git/HEAD").rename(broken / "HEAD")
    gone.rename(server.root / "moved")
    assert await server.services.pruning.prune(0) == 4
    assert own_refs(fine) == {}
    (broken / "HEAD").rename(broken / ".git/HEAD")
    assert await server.services.pruning.prune(0) == 2
    assert own_refs(broken) == {}


async def test_a_checkpoint_whose_commit_is_gone(server: Running) -> None:
    """W4: If a checkpoint's commit is gone, a diff or restore is refused and changes nothing."""
    path = server.repo()
    session = await opened(server, path)
    task = await ask(server, session, "[[write a.txt one]]")
    (path / "a.txt").unlink()
    for ref in own_refs(path):
        git(path, "update-ref", "-d", ref)
    git(path, "gc", "--quiet", "--prune=now")
    refused(await server.client.http.get(f"/api/tasks/{task['id']}/diff"), 409, "checkpoint_gone")
    answer = await server.client.http.post(f"/api/tasks/{task['id']}/restore", json={"moment": "after"})
    refused(answer, 409, "checkpoint_gone")
    assert not (path / "a.txt").exists()


async def test_no_turn_starts_during_a_restore(server: Running) -> None:
    """W4: A prompt that arrives during a restore waits, so its checkpoint holds the restored files."""
    path = server.repo()
    session = await opened(server, path)
    await ask(server, session, "[[write a.txt one]]")
    async with server.services.checkpoints.gate(str(path)):
        task = await server.client.prompt(session, "[[say hello]]")
        await server.client.wait_task(task, "dispatching")
        (path / "a.txt").write_text("brought back")
    await server.client.wait_task(task)
    row = await server.client.get(f"/api/tasks/{task}")
    assert git(path, "show", f"{row['checkpoints']['before']['sha']}:a.txt") == "brought back"


async def test_many_sessions_in_one_folder(server: Running) -> None:
    """W4: Several sessions that run in one folder at once each have complete checkpoints."""
    path = server.repo()
    sessions = [await opened(server, path) for _ in range(4)]
    tasks = await asyncio.gather(
        *(ask(server, session, f"[[write {number}.txt x]]") for number, session in enumerate(sessions))
    )
    for number, task in enumerate(tasks):
        after = task["checkpoints"]["after"]
        assert git(path, "show", f"{after['sha']}:{number}.txt") == "x"
