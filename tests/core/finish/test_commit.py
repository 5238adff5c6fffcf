"""Tests commits of a worktree's files: chosen files, proposed messages, hooks, and what is refused."""

from __future__ import annotations

import asyncio

import pytest

from bough.core.finish.operations import Operations
from bough.errors import Conflict
from tests.api.error_responses import refused
from tests.api.worktree_helpers import at, commit, head, hook, made
from tests.core.finish.finish_helpers import log, parents, start, status
from tests.support.repos import git
from tests.support.server import Running


async def test_a_commit_holds_the_chosen_files_and_leaves_the_rest(server: Running) -> None:
    """F1: Chosen files are committed as they are on disk; other changes stay, staged ones stay staged, and a preview
    changes nothing."""
    work = await start(server)
    commit(work.folder, "doomed.txt")
    (work.folder / "README.md").write_text("changed\n")
    (work.folder / "new ünïcode.txt").write_text("new\n")
    (work.folder / "doomed.txt").unlink()
    (work.folder / "staged.txt").write_text("staged\n")
    git(work.folder, "add", "staged.txt")
    (work.folder / "link").symlink_to("nowhere")
    before = head(work.folder)
    state = await work.state()
    assert {(file["path"], file["status"]) for file in state["files"]} == {
        ("README.md", "modified"),
        ("doomed.txt", "deleted"),
        ("link", "added"),
        ("new ünïcode.txt", "added"),
        ("staged.txt", "added"),
    }
    chosen = ["README.md", "new ünïcode.txt", "doomed.txt", "link"]
    preview = await work.preview("commit", message="Change a few.", files=chosen)
    assert (preview["refusal"], preview["filesTotal"], preview["sha"]) == (None, 4, None)
    assert preview["steps"] == ["Commit 4 files to feature."]
    assert (head(work.folder), len(status(work.folder))) == (before, 5)
    done = await work.do("commit", message="Change a few.\n\nBecause.", files=chosen)
    assert done["sha"] == head(work.folder) and parents(work.folder, "HEAD") == [before]
    assert git(work.folder, "log", "-1", "--format=%B").strip() == "Change a few.\n\nBecause."
    assert git(work.folder, "show", "HEAD:README.md") == "changed\n"
    assert status(work.folder) == ["A  staged.txt"]


async def test_the_proposed_message_is_taken_from_the_last_turn(server: Running) -> None:
    """F1: Without a message, the session's title and the agent's last words of the last turn are the message."""
    work = await start(server)
    assert (await work.state())["proposed"] == {"message": "feature", "sessionId": None}
    session = await work.session(agent="demo", title="Add a greeting", permissionMode="bypassPermissions")
    await server.client.ask(session["id"], "[[write hello.txt Hello]] [[say Wrote a greeting.]]")
    proposed = (await work.state())["proposed"]
    assert proposed == {"message": "Add a greeting\n\nWrote a greeting.", "sessionId": session["id"]}
    done = await work.do("commit")
    assert done["files"] == ["hello.txt"]
    assert git(work.folder, "log", "-1", "--format=%B").strip() == proposed["message"]


async def test_a_repeated_commit_is_made_once(server: Running) -> None:
    """A4, F1: A repeated request with the same key returns the first answer, and another request with it is refused."""
    work = await start(server)
    (work.folder / "a.txt").write_text("a\n")
    body = {"message": "One.", "idempotencyKey": "once"}
    first = await work.do("commit", **body)
    (work.folder / "b.txt").write_text("b\n")
    assert await work.do("commit", **body) == first
    assert log(work.folder) == ["One.", "Begin."]
    path = f"/api/worktrees/{work.worktree['id']}/commit"
    refused(await server.client.http.post(path, json={**body, "message": "Two."}), 409, "idempotency_key_reused")


async def test_equal_requests_at_the_same_time_act_once(server: Running) -> None:
    """A4, F1: A request that is repeated while the first one is under way waits for it and gets the same answer."""
    work = await start(server)
    (work.folder / "a.txt").write_text("a\n")
    body = {"message": "One.", "idempotencyKey": "once"}
    first, second = await asyncio.gather(work.do("commit", **body), work.do("commit", **body))
    assert first == second and log(work.folder) == ["One.", "Begin."]


