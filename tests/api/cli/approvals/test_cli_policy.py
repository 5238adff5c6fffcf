"""Tests `bough policy`, and how `bough approval` describes a request."""

from __future__ import annotations

import json
import re
from typing import Any

from bough.api.cli.approvals import details as approval_details
from tests.api.cli.cli_program import Cli
from tests.support.server import Running

Json = dict[str, Any]


async def rules(server: Running) -> list[Json]:
    return (await server.client.get("/api/policy/rules"))["rules"]


async def test_rules_are_added_listed_and_ordered(server: Running, cli: Cli) -> None:
    """P3, L4: Add, list, set, move and remove do what REST does; ids can be used as they are shown."""
    assert "No rule" in (await cli("policy", "list")).out
    added = await cli("policy", "add", "deny", "--command", "git push*", "--note", "By hand.")
    assert added.code == 0 and "at 1: deny command git push*" in added.out
    flags = ("--agent", "demo", "--kind", "edit", "--tool", "write*", "--path", "docs/**", "--position", "1")
    second = json.loads((await cli("policy", "add", "allow", *flags, "--json")).out)
    assert [second[name] for name in ("agent", "kind", "tool", "path", "position")] == [
        *("demo", "edit", "write*", "docs/**", 1)
    ]
    head, first, last = (await cli("policy", "list")).out.splitlines()
    assert head.split() == ["#", "ID", "EFFECT", "WHERE"]
    assert first.split()[0::2][:2] == ["1", "allow"] and "agent demo, kind edit, tool write*, path docs/**" in first
    assert last.split()[0] == "2" and last.rstrip().endswith("command git push* — By hand.")
    short = last.split()[1]
    assert "at 1: deny" in (await cli("policy", "move", short, "first")).out
    assert [rule["effect"] for rule in await rules(server)] == ["deny", "allow"]
    assert "at 2: deny" in (await cli("policy", "move", short, "last")).out
    assert "at 1: deny" in (await cli("policy", "move", short, "1")).out
    changed = await cli("policy", "set", second["id"], "--effect", "ask", "--agent", "", "--kind", "", "--note", "n")
    assert "at 2: ask tool write*, path docs/**" in changed.out
    assert (await rules(server))[1]["agent"] is None
    assert "is removed: deny command git push*" in (await cli("policy", "remove", short)).out
    result = await cli("policy", "list", "--json")
    assert json.loads(result.out)["rules"] == await rules(server) and len(await rules(server)) == 1


async def test_wrong_rules_are_refused(server: Running, cli: Cli) -> None:
    """L4: A refusal by the server is one sentence with exit code 1; a usage error is exit code 2."""
    wide = await cli("policy", "add", "allow")
    assert wide.code == 1 and wide.err.endswith("(rule_too_wide)\n")
    assert (await cli("policy", "add", "never")).code == 2
    assert (await cli("policy", "add", "deny", "--kind", "nothing")).code == 2
    rule = json.loads((await cli("policy", "add", "deny", "--json")).out)["id"]
    assert (await cli("policy", "set", rule)).code == 2
    assert (await cli("policy", "move", rule, "up")).code == 2
    assert (await cli("policy", "move", rule, "0")).err.endswith("(bad_rule)\n")
    assert (await cli("policy", "remove", "00000000-0000-7000-8000-000000000000")).code == 1
    assert len(await rules(server)) == 1


