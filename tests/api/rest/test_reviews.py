"""Tests reviews: changed files against their base, viewed marks, drafts of comments, and sending them as one prompt."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from tests.api.error_responses import NOBODY, Json, refused
from tests.api.worktree_helpers import commit, made
from tests.support.people import as_user
from tests.support.repos import git
from tests.support.server import Running, serving

MAY = {"permissionMode": "bypassPermissions"}
LINES = "".join(f"line {number}\n" for number in range(1, 21))


@pytest.fixture
async def either(database_url: str, tmp_path: Path) -> AsyncGenerator[Running]:
    """Yields a server on each kind of database."""
    async with serving(tmp_path, database=database_url.removeprefix("sqlite://")) as running:
        yield running


async def reviewed(server: Running, *, prompt: str = "[[say ok]]") -> tuple[Json, Json, Path]:
    """Creates a worktree with a committed file `a.txt` on its base, and an idle session in it."""
    path = server.repo()
    commit(path, "a.txt", LINES)
    repo = await server.client.repo(path)
    worktree = await made(server.client, repo)
    session = await server.client.session(repo["id"], worktreeId=worktree["id"], **MAY)
    await server.client.ask(session["id"], prompt)
    return worktree, session, Path(worktree["path"])


async def review(server: Running, kind: str, subject: Json | str) -> Json:
    subject_id = subject if isinstance(subject, str) else subject["id"]
    return await server.client.get(f"/api/reviews/{kind}/{subject_id}")


async def add(server: Running, worktree: Json, **fields: Any) -> Json:
    body = {"path": "a.txt", "startLine": 5, "body": "Why?", **fields}
    return await server.client.post(f"/api/reviews/worktree/{worktree['id']}/comments", body)


def by_path(answer: Json) -> dict[str, Json]:
    return {file["path"]: file for file in answer["files"]}


async def test_a_worktree_is_compared_with_its_base(server: Running) -> None:
    """V1: A review lists committed, uncommitted, renamed, binary and untracked files with counts, without ignored
    ones, and gives the change of each on demand."""
    worktree, session, folder = await reviewed(server)
    commit(folder, "committed.txt", "new\n")
    (folder / "a.txt").write_text(LINES.replace("line 5\n", "line five\n"))
    (folder / "untracked.bin").write_bytes(bytes(range(256)) * 8)
    (folder / ".gitignore").write_text("*.secret\n")
    (folder / "hidden.secret").write_text("hidden\n")
    git(folder, "mv", "README.md", "GUIDE.md")
    answer = await review(server, "worktree", worktree)
    files = by_path(answer)
    assert sorted(files) == [".gitignore", "GUIDE.md", "a.txt", "committed.txt", "untracked.bin"]
    assert (files["a.txt"]["status"], files["a.txt"]["additions"], files["a.txt"]["deletions"]) == ("modified", 1, 1)
    assert (files["GUIDE.md"]["status"], files["GUIDE.md"]["oldPath"]) == ("renamed", "README.md")
    assert files["untracked.bin"]["binary"] and not files["a.txt"]["binary"]
    assert (answer["additions"], answer["deletions"], answer["truncated"]) == (3, 1, False)
    assert [item["id"] for item in answer["sessions"]] == [session["id"]]
    address = f"/api/reviews/worktree/{worktree['id']}/file"
    change = await server.client.get(address, params={"path": "a.txt"})
    assert "-line 5\n+line five\n" in change["patch"] and "line 20" not in change["patch"]
    assert change["hash"] == files["a.txt"]["hash"]
    whole = await server.client.get(address, params={"path": "a.txt", "whole": True})
    assert " line 1\n" in whole["patch"] and " line 20\n" in whole["patch"]
    renamed = await server.client.get(address, params={"path": "GUIDE.md"})
    assert "rename from README.md" in renamed["patch"]
    binary = await server.client.get(address, params={"path": "untracked.bin"})
    assert binary["binary"] and binary["patch"] == ""
    refused(await server.client.http.get(address, params={"path": "hidden.secret"}), 404, "not_in_review")
    refused(await server.client.http.get("/api/reviews/repo/x"), 400, "bad_subject")
    refused(await server.client.http.get(f"/api/reviews/session/{NOBODY}"), 404, "session_not_found")


async def test_a_large_change_is_cut_at_a_line(server: Running) -> None:
    """V1: The change of a very large file is cut at the end of a line and says so."""
    worktree, _, folder = await reviewed(server)
    (folder / "large.txt").write_text("".join(f"{number:099}\n" for number in range(20_000)))
    assert by_path(await review(server, "worktree", worktree))["large.txt"]["additions"] == 20_000
    params = {"path": "large.txt"}
    change = await server.client.get(f"/api/reviews/worktree/{worktree['id']}/file", params=params)
    assert change["truncated"] and len(change["patch"]) <= 1024 * 1024 and change["patch"].endswith("\n")


async def test_changes_that_came_from_the_base_are_left_out(server: Running) -> None:
    """V1: After a worktree was updated from its base, its review shows only its own changes."""
    worktree, _, folder = await reviewed(server)
    commit(folder, "own.txt")
    commit(server.root / "repo", "theirs.txt")
    git(folder, "merge", "--quiet", "--no-edit", "main")
    assert sorted(by_path(await review(server, "worktree", worktree))) == ["own.txt"]


async def test_sessions_tasks_and_forks_are_reviewed(server: Running) -> None:
    """V1: A session's review shows all its tasks, a task's only its own, and a fork's what it changed since."""
    path = server.repo()
    repo = await server.client.repo(path)
    session = await server.client.session(repo["id"], **MAY)
    empty = await review(server, "session", session)
    assert (empty["files"], empty["drafts"]) == ([], 0) and "no checkpoint" in empty["note"]
    first = await server.client.ask(session["id"], "[[write a.txt one]]")
    await server.client.ask(session["id"], "[[write b.txt two]]")
    assert sorted(by_path(await review(server, "session", session))) == ["a.txt", "b.txt"]
    assert sorted(by_path(await review(server, "task", first["id"]))) == ["a.txt"]
    body = {"worktree": {"branch": "forked"}}
    fork = (await server.client.post(f"/api/sessions/{session['id']}/fork", body))["sessionId"]
    await server.client.ask(fork, "[[write c.txt three]]")
    answer = await review(server, "session", fork)
    assert sorted(by_path(answer)) == ["c.txt"]
    assert [item["id"] for item in answer["sessions"]] == [fork]