@pytest.mark.parametrize("verb", ["commit", "merge"])
async def test_a_request_repeated_after_a_kill_acts_once(
    server: Running, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    """A4, F1, F3: If the server is killed between git's work and its record, the repeated request returns the commit
    that was made, and records it."""
    work = await start(server)
    commit(work.folder, "a.txt")
    if verb == "commit":
        (work.folder / "b.txt").write_text("b\n")
    body = {"message": "Once.", "idempotencyKey": "once", **({"how": "squash"} if verb == "merge" else {})}
    path = f"/api/worktrees/{work.worktree['id']}/{verb}"

    async def killed(*_: object) -> None:
        raise Conflict("killed", "The server was killed.")

    with monkeypatch.context() as patch:
        patch.setattr(Operations, "_record", killed)
        refused(await server.client.http.post(path, json=body), 409, "killed")
    branch = work.folder if verb == "commit" else work.main
    sha = head(branch)
    assert log(branch)[0] == "Once."
    (work.folder / "c.txt").write_text("c\n")
    done = await work.do(verb, **body)
    assert (done["sha"], head(branch), done["message"]) == (sha, sha, "Once.")
    assert await work.do(verb, **body) == done
    action = {"commit": "worktree.committed", "merge": "worktree.merged"}[verb]
    entries = (await server.client.get("/api/audit", params={"action": action}))["entries"]
    assert [entry["details"]["sha"] for entry in entries] == [sha]


async def test_what_cannot_be_committed_is_refused(server: Running) -> None:
    """F1: No change, an unknown file and an empty message are refused, with the reason in the preview too."""
    work = await start(server)
    await work.refused("commit", "nothing_to_commit", message="None.")
    (work.folder / "a.txt").write_text("a\n")
    error = await work.refused("commit", "nothing_to_commit", message="None.", files=[])
    assert "Choose at least one file" in error["message"]
    error = await work.refused("commit", "file_not_changed", message="One.", files=["a.txt", "README.md"])
    assert error["details"]["files"] == ["README.md"]
    path = f"/api/worktrees/{work.worktree['id']}/commit"
    for message in (" \n ", "a\0b"):
        refused(await server.client.http.post(path, json={"message": message}), 400, "bad_message")


async def test_hooks_run_only_where_a_person_allowed_them(server: Running) -> None:
    """F1: Hooks of the repository run in a commit only where a person allowed them, and may refuse it then."""
    work = await start(server)
    hook(work.main, "pre-commit", "touch hooked.mark; test ! -e forbidden.txt")
    (work.folder / "a.txt").write_text("a\n")
    await work.do("commit", message="# Without hooks.")
    assert not (work.folder / "hooked.mark").exists()
    await server.client.allow_git(work.repo["id"], hooks=True)
    (work.folder / "b [1].txt").write_text("b\n")
    (work.folder / "c.txt").write_text("c\n")
    preview = await work.preview("commit", message="With.", files=["b [1].txt"])
    assert any("hooks" in step for step in preview["steps"])
    await work.do("commit", message="# With hooks.", files=["b [1].txt"])
    assert (work.folder / "hooked.mark").exists()
    assert log(work.folder) == ["# With hooks.", "# Without hooks.", "Begin."]
    assert "?? c.txt" in status(work.folder)
    (work.folder / "forbidden.txt").write_text("f\n")
    before = head(work.folder)
    path = f"/api/worktrees/{work.worktree['id']}/commit"
    refused(await server.client.http.post(path, json={"message": "No."}), 409, "hook_failed")
    assert head(work.folder) == before


async def test_files_with_a_filter_that_nobody_allowed_are_refused(server: Running) -> None:
    """F1: A file whose filter nobody allowed is not committed raw; others are."""
    work = await start(server)
    commit(work.folder, ".gitattributes", "*.big filter=upper\n")
    git(work.main, "config", "filter.upper.clean", "tr a-z A-Z")
    (work.folder / "a.big").write_text("raw\n")
    (work.folder / "b.txt").write_text("plain\n")
    error = await work.refused("commit", "filter_not_allowed", message="Both.")
    assert error["details"]["files"] == ["a.big"]
    await work.do("commit", message="Plain.", files=["b.txt"])
    await server.client.allow_git(work.repo["id"], filters=True)
    await work.do("commit", message="Filtered.")
    assert git(work.folder, "show", "HEAD:a.big") == "RAW\n"


async def test_a_running_turn_blocks_a_commit_unless_forced(server: Running) -> None:
    """F1: While a turn runs in the worktree, a commit is refused, unless it is forced."""
    work = await start(server)
    (work.folder / "a.txt").write_text("a\n")
    session = await work.session(agent="demo")
    task = await server.client.prompt(session["id"], "[[hang]]")
    await server.client.wait_task(task, "running")
    assert (await work.state())["running"] == [session["id"]]
    error = await work.refused("commit", "folder_busy", message="Now.")
    assert error["details"]["sessions"] == [session["id"]]
    await work.do("commit", message="Now.", force=True)
    assert log(work.folder) == ["Now.", "Begin."]


async def test_a_turn_in_a_subfolder_blocks_the_whole_worktree(server: Running) -> None:
    """F1, F3: A turn in a folder below the worktree's top counts as one in the worktree; one in another worktree below
    the base's checkout does not count as one in the base."""
    work = await start(server)
    commit(work.folder, "docs/a.txt")
    (work.folder / "docs" / "b.txt").write_text("b\n")
    session = await work.session(agent="demo", folder="docs")
    assert session["cwd"] == str(work.folder / "docs")
    task = await server.client.prompt(session["id"], "[[hang]]")
    await server.client.wait_task(task, "running")
    assert (await work.state())["running"] == [session["id"]]
    for verb in ("commit", "update", "merge"):
        error = await work.refused(verb, "folder_busy")
        assert error["details"]["sessions"] == [session["id"]]
    await server.client.post(f"/api/sessions/{session['id']}/stop")
    await server.client.wait_task(task)
    await work.do("commit", message="B.")
    other = await made(server.client, work.repo, "other", path=str(work.main / "inside"))
    assert at(other["path"]).is_relative_to(work.main)
    session = await server.client.session(work.repo["id"], worktreeId=other["id"], agent="demo")
    task = await server.client.prompt(session["id"], "[[hang]]")
    await server.client.wait_task(task, "running")
    await work.do("merge", how="ff")
    assert head(work.main) == head(work.folder)


async def test_operations_are_in_the_audit_trail(server: Running) -> None:
    """F1: The audit trail says who committed what in which worktree."""
    work = await start(server)
    (work.folder / "a.txt").write_text("a\n")
    done = await work.do("commit", message="One.")
    entries = (await server.client.get("/api/audit", params={"action": "worktree.committed"}))["entries"]
    assert [entry["subjectId"] for entry in entries] == [work.worktree["id"]]
    assert entries[0]["details"]["sha"] == done["sha"]


async def test_a_removed_worktree_cannot_be_finished(server: Running) -> None:
    """F1: A removed worktree has no state to finish."""
    work = await start(server)
    other = await made(server.client, work.repo, "other")
    assert at(other["path"]).is_dir()
    await server.client.call("DELETE", f"/api/worktrees/{other['id']}")
    assert await server.client.get(f"/api/worktrees/{other['id']}/finish") is None
