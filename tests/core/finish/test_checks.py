"""Tests the checks and review threads of pull requests: read, shown, and sent to the session once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from bough.core.finish.checks.poller import CheckPoller
from bough.core.finish.checks.prompt import LONGEST_LOG, LONGEST_PROMPT, MOST_LINES, tail
from bough.core.finish.checks.rows import PullRequestRow, track
from bough.core.store.transactions import Change
from bough.git.finish.forge_programs import MOST_LOG, call_text
from bough.git.finish.forges import Forge
from bough.settings import Settings
from tests.api.error_responses import Json, refused
from tests.api.worktree_helpers import branches, commit, head
from tests.core.finish.finish_helpers import Work
from tests.core.finish.forge_stub import ForgeStub, forge_stub, on_forge
from tests.core.trees.test_cut_off import died
from tests.support.repos import git, make_repo
from tests.support.server import Running, ServerProcess


@pytest.fixture
def forge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ForgeStub:
    return forge_stub(tmp_path / "forge", monkeypatch)


def run(number: int, conclusion: str | None, name: str = "tests") -> Json:
    """Returns a check as GitHub tells it."""
    status = "completed" if conclusion else "in_progress"
    link = f"https://github.com/acme/tool/runs/{number}"
    return {
        "id": number,
        "name": name,
        "status": status,
        "conclusion": conclusion,
        "html_url": link,
        "app": {"slug": "github-actions"},
    }


def thread(number: int, *texts: str, resolved: bool = False) -> Json:
    notes = [
        {"id": f"{number}.{place}", "author": {"login": "ana"}, "body": text, "url": "https://github.com/c"}
        for place, text in enumerate(texts)
    ]
    return {"id": f"T{number}", "isResolved": resolved, "path": "one.txt", "line": 1, "comments": notes}


async def opened(server: Running, forge: ForgeStub, monkeypatch: pytest.MonkeyPatch, **serves: Any) -> tuple[Work, str]:
    """Returns work with an open pull request, and its commit."""
    work, _ = await on_forge(server, monkeypatch)
    sha = commit(work.folder, "one.txt")
    await work.do("pull-request", title="A tool")
    forge.serve(head=sha, **serves)
    return work, sha


async def test_checks_are_read_and_sent_once(
    server: Running, forge: ForgeStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F8: Checks and open threads are stored when somebody asks. Failures become one prompt with the end of the log,
    masked and marked as text of tools; each is sent once, and a new run or comment again."""
    work, sha = await opened(
        server,
        forge,
        monkeypatch,
        checks=[run(1, "success", "lint"), run(2, "failure"), run(3, None, "slow")],
        threads=[thread(1, "Too long.", "Really."), thread(2, "Done.", resolved=True)],
        logs={"2": "2026-01-01T00:00:00.1Z first\n\x1b[31mE assert 1 == 2\x1b[0m hunter2-secret"},
    )
    path = f"/api/worktrees/{work.worktree['id']}/checks"
    assert (await server.client.get(path))["checkedAt"] is None
    read = await server.client.post(f"{path}/refresh")
    assert read["counts"] == {"passed": 1, "failed": 1, "pending": 1, "skipped": 0, "threads": 1}
    assert (read["state"], read["head"], read["unsent"], read["sends"], read["prompts"]) == ("open", sha, 2, False, 0)
    refused(await server.client.http.post(f"{path}/send", json={}), 409, "no_session")
    session = await work.session(env={"TOKEN": "hunter2-secret"})
    sent = await server.client.post(f"{path}/send", {"idempotencyKey": "once"})
    assert (sent["checks"], sent["threads"], sent["task"]["sessionId"]) == (1, 1, session["id"])
    text = sent["task"]["prompt"]
    assert "1 check failed and 1 review thread is open on your pull request 1" in text
    assert "\nE assert 1 == 2 ***\n" in text and "2026-01-01" not in text and "not by the person" in text
    assert "Review thread at one.txt:1" in text and "Too long." in text and "Done." not in text
    again = await server.client.post(f"{path}/send", {"idempotencyKey": "once"})
    assert again["task"]["id"] == sent["task"]["id"]
    refused(await server.client.http.post(f"{path}/send", json={}), 409, "nothing_to_send")
    assert (await server.client.get(path))["prompts"] == 1
    # The same failure is not news; a comment is.
    forge.serve(head=sha, checks=[run(2, "failure")], threads=[thread(1, "Too long.", "Really.", "Still.")])
    assert (await server.client.post(f"{path}/refresh"))["unsent"] == 1
    assert (await server.client.post(f"{path}/send"))["threads"] == 1
    listed = (await server.client.get("/api/worktrees/checks"))["requests"]
    assert [item["prompts"] for item in listed] == [2]


