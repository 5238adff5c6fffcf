"""Plays whole workflows of real agents with Bough's own tools, in a mode in which a person has allowed that: seed 000's
four workflows and seed 002's three patterns."""

from __future__ import annotations

from pathlib import Path

import pytest

from bough.core.state.reports.callbacks import GO_ON
from bough.core.transcripts.replay import HEADING
from tests.real_agents.helpers.agent_under_test import FULL, Real
from tests.real_agents.helpers.measurements_table import Record
from tests.real_agents.helpers.several_agents import (
    REACT,
    about_calls,
    approvals,
    callbacks,
    done,
    ended,
    leads,
    next_to,
    playing,
    said_in,
    tasks,
    tree,
)
from tests.real_agents.helpers.watch_turn import watch
from tests.support.real_agents.actions import actions_of
from tests.support.scripted_model.running import ScriptedModel

ALONE = "bypassPermissions"
WHOLE = 6000
"""Characters of each prompt that the model is to recall: more than there are."""
FILES = ("login", "oauth", "jwt", "session", "refresh")


async def test_an_agent_manages_its_own_session(real: Real, record: Record) -> None:
    """5a, seed 000's example 4: An agent reviews its work, names and describes its session, and completes it; the
    session ends with its turn."""
    session = await real.session(permissionMode=ALONE)
    actions = real.actions
    await real.ask(session, actions.say("the heron is fed"))
    look = actions.own("agor_sessions_get_current") + actions.own("agor_tasks_list", sessionId="{{session_id}}")
    tell = {"title": "Feed the heron", "description": "It is fed.", "status": "completed"}
    answer = await done(real, session, look + actions.own("agor_sessions_update", sessionId="{{session_id}}", **tell))
    assert "the heron is fed" in answer and '"status":"running"' in answer
    now = await real.client.get(f"/api/sessions/{session}")
    assert {name: now[name] for name in tell} == tell
    assert [task["status"] for task in await tasks(real, session)] == ["completed"] * 2
    record("naming, describing and completing its own session", "by tool")


@leads("claude-code")
async def test_another_agent_reviews(agent: str, model: ScriptedModel, place: Path, repo: Path, record: Record) -> None:
    """Q3, seed 002's cross-agent review: An agent has its work reviewed by another one; the report wakes it, its model
    reads the findings, and it fixes them."""
    other = next_to(agent)
    async with playing(agent, other, model=model, place=place, repo=repo) as real:
        actions, session = real.actions, await real.session(permissionMode=ALONE)
        await done(real, session, f"Remember the heron. {actions.edit('seed.txt', 'two', 'TWO')}")
        review = f"{actions_of(other, repo).read('seed.txt')} {actions.say('a bug at seed.txt:3')}"
        mend = f"{REACT} {actions.edit('seed.txt', 'three', 'THREE')} {actions.recall(WHOLE)}"
        # Codex's sandbox allows less than other agents' in the same mode, so it would have to ask for more.
        mode = {"permissionMode": "acceptEdits"} if agent == "codex" else {}
        arguments = {"prompt": review, "agenticTool": other, "title": "Review", "extraInstructions": mend}
        answer = await done(real, session, actions.own("agor_sessions_spawn", **arguments, **mode))
        [_, child] = await tree(real, session, 2)
        assert (child["kind"], child["parentSessionId"], child["agent"]) == ("subsession", session, other)
        assert (child["title"], child["permissionMode"]) == ("Review", mode.get("permissionMode", ALONE))
        assert child["id"] in answer

        [report] = await ended(real, session, 1, "callback")
        assert report["sourceSessionId"] == child["id"]
        reported = await said_in(real, report)
        reported = reported[reported.index("I saw") :]
        assert "Remember the heron." in reported and "Callback from session 'Review'" in reported
        assert (
            "> Tool" in reported
            and "a bug at seed.txt:3" in reported
            and "Tool uses: 1" in reported
            and GO_ON in reported
        )
        assert (repo / "seed.txt").read_text() == "one\nTWO\nTHREE\n"
        [sent] = await callbacks(real, session)
        assert (sent["childSessionId"], sent["parentTaskId"]) == (child["id"], report["id"])
        assert "heron" not in await real.said(child["id"])
        record("child of another agent, by tool", "its report wakes the parent")