async def test_a_plain_folder_has_no_review(server: Running) -> None:
    """V1: The review of a session in a plain folder is refused with the reason."""
    folder = server.root / "plain"
    folder.mkdir()
    repo = await server.client.repo(folder)
    session = await server.client.session(repo["id"])
    error = refused(await server.client.http.get(f"/api/reviews/session/{session['id']}"), 400, "repo_is_plain")
    assert "not in a git repository" in error["message"]


async def test_viewed_falls_when_the_file_changes(either: Running) -> None:
    """V1: A file that a person viewed is unviewed once its content changes; another person's marks are their own."""
    worktree, _, folder = await reviewed(either)
    (folder / "a.txt").write_text("changed\n")
    (folder / "b.txt").write_text("new\n")
    address = f"/api/reviews/worktree/{worktree['id']}/viewed"
    seen = by_path(await review(either, "worktree", worktree))["a.txt"]
    assert not seen["viewed"]
    for path in ("a.txt", "b.txt"):
        assert (await either.client.call("PUT", address, json={"path": path}))["viewed"]
    files = by_path(await review(either, "worktree", worktree))
    assert files["a.txt"]["viewed"] and files["b.txt"]["viewed"]
    async with as_user(either, "ann", "viewer") as ann:
        assert not by_path(await review(ann, "worktree", worktree))["a.txt"]["viewed"]
        refused(await ann.client.http.put(address, json={"path": "a.txt"}), 403, "role_too_low")
    (folder / "a.txt").write_text("changed again\n")
    files = by_path(await review(either, "worktree", worktree))
    assert not files["a.txt"]["viewed"] and files["b.txt"]["viewed"]
    stale = {"path": "a.txt", "hash": seen["hash"]}
    refused(await either.client.http.put(address, json=stale), 409, "file_changed")
    assert not (await either.client.call("PUT", address, json={"path": "b.txt", "viewed": False}))["viewed"]
    assert not by_path(await review(either, "worktree", worktree))["b.txt"]["viewed"]