async def test_a_verdict_is_explained(server: Running, cli: Cli, session: Json) -> None:
    """P3: Explains the verdict, its reason and every rule considered, with or without a session."""
    await cli("policy", "add", "deny", "--command", "rm *", "--note", "Nothing is deleted.")
    await cli("policy", "add", "ask", "--path", "docs/**")
    shown = await cli("policy", "explain", "--session", session["id"][-8:], "--command", "rm -rf x")
    lines = shown.out.splitlines()
    assert shown.code == 0 and lines[0] == "deny" and "Nothing is deleted." in lines[1]
    assert lines[3].split() == ["#", "RULE", "EFFECT", "MATCHES", "WHY"]
    assert lines[4].split()[2:4] == ["deny", "yes"] and lines[5].split()[2:4] == ["ask", "no"]
    assert "there is no path to be docs/**" in lines[5]
    flags = ("--agent", "demo", "--cwd", str(server.root), "--path", "a", "--path", "b", "--json")
    alone = json.loads((await cli("policy", "explain", *flags, "--mode", "acceptEdits")).out)
    assert (alone["effect"], alone["by"]) == ("allow", "mode")
    assert json.loads((await cli("policy", "explain", *flags, "--mode", "ask")).out)["effect"] == "ask"
    other = await cli("policy", "explain", "--server", "files", "--tool", "read", "--mode", "ask")
    assert other.out.startswith("ask\n")
    nothing = await cli("policy", "explain", "--session", session["id"])
    assert nothing.code == 2 and "--command" in nothing.err
    sandbox = await cli("policy", "explain", "--agent", "codex", "--mode", "allow-all", "--command", "ls")
    assert sandbox.out.startswith("ask\n") and "its sandbox" in sandbox.out
    leaving = ("--agent", "claude-code", "--tool", "ExitPlanMode")
    assert "change its own mode" in (await cli("policy", "explain", *leaving, "--mode", "acceptEdits")).out
    assert "change its own mode" not in (await cli("policy", "explain", *leaving, "--server", "files")).out


async def test_always_has_the_given_scope(server: Running, cli: Cli, session: Json) -> None:
    """P3, P4: `allow --always --scope` is remembered, listed and can be forgotten."""
    client = server.client
    await client.call("PATCH", f"/api/sessions/{session['id']}", json={"permissionMode": "ask"})
    assert "No always-allowed actions" in (await cli("policy", "choices")).out
    task = await client.prompt(session["id"], "[[run touch made]]")
    question = await client.approval(session["id"])
    alone = await cli("approval", "allow", question["id"], "--scope", "worktree")
    assert alone.code == 2 and "--always" in alone.err
    result = await cli("approval", "allow", question["id"][-8:], "--always", "--scope", "worktree")
    assert "allowed from now on in this folder: touch made" in result.out
    await client.wait_task(task)
    head, row = (await cli("policy", "choices")).out.splitlines()
    assert head.split() == ["ID", "APPLIES", "TO", "AGENT", "KIND", "CHOSEN", "ACTION"]
    assert row.split()[1:5] == ["folder", "repo", "demo", "execute"] and row.endswith("touch made")
    explained = await cli("policy", "explain", "--session", session["id"], "--command", "touch made", "--json")
    assert json.loads(explained.out)["by"] == "choice"
    for flags, total in (("--scope", "session"), 0), (("--scope", "worktree", "--session", session["id"]), 1):
        assert json.loads((await cli("policy", "choices", *flags, "--json")).out)["total"] == total
    forgotten = await cli("policy", "forget", row.split()[0])
    assert forgotten.code == 0 and "touch made" in forgotten.out
    assert (await client.get("/api/policy/choices"))["total"] == 0


async def test_an_approval_shows_its_subject(server: Running, cli: Cli, session: Json) -> None:
    """P4: The list names agent, session, action and age; `show` has the complete command or change."""
    client = server.client
    await client.call("PATCH", f"/api/sessions/{session['id']}", json={"permissionMode": "ask", "headless": "deny"})
    await client.prompt(session["id"], "[[write README.md one\ntwo\n]][[run echo a; echo b]]")
    question = await client.approval(session["id"])
    head, row = (await cli("approval", "list")).out.splitlines()
    assert head.split() == ["ID", "AGENT", "SESSION", "ASKED", "EXPIRES", "QUESTION"]
    assert row.split()[1:3] == ["demo", "first"]
    assert " min (deny) " in row and row.endswith("README.md (+2 -1)")
    shown = (await cli("approval", "show", row.split()[0])).out
    assert f"+++ {session['cwd']}/README.md\n" in shown and "\n+two\n" in shown and "expires" in shown
    await cli("approval", "deny", question["id"])
    question = await client.approval(session["id"])
    shown = (await cli("approval", "show", question["id"])).out
    assert shown.endswith("\n$ echo a; echo b\n") and "first" in shown
    assert (await cli("approval", "list")).out.splitlines()[1].endswith("echo a; echo b")
    as_json = await cli("approval", "show", question["id"], "--json")
    assert json.loads(as_json.out) == await client.get(f"/api/approvals/{question['id']}")


