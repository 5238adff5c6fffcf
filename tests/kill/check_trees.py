"""Checks the trees after a kill run: every branch, report and side answer exists once, usage is counted once, and the
agents know all of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bough.model.task import TERMINAL
from tests.kill.check_schedules import opened_by_runs
from tests.kill.check_sessions import split_joined
from tests.kill.kill_run import KillRun
from tests.kill.records import Turn, read_turns
from tests.kill.traffic import Branch, Ledger
from tests.support.client import Client
from tests.support.repos import git

Json = dict[str, Any]

# Keepers crash by themselves even after the kills; an agent that was interrupted does not recall.
RECALLS = 5


@dataclass
class Member:
    """A session of a tree with its tasks and messages."""

    session: Json
    tasks: list[Json]

    @property
    def id(self) -> str:
        return self.session["id"]

    def shown(self, kind: str) -> Counter[str]:
        """Counts how often the transcript shows each side answer or report, by its task."""
        contents = [message["content"] for message in self.session["messages"]]
        return Counter(content["taskId"] for content in contents if content["type"] == kind)


async def check_trees(run: KillRun, client: Client) -> None:
    """Checks every tree of the run."""
    ledger = run.ledger
    for root in ledger.roots:
        members = await read_tree(client, root, ledger)
        rows = await read_callbacks(client, members)
        branches = {branch.session_id: branch for branch in ledger.branches if branch.session_id in members}
        check_reports(members, branches, rows)
        folders = {member.session["cwd"] for member in members.values()}
        turns = [turn for cwd in sorted(folders) for turn in read_turns(run.folder / "data" / "demo", cwd)]
        check_asides(members, branches, turns, ledger.disturbed)
        await check_memory(client, members, branches, rows, ledger.disturbed)
        await check_totals(client, root)
    await check_worktrees(run, client)


async def check_worktrees(run: KillRun, client: Client) -> None:
    """B2, B6: Each worktree has the session that it was created for, and each such session its worktree; git knows no
    others."""
    session_ids = {branch.session_id for branch in run.ledger.branches if branch.apart}
    session_ids |= await opened_by_runs(run, client)
    rows = (await client.get("/api/worktrees?limit=500"))["worktrees"]
    sessions = [await client.get(f"/api/sessions/{session_id}") for session_id in session_ids]
    used = {session["worktreeId"]: session["cwd"] for session in sessions}
    assert {row["id"]: row["path"] for row in rows} == used, "a worktree is without a session, or the reverse"
    assert len(used) == len(session_ids) and all(row["status"] == "ready" for row in rows)
    for repo in (await client.get("/api/repos?limit=500"))["repos"]:
        path = Path(repo["path"])
        listed = git(path, "worktree", "list", "--porcelain").splitlines()
        worktree_paths = {line.removeprefix("worktree ") for line in listed if line.startswith("worktree ")}
        assert worktree_paths - {str(path)} == {row["path"] for row in rows if row["repoId"] == repo["id"]}


async def read_tree(client: Client, root: str, ledger: Ledger) -> dict[str, Member]:
    """Returns the sessions of a tree: exactly those that were acknowledged, all of them idle."""
    expected = {root}
    for branch in ledger.branches:
        if branch.source in expected:
            expected.add(branch.session_id)
    tree = await client.get(f"/api/sessions/{root}/tree")
    session_ids = [node["id"] for node in tree["sessions"]]
    assert sorted(session_ids) == sorted(expected), "a branch was lost or doubled"
    members: dict[str, Member] = {}
    for session_id in session_ids:
        session = await client.get(f"/api/sessions/{session_id}")
        tasks = (await client.get(f"/api/sessions/{session_id}/tasks?limit=500"))["tasks"]
        assert all(task["status"] in TERMINAL for task in tasks), "a queue was not drained"
        members[session_id] = Member(session, tasks)
    return members


async def read_callbacks(client: Client, members: dict[str, Member]) -> list[Json]:
    rows: dict[str, Json] = {}
    for session_id in members:
        page = await client.get(f"/api/sessions/{session_id}/callbacks?limit=500")
        rows |= {row["id"]: row for row in page["callbacks"]}
    return list(rows.values())


def check_reports(members: dict[str, Member], branches: dict[str, Branch], rows: list[Json]) -> None:
    """Q3: Each turn of a child that reports has one report, and each report is one task of the parent, or part of one
    if several waited, or, if the parent had ended, one entry in its transcript."""
    reporting = [branch.session_id for branch in branches.values() if branch.reports]
    due = Counter(task["id"] for session_id in reporting for task in split_joined(members[session_id].tasks)[1])
    assert Counter(row["childTaskId"] for row in rows) == due, "a report was lost, doubled or not asked for"
    carriers = Counter(row["parentTaskId"] for row in rows if row["parentTaskId"])
    arrived = [task for member in members.values() for task in member.tasks if task["source"] == "callback"]
    _, with_turns = split_joined(arrived)
    assert set(carriers) == {task["id"] for task in with_turns}, "a report was queued twice, or not as it is written"
    assert carriers.total() == len(arrived), "reports were delivered together, and one of them twice or not at all"
    for task in with_turns:
        texts = [row["text"] for row in rows if row["parentTaskId"] == task["id"]]
        assert sorted("\n\n".join(texts)) == sorted(task["prompt"]), task
    for row in rows:
        assert row["parentSessionId"] == branches[row["childSessionId"]].source
        parent = members[row["parentSessionId"]]
        carrier = next((task for task in parent.tasks if task["id"] == row["parentTaskId"]), None)
        sent = carrier is not None and carrier["sentAttempt"] > 0
        assert row["state"] == ("delivered" if sent else "held"), row
        assert carrier is None or row["text"] in carrier["prompt"]
        called_off = carrier is not None and carrier["status"] == "cancelled"
        assert sent or called_off or parent.session["status"] == "cancelled", row
    for member in members.values():
        reported = Counter(row["childTaskId"] for row in rows if row["parentSessionId"] == member.id)
        assert member.shown("callback") == reported, "a transcript does not show each report once"


def check_asides(
    members: dict[str, Member], branches: dict[str, Branch], turns: list[Turn], disturbed: set[str]
) -> None:
    """B4: Each side answer is in the transcript of the session that was asked, once, and its agent gets it with one
    prompt, once in each attempt."""
    asides = [branch for branch in branches.values() if branch.kind == "btw"]
    for member in members.values():
        answered = Counter(branch.task_id for branch in asides if branch.source == member.id)
        assert member.shown("btw") == answered, "an answer aside was lost or doubled"
    for aside in asides:
        about, member = members[aside.source], members[aside.session_id]
        task = member.tasks[0]
        entry = next(
            message["content"]
            for message in about.session["messages"]
            if message["content"]["type"] == "btw" and message["content"]["taskId"] == task["id"]
        )
        texts = [
            message["content"]["text"]
            for message in member.session["messages"]
            if message["role"] == "agent" and message["content"]["type"] == "text"
        ]
        called_off = task["status"] == "cancelled" and aside.session_id in disturbed
        assert called_off or entry["text"] == texts[-1]
        assert member.session["archived"]
        assert all(turn.aside(task["prompt"]) <= 1 for turn in turns), "one prompt tells of an aside twice"
        telling = [
            turn for turn in turns if any(block.startswith("While you worked, somebody asked") for block in turn.blocks)
        ]
        telling = [turn for turn in telling if turn.aside(task["prompt"]) and not turn.past.count(task["prompt"])]
        carriers = [
            carrier
            for carrier in about.tasks
            if any(turn.concerns(carrier["prompt"], carrier["source"]) for turn in telling)
        ]
        assert len(carriers) <= 1, f"{task['prompt']!r} was told with {len(carriers)} prompts"
        assert len(telling) <= sum(carrier["attempt"] for carrier in carriers), (
            f"{task['prompt']!r} was told {len(telling)} times"
        )


async def check_memory(
    client: Client, members: dict[str, Member], branches: dict[str, Branch], rows: list[Json], disturbed: set[str]
) -> None:
    """B1: A parent recalls each report and each side answer; a fork recalls the turn after which it was created."""
    root = next(member for member in members.values() if member.session["kind"] == "root")
    recalled = await recall(client, root.id)
    for row in rows:
        if row["parentSessionId"] == root.id:
            carrier = next(task for task in root.tasks if task["id"] == row["parentTaskId"])
            count = recalled.count(f"Task: {row['childTaskId']}")
            assert 1 <= count <= carrier["attempt"], f"{row['id']} is known {count} times"
    for branch in branches.values():
        if branch.kind == "btw" and branch.source == root.id:
            question = members[branch.session_id].tasks[0]["prompt"]
            assert question in recalled, f"{question!r} was never told"
        elif branch.session_id in disturbed:
            # It may have ended, or have been stopped before it received a prompt.
            continue
        elif branch.kind == "fork" and (after := members[branch.session_id].session["branchTaskId"]):
            task = next(task for task in members[branch.source].tasks if task["id"] == after)
            before = task["prompt"].splitlines()[2 if task["source"] == "callback" else 0]
            assert before in await recall(client, branch.session_id), f"{branch} does not know of {before!r}"


async def recall(client: Client, session_id: str) -> str:
    """Returns what the agent of a session knows of its prompts."""
    for _ in range(RECALLS):
        task = await client.ask(session_id, "[[recall]]")
        if task["attempt"] == 1:
            messages = await client.get(f"/api/sessions/{session_id}/messages")
            return next(
                message["content"]["text"]
                for message in messages
                if message["taskId"] == task["id"] and message["role"] == "agent"
            )
    raise AssertionError(f"{session_id} was cut off again and again")


async def check_totals(client: Client, root: str) -> None:
    """B5: A tree has used as many turns as have ended in it."""
    tree = await client.get(f"/api/sessions/{root}/tree")
    ended = 0
    for node in tree["sessions"]:
        tasks = (await client.get(f"/api/sessions/{node['id']}/tasks?limit=500"))["tasks"]
        turns = [task for task in tasks if task["endedAt"] and task["sentAttempt"]]
        assert node["turns"] == len(turns), node
        ended += len(turns)
    assert tree["used"]["turns"] == (await client.get(f"/api/sessions/{root}/budget"))["used"]["turns"] == ended