async def test_a_draft_becomes_one_prompt(either: Running) -> None:
    """V2: Comments stay a draft of the person who wrote them, and are sent once, as one prompt with the quoted code."""
    worktree, session, folder = await reviewed(either)
    (folder / "a.txt").write_text(LINES.replace("line 5\n", "line five\n").replace("line 9\n", ""))
    second = await add(either, worktree, startLine=9, side="old", body="Do not remove this.")
    first = await add(either, worktree, endLine=6, body="Use digits.")
    assert (first["quote"], first["status"], first["line"], first["lastLine"]) == ("line five\nline 6", "draft", 5, 6)
    assert second["quote"] == "line 9"
    edited = await either.client.call("PATCH", f"/api/review-comments/{first['id']}", json={"body": "Use a digit."})
    assert edited["body"] == "Use a digit."
    dropped = await add(either, worktree, startLine=1)
    await either.client.call("DELETE", f"/api/review-comments/{dropped['id']}")
    async with as_user(either, "ann", "operator") as ann:
        assert (await review(ann, "worktree", worktree))["comments"] == []
        address = f"/api/review-comments/{first['id']}"
        refused(await ann.client.http.patch(address, json={"body": "mine"}), 403, "not_your_comment")
        refused(await ann.client.http.post(f"/api/reviews/worktree/{worktree['id']}/send", json={}), 409, "draft_empty")
    answer = await review(either, "worktree", worktree)
    assert answer["drafts"] == 2 and by_path(answer)["a.txt"]["comments"] == 2
    send = f"/api/reviews/worktree/{worktree['id']}/send"
    body = {"note": "Please fix:", "idempotencyKey": "once"}
    sent, again = await asyncio.gather(either.client.post(send, body), either.client.post(send, body))
    assert sent["task"]["id"] == again["task"]["id"] and sent["comments"] == 2
    prompt: str = sent["task"]["prompt"]
    assert prompt.startswith("Please fix:\n\nHere are my 2 review comments")
    assert "1. `a.txt`, lines 5–6:\n\n```txt\nline five\nline 6\n```\n\nUse a digit." in prompt
    assert "2. `a.txt`, line 9 before your change:\n\n```txt\nline 9\n```\n\nDo not remove this." in prompt
    refused(await either.client.http.post(send, json={}), 409, "draft_empty")
    refused(await either.client.http.delete(f"/api/review-comments/{first['id']}"), 409, "comment_sent")
    await either.client.wait_task(sent["task"]["id"], "completed")
    page = await either.client.get(f"/api/sessions/{session['id']}/tasks")
    assert [task["prompt"] for task in page["tasks"]].count(prompt) == 1
    async with as_user(either, "bob", "viewer") as bob:
        answer = await review(bob, "worktree", worktree)
        assert [item["mine"] for item in answer["comments"]] == [False, False] and answer["drafts"] == 0