def test_changes_are_summarized_in_one_line() -> None:
    """P4: Summarizes added and removed lines, new files, several files and commands; otherwise quotes the agent."""

    def approval(*content: Json, **fields: Any) -> Json:
        return {"title": "Do it", "toolCall": {"content": list(content), **fields}}

    change = {"type": "diff", "path": "/a", "oldText": "1\n2\n3\n", "newText": "1\nx\ny\n3\n"}
    new = {"type": "diff", "path": "/b", "oldText": None, "newText": "1\n2"}
    assert approval_details.about(approval(change, new)) == "/a (+2 -1), /b (new, 2 lines)"
    assert approval_details.about(approval(change | {"path": "/w/a"}), "/w") == "a (+2 -1)"
    assert approval_details.about(approval(rawInput={"command": ["git", "a b"]})) == "git 'a b'"
    assert approval_details.about(approval({"type": "content"})) == "Do it"


async def test_the_sandbox_is_chosen_for_a_session_and_a_repo(server: Running, cli: Cli, session: Json) -> None:
    """S6: `session new`, `session set` and `repo set` accept `--sandbox`; `inherit` leaves it to the level above."""
    path = f"/api/sessions/{session['id']}"
    made = await cli("session", "new", "--repo", session["repoId"], "--sandbox", "off", "--json")
    assert json.loads(made.out)["sandbox"] == "off"
    assert (await cli("session", "set", session["id"], "--sandbox", "required")).code == 0
    assert (await server.client.get(path))["sandbox"] == "required"
    assert "not started yet (sandbox required)" in (await cli("session", "show", session["id"])).out
    assert (await cli("session", "set", session["id"], "--sandbox", "inherit")).code == 0
    assert (await server.client.get(path))["sandbox"] is None
    assert (await cli("repo", "set", session["repoId"], "--sandbox", "off")).code == 0
    await server.client.ask(session["id"], "[[say Hi]]")
    shown = (await cli("session", "show", session["id"])).out
    assert "unconfined: The sandbox is switched off." in shown


async def test_headless_is_set_for_a_session(server: Running, cli: Cli, session: Json) -> None:
    """P4: `session new` and `session set` accept `--headless`; `server` leaves it to the server's setting."""
    path = f"/api/sessions/{session['id']}"
    made = await cli("session", "new", "--repo", session["repoId"], "--headless", "allow", "--json")
    assert json.loads(made.out)["headless"] == "allow"
    assert (await cli("session", "set", session["id"], "--headless", "deny")).code == 0
    assert (await server.client.get(path))["headless"] == "deny"
    assert re.search(r"^headless +deny$", (await cli("session", "show", session["id"])).out, re.MULTILINE)
    assert (await cli("session", "set", session["id"], "--headless", "server")).code == 0
    assert (await server.client.get(path))["headless"] is None
    assert (await cli("session", "set", session["id"], "--headless", "no")).code == 2


async def test_a_timeout_is_set_for_a_session(server: Running, cli: Cli, session: Json) -> None:
    """P4: `session new`, `set`, `fork` and `spawn` accept `--approval-timeout`; `server` is the server's setting."""
    new = ("session", "new", "--repo", session["repoId"], "--headless", "deny", "--approval-timeout", "2.5", "--json")
    made = json.loads((await cli(*new)).out)
    assert made["approvalTimeout"] == 2.5
    assert re.search(r"^timeout +2.5 min$", (await cli("session", "show", made["id"])).out, re.MULTILINE)
    forked = json.loads((await cli("session", "fork", made["id"], "--approval-timeout", "4", "--json")).out)
    assert (await server.client.get(f"/api/sessions/{forked['sessionId']}"))["approvalTimeout"] == 4
    assert (await cli("session", "set", made["id"], "--approval-timeout", "server")).code == 0
    assert (await server.client.get(f"/api/sessions/{made['id']}"))["approvalTimeout"] is None
    for wrong in ("0", "-3", "soon", "inf", "nan"):
        assert (await cli("session", "set", made["id"], f"--approval-timeout={wrong}")).code == 2