@leads("opencode")
async def test_an_agent_continues_and_forks_itself(real: Real, record: Record) -> None:
    """B1, seed 000's example 1: An agent queues more work for itself and forks itself to try another way; the fork
    knows the past up to the turn in which it was created."""
    actions, session = real.actions, await real.session(permissionMode=ALONE)
    await done(real, session, "Remember the heron.")
    more = {"sessionId": "{{sessionId}}", "prompt": f"Add tests. {actions.recall(WHOLE)}", "mode": "continue"}
    apart = more | {"prompt": f"Try the otter. {actions.recall(WHOLE)}", "mode": "fork", "title": "Otter"}
    work = actions.own("get_current_session_id") + actions.own("agor_sessions_prompt", **more)
    answer = await done(real, session, work + actions.own("agor_sessions_prompt", **apart))
    [_, fork] = await tree(real, session, 2)
    assert (fork["kind"], fork["forkedFromSessionId"], fork["title"]) == ("fork", session, "Otter")
    assert fork["permissionMode"] == ALONE and fork["id"] in answer
    [queued] = await ended(real, session, 1, "session")
    assert queued["sourceSessionId"] == session
    known = await said_in(real, queued)
    assert "heron" in known and "Add tests." in known
    [first] = await ended(real, fork["id"], 1)
    known = await said_in(real, first)
    assert ("Remember the heron." in known, "Try the otter." in known) == (True, True)
    # An agent's own copy would contain the running turn.
    how = (await real.client.get(f"/api/sessions/{fork['id']}"))["metadata"]["fork"]
    assert (how, HEADING in known, "get_current_session_id" in known) == ("replay", True, False)
    record("fork of itself, by tool, during its turn", "knows everything before that turn")


@leads("gemini")
async def test_an_agent_asks_itself_a_side_question(real: Real, record: Record) -> None:
    """B4: An agent asks its own session a side question while it works. The answer knows the past, can be read after
    waiting for it, and is quoted with the next prompt; it changes nothing."""
    actions, session = real.actions, await real.session(permissionMode=ALONE)
    await done(real, session, "Remember the heron.")
    question = f"{actions.write('never.txt')} {actions.recall(WHOLE)}"
    aside = {"sessionId": "{{sessionId}}", "prompt": question, "mode": "btw"}
    wait = actions.own("agor_sessions_wait", taskIds=["{{taskId}}"]) + actions.own(
        "agor_tasks_get", taskId="{{taskId}}"
    )
    work = actions.own("get_current_session_id") + actions.own("agor_sessions_prompt", **aside)
    answer = await done(real, session, work + wait)
    assert '"status":"completed"' in answer
    [_, fork] = await tree(real, session, 2)
    assert (fork["kind"], fork["archived"]) == ("btw", True)
    [side_answer] = [
        message["content"] for message in await real.messages(session) if message["content"]["type"] == "btw"
    ]
    assert side_answer["sessionId"] == fork["id"] and "Remember the heron." in side_answer["text"]
    assert not (real.repo / "never.txt").exists()
    known = await done(real, session, actions.recall(WHOLE))
    assert "While you worked, somebody asked" in known
    record("side question to its own session, by tool", "answered")


@pytest.mark.skipif(not FULL, reason="FULL=1 is for what takes long")
async def test_a_child_asks_its_parent_a_side_question(real: Real, record: Record) -> None:
    """B4: A child that starts with no context asks its parent a side question; the answer knows what the parent was
    told, and comes to the child as a prompt, which wakes it."""
    actions, session = real.actions, await real.session(permissionMode=ALONE)
    await done(real, session, "Remember the heron.")
    question = {"sessionId": "{{parent_session_id}}", "prompt": actions.recall(WHOLE), "mode": "btw"}
    work = actions.own("agor_sessions_get_current") + actions.own("agor_sessions_prompt", **question)
    await done(real, session, actions.own("agor_sessions_spawn", prompt=work, enableCallback=False))
    [_, child, *_] = (await real.client.get(f"/api/sessions/{session}/tree"))["sessions"]
    [answer] = await ended(real, child["id"], 1, "callback")
    assert "Your side question to session" in answer["prompt"] and "Remember the heron." in answer["prompt"]
    [_, _, aside] = await tree(real, session, 3)
    assert (aside["kind"], aside["parentSessionId"], answer["sourceSessionId"]) == ("btw", session, aside["id"])
    assert await tasks(real, session, "callback") == []
    record("side question to its parent, by tool", "answered")