async def test_comments_follow_their_lines_and_are_answered(server: Running) -> None:
    """V2: A sent comment moves with its lines, and is answered when they change or removed lines are back."""
    worktree, _, folder = await reviewed(server)
    changed = LINES.replace("line 5\n", "line five\n").replace("line 9\n", "")
    (folder / "a.txt").write_text(changed)
    await add(server, worktree, body="kept")
    await add(server, worktree, startLine=2, body="draft")
    await server.client.post(f"/api/reviews/worktree/{worktree['id']}/send", {})
    await add(server, worktree, startLine=9, side="old", body="back")
    await server.client.post(f"/api/reviews/worktree/{worktree['id']}/send", {})
    await add(server, worktree, startLine=12, body="mine")

    async def statuses() -> dict[str, tuple[str, int | None]]:
        comments = (await review(server, "worktree", worktree))["comments"]
        return {item["body"]: (item["status"], item["line"]) for item in comments}

    expected = {"kept": ("sent", 5), "draft": ("sent", 2), "back": ("sent", 9), "mine": ("draft", 12)}
    assert await statuses() == expected
    (folder / "a.txt").write_text("zero\n" + changed)
    assert await statuses() == {"kept": ("sent", 6), "draft": ("sent", 3), "back": ("sent", 9), "mine": ("draft", 13)}
    (folder / "a.txt").write_text(LINES)
    assert await statuses() == {
        "kept": ("answered", None),
        "draft": ("sent", 2),
        "back": ("answered", None),
        "mine": ("draft", 13),
    }
    (folder / "a.txt").unlink()
    assert (await statuses())["mine"] == ("outdated", None)


async def test_a_draft_is_sent_with_its_current_lines(server: Running) -> None:
    """V2: Comments that are sent name the lines where the code is now, and say if it has changed since; they are sent
    also if the files cannot be read any more."""
    worktree, session, folder = await reviewed(server)
    changed = LINES.replace("line 5\n", "line five\n").replace("line 9\n", "line nine\n")
    (folder / "a.txt").write_text(changed)
    await add(server, worktree, endLine=6, body="Moved.")
    await add(server, worktree, startLine=9, body="Changed.")
    (folder / "a.txt").write_text("zero\n" + changed.replace("line nine\n", "line 9\n"))
    mark = "(These lines have changed since I wrote this"
    moved = "```txt\nline five\nline 6\n```\n\nMoved."
    prompt: str = (await server.client.post(f"/api/reviews/worktree/{worktree['id']}/send", {}))["task"]["prompt"]
    assert f"1. `a.txt`, lines 6–7:\n\n{moved}" in prompt
    assert f"2. `a.txt`, line 9:\n\n```txt\nline nine\n```\n\n{mark}" in prompt and prompt.count(mark) == 1
    # What a session or task did is reviewed in its own version; the agent looks at the current one.
    about = f"/api/reviews/session/{session['id']}"
    await server.client.post(f"{about}/comments", {"path": "a.txt", "startLine": 6, "endLine": 7, "body": "Moved."})
    (folder / "a.txt").write_text(changed)
    assert f"1. `a.txt`, lines 5–6:\n\n{moved}" in (await server.client.post(f"{about}/send", {}))["task"]["prompt"]
    await add(server, worktree, body="Late.")
    (folder / ".git").write_text(f"gitdir: {server.root}/nowhere\n")
    sent = await server.client.post(f"/api/reviews/worktree/{worktree['id']}/send", {})
    assert "`a.txt`, line 5:" in sent["task"]["prompt"] and mark not in sent["task"]["prompt"]