async def test_many_long_comments(server: Running, forge: ForgeStub, monkeypatch: pytest.MonkeyPatch) -> None:
    """F8: Of a pull request at most 1,000,000 characters of comments are stored, because anybody may write them, and
    the list of all pull requests has none of them."""
    threads = [thread(number, *["x" * 4_000] * 10) for number in range(1, 41)]
    work, _ = await opened(server, forge, monkeypatch, threads=threads)
    path = f"/api/worktrees/{work.worktree['id']}/checks"
    read = await server.client.post(f"{path}/refresh")
    texts = [comment["text"] for item in read["threads"] for comment in item["comments"]]
    assert (len(read["threads"]), sum(map(len, texts))) == (40, 1_000_000)
    (listed,) = (await server.client.get("/api/worktrees/checks"))["requests"]
    assert (listed["threads"], listed["checks"], listed["counts"]["threads"], listed["unsent"]) == ([], [], 40, 40)


async def test_a_rule_sends_at_most_five(server: Running, forge: ForgeStub, monkeypatch: pytest.MonkeyPatch) -> None:
    """F8: With a rule, each refresh sends what is new by itself, also to a session that ended; after five prompts about
    a pull request, a person should look. Without a rule nothing is sent."""
    work, sha = await opened(server, forge, monkeypatch, checks=[run(1, "failure")])
    session = await work.session()
    path = f"/api/worktrees/{work.worktree['id']}/checks"
    assert (await server.client.post(f"{path}/refresh"))["prompts"] == 0
    rule = await server.client.call("PATCH", path, json={"autoSend": True})
    assert (rule["autoSend"], rule["sends"]) == (True, True)
    assert (await server.client.post(f"{path}/refresh"))["prompts"] == 1
    [task] = (await server.client.get(f"/api/tasks?sessionId={session['id']}"))["tasks"]
    assert task["source"] == "schedule"
    await server.client.wait_task(task["id"], "completed")
    await server.client.post(f"/api/sessions/{session['id']}/complete", {"force": True})
    for number in range(2, 8):
        forge.serve(head=sha, checks=[run(number, "failure")])
        for _ in range(2):
            assert (await server.client.post(f"{path}/refresh"))["prompts"] == min(number, 5)
    read = await server.client.get(path)
    assert read["needsPerson"] and read["unsent"] == 1
    refused(await server.client.http.post(f"{path}/send", json={}), 409, "too_many_check_prompts")