@leads("claude-code")
@pytest.mark.timeout(300)
async def test_five_at_once(agent: str, model: ScriptedModel, place: Path, repo: Path, record: Record) -> None:
    """B3, Q3, seed 002's parallel test generation: Five children of another agent, spawned at once, write a file each;
    five reports arrive, and then the parent knows all five."""
    other = "codex" if agent != "codex" else "gemini"
    async with playing(agent, other, model=model, place=place, repo=repo) as real:
        actions, session = real.actions, await real.session(permissionMode=ALONE)
        mode = {"permissionMode": "acceptEdits"} if agent == "codex" else {}
        writes = [
            f"{actions_of(other, repo).write(f'{name}.test')} {actions.say(f'{name} is tested')}" for name in FILES
        ]
        calls = [
            actions.own("agor_sessions_spawn", prompt=prompt, agenticTool=other, title=f"Test {name}", **mode)
            for name, prompt in zip(FILES, writes, strict=True)
        ]
        await done(real, session, actions.at_once(*calls))
        [_, *children] = await tree(real, session, 6)
        assert {child["title"] for child in children} == {f"Test {name}" for name in FILES}
        assert {(child["agent"], child["parentSessionId"]) for child in children} == {(other, session)}
        reports = await ended(real, session, 5, "callback")
        assert {report["sourceSessionId"] for report in reports} == {child["id"] for child in children}
        assert len(await callbacks(real, session)) == 5
        assert all((repo / f"{name}.test").exists() for name in FILES)
        known = await done(real, session, actions.recall(WHOLE))
        callback = known[known.index("Callback from session") :]
        assert [name for name in FILES if f"{name} is tested" not in callback] == []
        record("five children at once, by tool", "five reports")


@leads("codex")
async def test_work_in_another_worktree(real: Real, record: Record) -> None:
    """5a, seed 000's example 2: An agent creates a worktree, finds it, creates a session there, gives it work, waits
    for it and reads the result."""
    actions, session = real.actions, await real.session(permissionMode=ALONE)
    there = real.repo / ".worktrees/dashboard"
    chart = f"{real.actions_in(there).write('chart.txt')} {actions.say('the chart is drawn')}"
    place = actions.own("agor_sessions_get_current")
    place += actions.own("agor_worktrees_create", repoId="{{repo_id}}", branch="dashboard")
    place += actions.own("agor_worktrees_list", repoId="{{repo_id}}")
    create = {"worktreeId": "{{worktree_id}}", "agenticTool": real.agent, "title": "Metrics", "permissionMode": ALONE}
    work = actions.own("agor_sessions_create", **create)
    work += actions.own("agor_sessions_prompt", sessionId="{{session_id}}", prompt=chart, mode="continue")
    read = actions.own("agor_sessions_wait", taskIds=["{{taskId}}"]) + actions.own(
        "agor_tasks_get", taskId="{{taskId}}"
    )
    read += actions.own("agor_messages_list", taskId="{{taskId}}", search="chart is drawn")
    answer = await done(real, session, place + work + read)
    [opened] = [item for item in (await real.client.get("/api/sessions"))["sessions"] if item["id"] != session]
    assert (opened["kind"], opened["parentSessionId"], opened["title"]) == ("root", None, "Metrics")
    assert (opened["cwd"], opened["permissionMode"], opened["createdBy"]["id"]) == (str(there), ALONE, session)
    assert answer.count("the chart is drawn") >= 2, answer
    assert (there / "chart.txt").exists() and not (real.repo / "chart.txt").exists()
    record("session in a new worktree, waiting and reading, by tool", "works")