async def test_plans_and_messages_get_comments(server: Running) -> None:
    """V2: A plan and an agent's message can be commented on; the prompt quotes them, and the reply answers them."""
    _, session, _ = await reviewed(server, prompt="[[plan Look; Leap]] [[say I will leap.]]")
    listed = await server.client.get(f"/api/sessions/{session['id']}/messages")
    messages = {item["content"]["type"]: item for item in listed if item["role"] != "user"}
    address = f"/api/reviews/session/{session['id']}"
    await server.client.post(f"{address}/comments", {"messageId": messages["plan"]["id"], "body": "Look twice."})
    quoted = {"messageId": messages["text"]["id"], "quote": "leap", "body": "Walk."}
    await server.client.post(f"{address}/comments", quoted)
    listed = await server.client.get(f"{address}/comments")
    assert listed["drafts"] == 2 and [item["body"] for item in listed["comments"]] == ["Look twice.", "Walk."]
    sent = await server.client.post(f"{address}/send", {})
    assert "On your plan:\n\n> - Look\n> - Leap\n\nLook twice." in sent["task"]["prompt"]
    assert "On your message:\n\n> leap\n\nWalk." in sent["task"]["prompt"]
    await server.client.wait_task(sent["task"]["id"], "completed")
    for comments in (await review(server, "session", session), await server.client.get(f"{address}/comments")):
        assert [item["status"] for item in comments["comments"]] == ["answered", "answered"]
    other = await server.client.session(session["repoId"])
    wrong = await server.client.http.post(f"/api/reviews/session/{other['id']}/comments", json=quoted)
    refused(wrong, 400, "bad_comment")


async def test_a_draft_survives_a_restart(tmp_path: Path) -> None:
    """V2: Draft comments and viewed marks are there after the server was restarted."""
    async with serving(tmp_path) as server:
        worktree, _, folder = await reviewed(server)
        (folder / "a.txt").write_text("changed\n")
        await add(server, worktree, startLine=1, body="Still here?")
        await server.client.call("PUT", f"/api/reviews/worktree/{worktree['id']}/viewed", json={"path": "a.txt"})
    async with serving(tmp_path) as server:
        answer = await review(server, "worktree", worktree)
        assert [item["body"] for item in answer["comments"]] == ["Still here?"]
        assert by_path(answer)["a.txt"]["viewed"]


async def test_bad_comments_are_refused(server: Running) -> None:
    """V2: Comments without text, on lines that do not exist, on a version that has changed or a binary file are
    refused, and so is a repeated key with another text."""
    worktree, session, folder = await reviewed(server)
    (folder / "a.txt").write_text("changed\n")
    (folder / "b.bin").write_bytes(b"\0\1")
    address = f"/api/reviews/worktree/{worktree['id']}/comments"
    good: Json = {"path": "a.txt", "startLine": 1, "body": "Why?"}
    for fields, status, code in (
        ({"body": " "}, 400, "bad_comment"),
        ({"body": "x" * 20_001}, 413, "comment_too_long"),
        ({"startLine": 0}, 400, "bad_lines"),
        ({"startLine": 2}, 400, "bad_lines"),
        ({"startLine": 1, "endLine": 0}, 400, "bad_lines"),
        ({"path": "b.bin"}, 400, "bad_lines"),
        ({"path": "none.txt"}, 404, "not_in_review"),
        ({"path": None}, 400, "bad_comment"),
        ({"hash": "0"}, 409, "file_changed"),
        ({"messageId": NOBODY}, 404, "message_not_found"),
    ):
        body = {**good, **fields}
        if "messageId" in fields:
            body = {"messageId": NOBODY, "body": "x"}
        refused(await server.client.http.post(address, json=body), status, code)
    keyed = await add(server, worktree, startLine=1, idempotencyKey="k")
    (folder / "a.txt").unlink()
    assert (await add(server, worktree, startLine=1, idempotencyKey="k"))["id"] == keyed["id"]
    reused = {**good, "body": "Other", "idempotencyKey": "k"}
    refused(await server.client.http.post(address, json=reused), 409, "idempotency_key_reused")
    other = await server.client.session(session["repoId"])
    send = f"/api/reviews/worktree/{worktree['id']}/send"
    refused(await server.client.http.post(send, json={"sessionId": other["id"]}), 400, "session_elsewhere")
    await server.client.session(session["repoId"], worktreeId=worktree["id"])
    error = refused(await server.client.http.post(send, json={}), 409, "which_session")
    assert len(error["details"]["candidates"]) == 2
    sent = await server.client.post(send, {"sessionId": session["id"]})
    assert sent["task"]["sessionId"] == session["id"]
