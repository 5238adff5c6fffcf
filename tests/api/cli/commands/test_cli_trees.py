"""Tests trees on the command line: fork, spawn, btw, drawing, reports, budgets, waits and cascades."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.api.cli.cli_program import Cli, Program, start
from tests.api.cli.cli_terminal import terminal
from tests.support.server import Running

HANG = "[[hang]]"


def made(out: str) -> dict[str, str]:
    """Returns the JSON that a branch command printed."""
    answer: dict[str, str] = json.loads(out)
    assert answer.keys() == {"sessionId", "taskId"}
    return answer


async def family(server: Running, cli: Cli, session: dict[str, Any]) -> tuple[str, str, str]:
    """Creates a child that hangs, its own child that hangs, and a fork of the root."""
    child = made((await cli("session", "spawn", session["id"], HANG, "--title", "child", "--json")).out)
    inner = made((await cli("session", "spawn", child["sessionId"], HANG, "--json")).out)
    fork = made((await cli("session", "fork", session["id"], "--title", "other way", "--json")).out)
    for item in (child, inner):
        await server.client.wait_task(item["taskId"], "running")
    return child["sessionId"], inner["sessionId"], fork["sessionId"]


async def test_branches_take_every_override(server: Running, cli: Cli, session: dict[str, Any]) -> None:
    """L3, O5: Every override of a branch is a flag; omitted ones are inherited."""
    client, known = server.client, session["id"]
    first = await client.ask(known, "[[say one]]")
    await client.ask(known, "[[say two]]")
    tool = await client.post("/api/mcp-servers", {"name": "tool", "transport": "stdio", "command": "/bin/false"})
    flags = ("--agent", "demo", "--mode", "plan", "--model", "demo-large", "--effort", "high", "--title", "t")
    also = ("--description", "d", "--mcp", "tool", "--env", "A=b", "--headless", "deny")
    fork = made((await cli("session", "fork", known, "--task", first["id"], *flags, *also, "--json")).out)
    assert fork["taskId"] is None
    row = await client.get(f"/api/sessions/{fork['sessionId']}")
    assert (row["kind"], row["branchTaskId"], row["forkedFromSessionId"]) == ("fork", first["id"], known)
    names = ("agent", "permissionMode", "model", "effort", "title", "description", "env", "headless")
    assert [row[name] for name in names] == ["demo", "plan", "demo-large", "high", "t", "d", {"A": "***"}, "deny"]
    assert row["mcpServerIds"] == [tool["id"]]
    shown = await cli("session", "show", fork["sessionId"])
    assert f"fork of session {known[-8:]} after task {first['id'][-8:]}" in shown.out
    report = ("--with-prompt", "--no-last-message", "--instructions", "Be quick.")
    child = made((await cli("session", "spawn", known, "[[say hi]]", *flags, *report, "--json")).out)
    row = await client.get(f"/api/sessions/{child['sessionId']}")
    assert (row["kind"], row["parentSessionId"], row["model"]) == ("subsession", known, "demo-large")
    assert row["callback"] == {
        "enabled": True,
        "includeLastMessage": False,
        "includeOriginalPrompt": True,
        "extraInstructions": "Be quick.",
    }
    assert f"child of session {known[-8:]}" in (await cli("session", "show", child["sessionId"])).out
    quiet = made((await cli("session", "spawn", known, "-", "--no-callback", "--json", stdin="[[say hm]]")).out)
    assert (await client.wait_task(quiet["taskId"]))["prompt"] == "[[say hm]]"
    assert (await client.get(f"/api/sessions/{quiet['sessionId']}"))["callback"]["enabled"] is False
    apart = made((await cli("session", "fork", known, "--worktree", "apart", "--title", "apart", "--json")).out)
    row = await client.get(f"/api/sessions/{apart['sessionId']}")
    assert row["worktreeId"] and row["cwd"].endswith("/apart")
    assert "⎇ apart" in (await cli("tree", known)).out
    for wrong in (("fork", known, "--follow"), ("fork", known, "--mcp", "a", "--no-mcp"), ("spawn", known)):
        assert (await cli("session", *wrong)).code == 2
    looser = await cli("session", "spawn", known, "hello", "--mode", "bypassPermissions")
    assert looser.code == 0 and "Warning: Mode bypassPermissions grants more than" in looser.err


async def test_branches_are_followed(server: Running, cli: Cli, session: dict[str, Any]) -> None:
    """O5: `--follow` waits for the answer; a side question is answered too."""
    await server.client.ask(session["id"], "[[say red]]")
    followed = await cli("session", "fork", session["id"], "[[recall]]", "--follow")
    assert followed.code == 0 and "[[say red]]" in followed.out
    aside = await cli("session", "btw", session["id"], "[[say aside]]", "--follow")
    assert aside.code == 0 and "aside" in aside.out
    result = await cli("session", "spawn", session["id"], "[[fail badly]]", "--follow", "--no-callback")
    assert result.code == 1 and "failed" in result.err
    plain = await cli("session", "spawn", session["id"], "[[say x]]", "--no-callback")
    assert plain.out.startswith("Session ") and ", task " in plain.out and "bough session watch" in plain.err


async def test_the_tree_is_drawn(server: Running, cli: Cli, session: dict[str, Any]) -> None:
    """B5: Draws box characters, kinds, titles or first prompts, states, counts and totals; --json is the REST
    response."""
    child, inner, fork = await family(server, cli, session)
    await server.client.prompt(child, "later")
    drawn = await cli("tree", inner)
    lines = drawn.out.splitlines()
    assert lines[0].split()[:4] == ["SESSION", "ID", "AGENT", "STATE"]
    assert lines[1].startswith("● first ") and "not_started" in lines[1]
    assert lines[2].startswith("├─ spawn child ") and lines[2].split()[-2:] == ["running", "1"]
    assert lines[3].startswith(f"│  └─ spawn {HANG} ")
    assert lines[4].startswith("└─ fork other way ")
    assert [id[-8:] in line for id, line in zip((session["id"], child, inner, fork), lines[1:], strict=False)] == [
        True
    ] * 4
    assert lines[5].startswith("4 sessions, 2 running, 1 with a queue. Used: 0 turns")
    answer = await server.client.http.get(f"/api/sessions/{session['id']}/tree")
    assert (await cli("tree", session["id"], "--json")).out == answer.text + "\n"
    other = await server.client.session(session["repoId"], title="another")
    every = await cli("tree")
    assert every.out.index("● first") < every.out.index("● another")
    assert [tree["rootSessionId"] for tree in json.loads((await cli("tree", "--json")).out)["trees"]] == [
        session["id"],
        other["id"],
    ]
    for id in (session, other):
        await cli("session", "rm", id["id"], "--cascade")
    assert (await cli("tree")).out.startswith("No active sessions.")
    assert (await cli("tree", "00000000")).code == 1


async def test_the_tree_is_watched(server: Running, session: dict[str, Any]) -> None:
    """B5, A3: `--watch` redraws the tree when something in it changes; for scripts it prints one document each time."""
    client = server.client
    program = await start("tree", session["id"], "--watch", "--json", BOUGH_DATA=str(server.data))
    try:
        await until_document(program, lambda tree: tree["used"]["sessions"] == 1)
        body = {"prompt": "[[say hi]]", "title": "newborn", "callback": {"enabled": False}}
        await client.post(f"/api/sessions/{session['id']}/spawn", body)
        await until_document(program, lambda tree: tree["used"]["turns"] == 1)
    finally:
        program.process.terminate()
        await program.end()


async def until_document(program: Program, matches: Callable[[dict[str, Any]], bool]) -> None:
    seen = 0
    while True:
        await program.until("\n" if not program.out else program.out[:seen])
        lines = program.out.split("\n")
        for line in lines[seen:-1]:
            seen += 1
            if matches(json.loads(line)):
                return
        assert program.process.stdout is not None
        program.out += (await program.process.stdout.readuntil(b"\n")).decode()


async def test_a_person_watches_the_tree(server: Running, session: dict[str, Any]) -> None:
    """B5: On a terminal the tree is redrawn in place until Ctrl-C."""
    async with terminal("tree", "--watch", BOUGH_DATA=str(server.data)) as screen:
        await screen.until("1 session.")
        await server.client.post(f"/api/sessions/{session['id']}/fork", {"title": "newborn"})
        await screen.until("└─ fork newborn")
        screen.type("\x03")
        assert await screen.end() == 0
        assert "Stopped watching; running turns continue." in screen.screen


async def test_reports_and_budgets(server: Running, cli: Cli, session: dict[str, Any]) -> None:
    """Q3, B5: Lists reports with their destination; a budget can be set, shown and removed."""
    known = session["id"]
    child = made((await cli("session", "spawn", known, "[[say done it]]", "--json")).out)
    assert (await cli("wait", child["taskId"], known)).code == 0
    listed = await cli("session", "callbacks", known)
    assert listed.out.splitlines()[0].split() == ["FROM", "TO", "STATE", "CREATED", "REPORT"]
    assert child["sessionId"][-8:] in listed.out and "delivered" in listed.out and "done it" in listed.out
    assert "No reports." in (await cli("session", "callbacks", known, "--state", "held")).out
    assert (await cli("session", "callbacks", known, "--state", "lost")).code == 1
    plain = await cli("session", "budget", known)
    assert plain.out.startswith("Used: 2 turns, ") and "Budget" not in plain.out
    flags = ("--turns", "5", "--tokens", "20000", "--cost", "1.5", "--minutes", "30")
    bound = await cli("session", "budget", child["sessionId"], *flags)
    assert "Budget: 0 of 5 turns, 0 of 20.0k tokens, cost 0.00 of 1.5, 0.0 of 30 min" in bound.out
    assert json.loads((await cli("session", "budget", known, "--json")).out)["budget"]["maxTurns"] == 5
    assert "0 of 5 turns" in (await cli("tree", known)).out
    assert "Budget" not in (await cli("session", "budget", known, "--none")).out
    assert (await cli("session", "budget", known, "--none", "--turns", "1")).code == 2
    assert (await cli("session", "budget", known, "--cost", "0")).code == 1


async def test_waits(server: Running, cli: Cli, session: dict[str, Any]) -> None:
    """B5, L4: Exits with 0 when all, or any, are at rest and with 1 on a timeout or if a person is needed; takes ids of
    tasks and sessions."""
    client, known = server.client, session["id"]
    quick = await client.prompt(known, "[[say quick]]")
    done = await cli("wait", quick[-8:])
    assert (done.code, done.out) == (0, f"Task {quick[-8:]} is completed.\n")
    hanging = await client.prompt(known, HANG)
    await client.wait_task(hanging, "running")
    late = await cli("wait", hanging, known, "--timeout", "0")
    assert late.code == 1 and late.out.count("is still running.") == 2
    some = await cli("wait", quick, hanging, "--any", "--json")
    assert some.code == 0 and json.loads(some.out)["pending"] == [hanging]
    await client.prompt(known, "later")
    await client.post(f"/api/sessions/{known}/stop")
    paused = await cli("wait", known)
    assert paused.code == 1 and "needs a person" in paused.out
    missing = await cli("wait", "00000000-0000-7000-8000-000000000000")
    assert missing.code == 1 and "(session_not_found)" in missing.err
    assert (await cli("wait")).code == 2


async def test_a_wait_ends_when_a_person_is_needed(server: Running, cli: Cli, session: dict[str, Any]) -> None:
    """B5, P4: A wait ends at once when an approval needs a person, also one of a child, and names it; approvals that
    are answered without a person do not end it."""
    client, known = server.client, session["id"]
    task = await client.prompt(known, "[[run echo one]]")
    approval = await client.approval(known)
    for name in (task, known):
        asked = await cli("wait", name)
        assert asked.code == 1 and f"bough approval allow {approval['id'][-8:]}" in asked.out
    assert [item["id"] for item in json.loads((await cli("wait", known, "--json")).out)["approvals"]] == [
        approval["id"]
    ]
    await client.post(f"/api/approvals/{approval['id']}", {"decision": "allow"})
    await client.wait_task(task)
    hanging = await client.prompt(known, HANG)
    child = made((await cli("session", "spawn", known, "[[run echo two]]", "--json")).out)
    below = await client.approval(child["sessionId"])
    asked = await cli("wait", hanging)
    assert asked.code == 1 and below["id"][-8:] in asked.out and child["sessionId"][-8:] in asked.out
    await client.call("PATCH", f"/api/sessions/{child['sessionId']}", json={"headless": "deny"})
    late = await cli("wait", hanging, "--timeout", "0.1")
    assert late.code == 1 and "is still running." in late.out and below["id"][-8:] not in late.out


async def test_cascades(server: Running, cli: Cli, session: dict[str, Any]) -> None:
    """B5: Stop, complete, archive and rm include everything below; one busy session refuses all of it; a purge asks
    first."""
    known = session["id"]
    child, inner, fork = await family(server, cli, session)
    busy = await cli("session", "archive", known, "--cascade")
    assert busy.code == 1 and "2 of these sessions are running" in busy.err and "(tree_busy)" in busy.err
    assert (await cli("session", "complete", known, "--cascade")).code == 1
    stopped = await cli("session", "stop", child, "--cascade")
    assert stopped.code == 0 and "2 sessions: 2 stopped." in stopped.out
    # The report of one waits in the queue of the other.
    await cli("session", "stop", known, "--cascade")
    forced = await cli("session", "complete", known, "--cascade", "--force")
    assert forced.code == 0 and "4 sessions: 4 completed." in forced.out
    assert "4 sessions: 4 archived." in (await cli("session", "archive", known, "--cascade")).out
    assert "4 sessions: 4 unarchived." in (await cli("session", "archive", known, "--cascade", "--undo")).out
    ended = await cli("session", "rm", child, "--cascade", "--json")
    assert [item["sessionId"] for item in json.loads(ended.out)["cascade"]] == [inner, child]
    asked = await cli("session", "rm", known, "--purge", "--cascade", stdin="n\n")
    assert asked.code == 1 and "and the 3 sessions below it" in asked.err
    gone = await cli("session", "rm", known, "--purge", "--cascade", "--yes")
    assert gone.code == 0 and "4 sessions: 4 removed." in gone.out
    await server.client.get(f"/api/sessions/{fork}", expect=404)


async def test_completion(server: Running, cli: Cli, session: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """O5: Shell completion offers sessions and the names of MCP servers."""
    await server.client.post("/api/mcp-servers", {"name": "tool", "transport": "stdio", "command": "/bin/false"})
    monkeypatch.setenv("_BOUGH_COMPLETE", "complete_bash")
    for words, position, offered in (
        ("bough tree ", "2", [session["id"][-8:], "@last", "first"]),
        ("bough session fork ", "3", [session["id"][-8:], "@last", "first"]),
        (f"bough session fork {session['id']} --mcp to", "5", ["tool"]),
    ):
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", position)
        assert (await cli()).out.split() == offered