@leads("claude-code")
async def test_delegation_in_levels(agent: str, model: ScriptedModel, place: Path, repo: Path, record: Record) -> None:
    """B3, seed 000's example 3 and seed 002's hierarchical delegation: An architect delegates to a developer, who
    delegates to another one; each report wakes the level above, and nobody is told more than its own part."""
    # Nobody passes on more rights than it has: below Codex, which keeps to its sandbox, there is only Codex.
    second = {"codex": "codex", "gemini": "opencode"}.get(agent, "gemini")
    async with playing(agent, second, "codex", model=model, place=place, repo=repo) as real:
        actions, session = real.actions, await real.session(permissionMode=ALONE)
        middle, last = actions_of(second, repo), actions_of("codex", repo)
        api = {"prompt": f"Only the API. {last.write('api.txt')} {last.say('the API stands')}", "agenticTool": "codex"}
        passed_on = {
            "title": "API",
            "extraInstructions": f"{REACT} {middle.say('the backend stands')} {middle.recall(WHOLE)}",
        }
        backend = f"Only the backend. {middle.own('agor_sessions_spawn', **api, **passed_on)}"
        arguments = {"sessionId": "{{sessionId}}", "prompt": backend, "mode": "subsession", "title": "Backend"}
        work = actions.own("get_current_session_id")
        work += actions.own("agor_sessions_prompt", **arguments, agenticTool=second)
        await done(real, session, f"Remember the heron. {work}")
        # The developer reports twice: when it has delegated, and when it has received the report.
        reports = await ended(real, session, 2, "callback")
        [_, two, three] = await tree(real, session, 3)
        assert [item["parentSessionId"] for item in (two, three)] == [session, two["id"]]
        assert [(item["agent"], item["title"], item["depth"]) for item in (two, three)] == [
            (second, "Backend", 1),
            ("codex", "API", 2),
        ]
        assert (repo / "api.txt").exists()
        assert {report["sourceSessionId"] for report in reports} == {two["id"]}
        assert "Its own children still at work: 1" in reports[0]["prompt"]
        assert "the backend stands" in reports[1]["prompt"]
        [heard] = await ended(real, two["id"], 1, "callback")
        known = await said_in(real, heard)
        assert "Only the backend." in known and "the API stands" in known and "heron" not in known
        assert "backend" not in "".join(task["prompt"] for task in await tasks(real, three["id"]))
        record("hierarchical delegation, by tool", "reports reach the top")


@leads("claude-code", "codex")
async def test_asked_once(real: Real, record: Record) -> None:
    """5d: In mode default, a spawn is asked about once, by Bough and not by the agent too. Allowed, it is carried out;
    denied by a person or a rule, the model is told so."""
    actions, session = real.actions, await real.session(permissionMode="default")
    # By then its MCP servers are connected, also on a slow machine.
    await real.ask(session, actions.say("awake"))
    spawn = actions.own("agor_sessions_spawn", prompt=actions.say("hello"), title="Helper")
    seen = await watch(real, session, spawn, "deny")
    [asked] = seen.asked
    assert (asked["toolKind"], asked["toolCall"]["tool"]) == ("call", "agor_sessions_spawn")
    assert asked["title"] == f"Spawn a child with {real.agent} in mode default: 'Helper'?"
    assert seen.task["status"] == "completed" and "A person has denied this." in seen.said, seen
    await tree(real, session, 1)
    # Reading is free.
    seen = await watch(real, session, actions.own("get_current_session_id"), "deny")
    assert (seen.asked, session in seen.said) == ([], True)

    seen = await watch(real, session, spawn, "allow")
    [asked] = about_calls(seen.asked)
    [_, child] = await tree(real, session, 2)
    assert child["id"] in seen.said
    await ended(real, session, 1, "callback")
    await real.client.post("/api/policy/rules", {"effect": "deny", "tool": "bough/*spawn", "note": "No more of them."})
    seen = await watch(real, session, spawn, "allow")
    assert (seen.asked, "No more of them." in seen.said) == ([], True)
    await tree(real, session, 2)
    assert len(await approvals(real, session)) == 2
    record("spawning in mode default", "asks once; a denial is reported")