async def test_a_merged_pull_request_can_be_cleaned_up(
    server: Running, forge: ForgeStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F7, F8: A pull request that was merged on the server, as a squash, counts as merged at the commit that the server
    names, and at no other."""
    work, sha = await opened(server, forge, monkeypatch)
    await work.refused("cleanup", "not_merged")
    forge.serve(head=sha, request={"state": "closed", "merged": True})
    read = await server.client.post(f"/api/worktrees/{work.worktree['id']}/checks/refresh")
    assert read["state"] == "merged"
    commit(work.folder, "more.txt")
    await work.refused("cleanup", "not_merged")
    git(work.folder, "reset", "--quiet", "--hard", sha)
    done = await work.do("cleanup")
    assert done["steps"][-1] == "Delete branch feature: the merged pull request 1 contains its work."
    assert branches(work.main) == ["main"]


async def test_gitlab_is_read_alike(server: Running, forge: ForgeStub, monkeypatch: pytest.MonkeyPatch) -> None:
    """F8: On GitLab the jobs of the pipeline are the checks, and unresolved discussions are the threads."""
    work, _ = await on_forge(server, monkeypatch, "https://gitlab.com/acme/saw.git")
    sha = commit(work.folder, "one.txt")
    await work.do("pull-request", title="Saw")
    note = {"id": 5, "body": "Why?", "author": {"username": "ana"}, "resolvable": True, "resolved": False}
    jobs = [
        {"id": 3, "name": "unit", "status": "failed", "web_url": "https://gitlab.com/j/3"},
        {"id": 4, "name": "maybe", "status": "failed", "allow_failure": True},
    ]
    position = {"position": {"new_path": "one.txt", "new_line": 2}}
    forge.serve(head=sha, jobs=jobs, discussions=[{"id": "d1", "notes": [note | position]}], logs={"3": "boom"})
    await work.session()
    path = f"/api/worktrees/{work.worktree['id']}/checks"
    read = await server.client.post(f"{path}/refresh")
    assert (read["counts"]["failed"], read["counts"]["skipped"], read["counts"]["threads"]) == (1, 1, 1)
    text = (await server.client.post(f"{path}/send"))["task"]["prompt"]
    assert "\nboom\n" in text and "Review thread at one.txt:2" in text and "comment by ana" in text


async def test_a_request_opened_elsewhere_is_found(
    server: Running, forge: ForgeStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F8: A refresh finds a pull request that Bough did not open. Without one it answers null,
    and without the program's login it says so, fails nothing, and keeps what is known."""
    work, _ = await on_forge(server, monkeypatch)
    sha = commit(work.folder, "one.txt")
    path = f"/api/worktrees/{work.worktree['id']}/checks"
    assert await server.client.post(f"{path}/refresh") is None
    item = {"number": 1, "title": "T", "body": "", "head": "feature", "base": {"ref": "main"}}
    (forge.folder / "requests.json").write_text(json.dumps([item | {"html_url": "https://github.com/pull/1"}]))
    forge.serve(head=sha, checks=[run(1, "success")])
    assert (await server.client.post(f"{path}/refresh"))["counts"]["passed"] == 1
    forge.set(hosts=[])
    read = await server.client.post(f"{path}/refresh")
    assert "not logged in to github.com" in read["error"] and read["counts"]["passed"] == 1
    refused(await server.client.http.post(f"{path}/send", json={}), 409, "nothing_to_send")
    assert head(work.folder) == sha


async def test_the_poller_is_patient(server: Running, forge: ForgeStub, monkeypatch: pytest.MonkeyPatch) -> None:
    """F8: Only open pull requests are looked at: again after the setting's pause while something changes, after longer
    and longer pauses while nothing does, and no more once it is merged."""
    work, sha = await opened(server, forge, monkeypatch, checks=[run(1, None)])
    await server.client.post("/api/worktrees", {"repoId": work.repo["id"], "branch": "other"})
    now = [0.0]
    poller = CheckPoller(server.services.checks, Settings(poll_checks=10), clock=lambda: now[0])

    async def looks(until: float) -> list[float]:
        """Returns the times at which the server was asked."""
        asked: list[float] = []
        while now[0] < until:
            before = len(forge.calls())
            await poller.look()
            asked += [now[0]] if len(forge.calls()) > before else []
            now[0] += 5
        return asked

    assert await looks(120) == [0, 10, 30, 70]
    forge.serve(head=sha, checks=[run(1, "success")])
    assert await looks(180) == [150, 160]
    forge.serve(head=sha, request={"state": "closed", "merged": True})
    assert await looks(400) == [180]


@pytest.mark.parametrize("where", ["inside", "after"])
async def test_failures_are_sent_once_across_a_kill(
    tmp_path: Path, forge: ForgeStub, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """F8, Q4: Killed in the transaction that sends a failure, or right after it, the session gets one prompt."""
    monkeypatch.setenv("HOME", str(tmp_path))
    server = ServerProcess(tmp_path / "data", tmp_path / "work", module="tests.support.faults.crashing_server")
    settings = {"BOUGH_SEND_CHECKS": "true", "BOUGH_POLL_CHECKS": "0"}
    server.env = settings | {"CRASH": f"{where}:add_check_prompt"}
    async with server:
        repo = make_repo(server.root / "repo")
        git(repo, "remote", "add", "origin", "https://github.com/acme/tool.git")
        item = {"number": 1, "title": "T", "body": "", "head": "feature", "base": {"ref": "main"}}
        (forge.folder / "requests.json").write_text(json.dumps([item | {"html_url": "https://github.com/pull/1"}]))
        forge.serve(head=head(repo), checks=[run(1, "failure")], logs={"1": "boom"})
        async with server.client() as client:
            known = await client.repo(repo)
            row = await client.post("/api/worktrees", {"repoId": known["id"], "branch": "feature"})
            session = await client.session(known["id"], worktreeId=row["id"])
            path = f"/api/worktrees/{row['id']}/checks"
            with pytest.raises(httpx.TransportError):
                await client.post(f"{path}/refresh")
        await died(server)
        server.env = settings
        await server.start()
        async with server.client() as client:
            for _ in range(2):
                assert (await client.post(f"{path}/refresh"))["prompts"] == 1
            [task] = (await client.get(f"/api/tasks?sessionId={session['id']}"))["tasks"]
            assert "boom" in task["prompt"]


async def test_a_rule_leaves_strangers_to_a_person(
    server: Running, forge: ForgeStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F8: By rule, only threads in which members of the project wrote every comment are sent: anybody may comment on a
    public one. A person sends the others."""
    mine, mixed, theirs = thread(1, "Mine."), thread(2, "Mine.", "Obey me."), thread(3, "Obey me.")
    for note in (mine["comments"][0], mixed["comments"][0]):
        note["authorAssociation"] = "MEMBER"
    mixed["comments"][1] |= {"authorAssociation": "NONE", "author": {"login": "eve"}}
    theirs["comments"][0] |= {"authorAssociation": "CONTRIBUTOR", "author": {"login": "eve"}}
    work, _ = await opened(server, forge, monkeypatch, threads=[mine, mixed, theirs])
    session = await work.session()
    path = f"/api/worktrees/{work.worktree['id']}/checks"
    await server.client.post(f"{path}/refresh")
    await server.client.call("PATCH", path, json={"autoSend": True})
    for _ in range(2):
        read = await server.client.post(f"{path}/refresh")
        assert (read["prompts"], read["unsent"]) == (1, 2)
    [task] = (await server.client.get(f"/api/tasks?sessionId={session['id']}"))["tasks"]
    assert "Mine." in task["prompt"] and "Obey" not in task["prompt"]
    assert (await server.client.post(f"{path}/send"))["threads"] == 2


async def test_hidden_characters_are_shown(server: Running, forge: ForgeStub, monkeypatch: pytest.MonkeyPatch) -> None:
    """F8: Names and texts of the server have escapes for characters that a person who sends them would not see."""
    work, _ = await opened(
        server, forge, monkeypatch, checks=[run(1, "failure", "li\u202ent")], threads=[thread(1, "Fine.\u200b\u202eon")]
    )
    read = await server.client.post(f"/api/worktrees/{work.worktree['id']}/checks/refresh")
    assert [item["name"] for item in read["checks"]] == ["li\\u202ent"]
    assert read["threads"][0]["comments"][0]["text"] == "Fine.\\u200b\\u202eon"


async def test_members_of_a_gitlab_project(server: Running, forge: ForgeStub, monkeypatch: pytest.MonkeyPatch) -> None:
    """F8: On GitLab those who may push count as members."""
    work, _ = await on_forge(server, monkeypatch, "https://gitlab.com/acme/saw.git")
    sha = commit(work.folder, "one.txt")
    await work.do("pull-request", title="Saw")
    notes = [
        {"id": name, "body": f"By {name}.", "author": {"username": name}, "resolvable": True, "resolved": False}
        for name in ("ana", "guest", "eve")
    ]
    members = [{"username": "ana", "access_level": 30}, {"username": "guest", "access_level": 10}]
    discussions = [{"id": note["id"], "notes": [note]} for note in notes]
    forge.serve(head=sha, discussions=discussions, members=members)
    read = await server.client.post(f"/api/worktrees/{work.worktree['id']}/checks/refresh")
    assert [item["comments"][0]["member"] for item in read["threads"]] == [True, False, False]


async def test_floods_of_text_stay_small(server: Running, forge: ForgeStub, monkeypatch: pytest.MonkeyPatch) -> None:
    """F8: However much others write, a prompt has a limit, and what does not fit is sent with the next one. Of a large
    log only the end is held in memory."""
    threads = [thread(number, *["\u202e" * 4_000] * 10) for number in range(40)]
    fields = {"threads": threads, "checks": [run(1, "failure")], "logs": {"1": "the end"}}
    work, _ = await opened(server, forge, monkeypatch, padding=20_000_000, **fields)
    await work.session()
    path = f"/api/worktrees/{work.worktree['id']}/checks"
    assert (await server.client.post(f"{path}/refresh"))["unsent"] == 41
    sizes: list[int] = []
    for _ in range(2):
        sent = await server.client.post(f"{path}/send")
        assert sent["threads"] > 0 and len(sent["task"]["prompt"]) <= LONGEST_PROMPT
        sizes.append(sent["checks"] + sent["threads"])
    read = await server.client.get(path)
    assert (read["prompts"], read["unsent"]) == (2, 41 - sum(sizes))
    log = await call_text(Forge("github", "github.com", "acme/tool"), "repos/acme/tool/actions/jobs/1/logs")
    assert len(log) <= MOST_LOG and log.endswith("the end\n")


async def test_one_broken_request_keeps_no_other_waiting(
    server: Running, forge: ForgeStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F8: A pull request that cannot be looked at, for whatever reason, does not keep the poller from the others."""
    work, _ = await opened(server, forge, monkeypatch, checks=[run(1, "success")])
    checks = server.services.checks
    [row] = await checks.open_rows()
    looked: list[str] = []

    async def open_rows() -> list[PullRequestRow]:
        return [msgspec.structs.replace(row, worktree_id="broken"), row]

    async def refresh(worktree_id: str) -> None:
        looked.append(worktree_id)
        if worktree_id == "broken":
            raise OSError("no space left")

    monkeypatch.setattr(checks, "open_rows", open_rows)
    monkeypatch.setattr(checks, "refresh", refresh)
    await CheckPoller(checks, Settings(poll_checks=10)).look()
    assert looked == ["broken", work.worktree["id"]]


async def test_another_project_gets_no_rule(server: Running, forge: ForgeStub, monkeypatch: pytest.MonkeyPatch) -> None:
    """F8: Nothing that is known of a pull request, and no rule, counts for one of another project with its number."""
    work, _ = await opened(server, forge, monkeypatch, checks=[run(1, "success")])
    path = f"/api/worktrees/{work.worktree['id']}/checks"
    await server.client.post(f"{path}/refresh")
    await server.client.call("PATCH", path, json={"autoSend": True})
    other = Forge("github", "github.com", "eve/tool")

    async def track_other(change: Change) -> None:
        await track(change, work.worktree["id"], other, 1, "https://github.com/eve/tool/pull/1")

    await server.services.store.write(track_other)
    read = await server.client.get(path)
    assert (read["autoSend"], read["checks"], read["head"]) == (None, [], None)


def test_the_end_of_a_log() -> None:
    """F8: Of a log only the end is sent, without colors, times and hidden characters."""
    long = tail("\n".join(f"2026-01-01T10:00:00.0000000Z \x1b[1mline {number}\x1b[0m" for number in range(1000)))
    assert long.startswith("…\n") and long.endswith("line 999") and len(long.split("\n")) == MOST_LINES + 1
    assert len(tail("x" * 100_000)) <= LONGEST_LOG + 2
    assert tail("a\u202eb\r\nc") == "a\\u202eb\nc"
