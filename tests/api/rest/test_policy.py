"""Tests policy rules and choices over REST: created, ordered, changed, removed and explained."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from bough.core.policy.rules import NewRule, RulePatch
from bough.errors import Denied
from bough.model.session import Caller
from tests.api.error_responses import NOBODY, Json, refused
from tests.support.client import Client
from tests.support.server import Running, serving

RULES = "/api/policy/rules"
CHOICES = "/api/policy/choices"
EXPLAIN = "/api/policy/explain"


async def add(client: Client, effect: str, **fields: Any) -> Json:
    return await client.post(RULES, {"effect": effect, **fields})


async def order(client: Client) -> list[tuple[int, str]]:
    return [(rule["position"], rule["note"]) for rule in (await client.get(RULES))["rules"]]


async def test_a_rule_is_created_and_shown(server: Running) -> None:
    """P3, A2, A3: A rule has every field, its author and its times, and is the same in answers, lists and events."""
    client = server.client
    async with client.events() as events:
        rule = await add(client, "deny", agent="demo", kind="execute", command="git push*", note="By hand only.")
        created = await events.until(lambda event: event["type"] == "rule.created")
    assert created["data"] == rule and created["objectId"] == rule["id"] and created["sessionId"] is None
    assert rule.keys() == {
        *("id", "position", "effect", "agent", "kind", "tool", "command", "path", "note"),
        *("createdBy", "createdAt", "updatedAt"),
    }
    assert (rule["position"], rule["effect"], rule["command"], rule["path"]) == (1, "deny", "git push*", None)
    assert rule["createdBy"] == {"kind": "person", "id": None}
    assert await client.get(f"{RULES}/{rule['id'][-8:]}") == rule
    assert await client.get(RULES) == {"rules": [rule], "total": 1, "limit": 20, "offset": 0}


async def test_positions_stay_dense(tmp_path: Path, database_url: str) -> None:
    """P3: A rule takes the requested position, the others move up without gaps, and each that moved is announced."""
    async with serving(tmp_path, database=database_url) as server:
        client = server.client
        a, b, c = [await add(client, "ask", note=note) for note in "abc"]
        first = await add(client, "ask", note="first", position=1)
        assert await order(client) == [(1, "first"), (2, "a"), (3, "b"), (4, "c")]
        async with client.events() as events:
            moved = await client.call("PATCH", f"{RULES}/{c['id']}", json={"position": 2})
            await events.until(lambda event: event["objectId"] == b["id"] and event["data"]["position"] == 4)
        assert moved["position"] == 2
        changes = [
            (item["data"]["note"], item["data"]["position"]) for item in events.seen if item["type"] == "rule.patched"
        ]
        # Events of the rules that were added before may come late.
        assert changes[-3:] == [("c", 2), ("a", 3), ("b", 4)]
        assert await order(client) == [(1, "first"), (2, "c"), (3, "a"), (4, "b")]
        await client.call("PATCH", f"{RULES}/{first['id']}", json={"position": 99})
        assert await order(client) == [(1, "c"), (2, "a"), (3, "b"), (4, "first")]
        async with client.events() as events:
            removed = await client.call("DELETE", f"{RULES}/{a['id']}")
            await events.until(lambda event: event["type"] == "rule.removed")
        assert (removed["id"], removed["position"]) == (a["id"], 2)
        assert next(item for item in events.seen if item["type"] == "rule.removed")["data"] == removed
        assert await order(client) == [(1, "c"), (2, "b"), (3, "first")]
        await asyncio.gather(*(add(client, "ask", note=str(number), position=2) for number in range(6)))
        assert [position for position, _ in await order(client)] == list(range(1, 10))
        page = await client.get(f"{RULES}?limit=2&offset=7")
        assert ([rule["note"] for rule in page["rules"]], page["total"]) == (["b", "first"], 9)


async def test_every_field_of_a_rule_can_be_changed(server: Running) -> None:
    """P3: Only named fields change, null clears a condition, and the result is validated like a new rule."""
    client = server.client
    rule = await add(client, "allow", command="git *", agent="demo")
    path = f"{RULES}/{rule['id']}"
    fields = {"effect": "ask", "agent": None, "kind": "edit", "tool": "write*", "path": "docs/**", "note": "n"}
    changed = await client.call("PATCH", path, json=fields)
    assert {name: changed[name] for name in fields} == fields
    assert (changed["command"], changed["position"], changed["createdAt"]) == ("git *", 1, rule["createdAt"])
    for body, code in (
        ({}, "nothing_to_change"),
        ({"agent": "nobody"}, "unknown_agent"),
        ({"kind": "no"}, "bad_request"),
        ({"effect": None}, "bad_request"),
        ({"tool": ""}, "bad_rule"),
        ({"position": 0}, "bad_rule"),
        ({"effect": "allow", "kind": None, "tool": "*", "command": None, "path": "**"}, "rule_too_wide"),
    ):
        refused(await client.http.patch(path, json=body), 400, code)
    assert await client.get(path) == changed


async def test_invalid_rules_are_refused(server: Running) -> None:
    """P3: Refuses unknown agents and kinds, invalid patterns, and rules that allow everything, each with an
    explanation."""
    http = server.client.http
    for body, code, says in (
        ({"effect": "allow"}, "rule_too_wide", "mode allow-all"),
        ({"effect": "allow", "agent": "demo"}, "rule_too_wide", "kind"),
        ({"effect": "allow", "tool": "*", "path": "/**"}, "rule_too_wide", "wildcards"),
        ({"effect": "deny", "agent": "nobody"}, "unknown_agent", "demo"),
        ({"effect": "deny", "kind": "nothing"}, "bad_request", "execute"),
        ({"effect": "never"}, "bad_request", "allow, ask, deny"),
        ({"effect": "deny", "command": ""}, "bad_rule", "command"),
        ({"effect": "deny", "path": " "}, "bad_rule", "path"),
        ({"effect": "deny", "path": "a/[z-b]"}, "bad_rule", "pattern"),
        ({"effect": "deny", "tool": "x" * 1001}, "bad_rule", "1000"),
        ({"effect": "deny", "command": "a\0b"}, "text_has_nul", "NUL"),
        ({"effect": "deny", "note": "x" * 2001}, "bad_rule", "2000"),
        ({"effect": "deny", "position": 0}, "bad_rule", "1"),
        ({"effect": "deny", "everything": True}, "bad_request", "everything"),
    ):
        assert says in refused(await http.post(RULES, json=body), 400, code)["message"]
    assert (await server.client.get(RULES))["total"] == 0
    # Rules that only restrict may apply to everything.
    for effect in ("ask", "deny"):
        assert (await add(server.client, effect))["kind"] is None


async def test_rules_accept_short_ids_and_keys(server: Running) -> None:
    """R5, A4: Rules are found by short ids, unknown ids are refused, and the same key returns the same answer."""
    client = server.client
    rule = await add(client, "deny", kind="delete", idempotencyKey="k")
    assert await add(client, "deny", kind="delete", idempotencyKey="k") == rule
    asked = {"effect": "deny", "kind": "move", "idempotencyKey": "k"}
    refused(await client.http.post(RULES, json=asked), 409, "idempotency_key_reused")
    assert (await client.get(RULES))["total"] == 1
    for short in (rule["id"][:8], rule["id"][-8:], rule["id"].replace("-", "")):
        assert (await client.get(f"{RULES}/{short}"))["id"] == rule["id"]
    for method in ("GET", "DELETE"):
        refused(await client.http.request(method, f"{RULES}/{NOBODY}"), 404, "rule_not_found")
        refused(await client.http.request(method, f"{CHOICES}/{NOBODY}"), 404, "choice_not_found")
    refused(await client.http.patch(f"{RULES}/{NOBODY}", json={"note": ""}), 404, "rule_not_found")
    refused(await client.http.get(f"{RULES}/short"), 400, "bad_id")


async def test_sessions_cannot_change_the_policy(server: Running) -> None:
    """P3: A session may read the policy that it works under, but not change it."""
    services = server.services
    agent = Caller(kind="session", id=NOBODY)
    rule = await services.rules.add(Caller(), NewRule("deny"))
    for change in (
        services.rules.add(agent, NewRule("allow", kind="execute")),
        services.rules.patch(agent, rule.id, RulePatch(effect="ask")),
        services.rules.remove(agent, rule.id),
        services.choices.remove(agent, NOBODY),
    ):
        with pytest.raises(Denied) as error:
            await change
        assert error.value.code == "policy_for_people"
    assert (await server.client.get(RULES))["total"] == 1


async def test_an_explanation_names_the_rule(server: Running) -> None:
    """P3: An explanation gives the decision, its source and reason, and why each rule does or does not match."""
    client = server.client
    repo = await client.repo(server.repo())
    session = await client.session(repo["id"], permissionMode="ask")
    other = await add(client, "deny", agent="demo", kind="edit", path="docs/**")
    push = await add(client, "deny", command="git push*", note="By hand only.")
    asked = {"sessionId": session["id"][-8:], "command": "git push origin"}
    explanation = await client.post(EXPLAIN, asked)
    assert (explanation["effect"], explanation["by"], explanation["id"], explanation["rule"]) == (
        "deny",
        "rule",
        push["id"],
        push,
    )
    assert "By hand only." in explanation["reason"]
    first, second = explanation["considered"]
    assert (first["ruleId"], first["matched"], first["position"]) == (other["id"], False, 1)
    assert "execute, not edit" in first["why"]
    assert (second["ruleId"], second["matched"], second["effect"]) == (push["id"], True, "deny")
    assert "git push*" in second["why"]
    harmless = await client.post(EXPLAIN, asked | {"command": "git log"})
    assert (harmless["effect"], harmless["by"], harmless["id"], harmless["rule"]) == ("ask", "mode", None, None)
    assert [item["matched"] for item in harmless["considered"]] == [False, False]
    docs = await client.post(EXPLAIN, {"sessionId": session["id"], "paths": ["docs/a.md"]})
    assert (docs["effect"], docs["id"]) == ("deny", other["id"])
    # A session can be explained with another mode; without a session, the agent, folder and mode can be given.
    lax = await client.post(EXPLAIN, asked | {"command": "git log", "permissionMode": "allow-all"})
    assert lax["effect"] == "allow"
    alone = {"agent": "demo", "cwd": str(server.root), "permissionMode": "acceptEdits"}
    assert (await client.post(EXPLAIN, alone | {"paths": ["x"]}))["effect"] == "allow"
    assert (await client.post(EXPLAIN, alone | {"paths": ["../x"]}))["effect"] == "ask"
    assert (await client.post(EXPLAIN, {}))["by"] == "mode"


async def test_explanations_support_keys_and_refuse_invalid_uses(server: Running) -> None:
    """A4: The same key returns the same explanation even if the rules have changed; an invalid tool use is refused."""
    client = server.client
    asked = {"command": "ls", "idempotencyKey": "k"}
    rule = await add(client, "deny", kind="execute")
    first = await client.post(EXPLAIN, asked)
    assert first["rule"] == rule
    await client.call("DELETE", f"{RULES}/{rule['id']}")
    assert await client.post(EXPLAIN, asked) == first
    assert (await client.post(EXPLAIN, {"command": "ls"}))["considered"] == []
    for body, status, code in (
        ({"sessionId": NOBODY}, 404, "session_not_found"),
        ({"agent": "nobody"}, 400, "unknown_agent"),
        ({"cwd": "here"}, 400, "path_not_absolute"),
        ({"paths": ["a\0"]}, 400, "bad_path"),
        ({"paths": ["x"] * 101}, 400, "bad_path"),
        ({"command": "x" * 70_000}, 400, "bad_use"),
        ({"kind": "no"}, 400, "bad_request"),
    ):
        refused(await client.http.post(EXPLAIN, json=body), status, code)


async def test_a_rule_applies_at_once(server: Running) -> None:
    """P3: A new rule decides the next tool use of a turn that is already running."""
    client = server.client
    folder = server.repo()
    session = await client.session((await client.repo(folder))["id"], permissionMode="ask")
    task = await client.prompt(session["id"], "[[run true]][[run touch denied]][[run touch allowed]]")
    approval = await client.approval(session["id"])
    await add(client, "deny", command="touch denied")
    await add(client, "allow", command="touch *")
    await client.post(f"/api/approvals/{approval['id']}", {"decision": "allow"})
    assert (await client.wait_task(task))["status"] == "completed"
    assert (folder / "allowed").exists() and not (folder / "denied").exists()


async def test_choices_are_listed_and_removed(server: Running) -> None:
    """P3: Lists every *always* answer with its scope; once it is removed, the agent has to ask again."""
    client = server.client
    repo = await client.repo(server.repo())
    session = await client.session(repo["id"], permissionMode="ask")
    for name, scope in (("one", "session"), ("two", "everywhere")):
        task = await client.prompt(session["id"], f"[[run touch {name}]]")
        approval = await client.approval(session["id"])
        await client.post(f"/api/approvals/{approval['id']}", {"decision": "allow_always", "scope": scope})
        await client.wait_task(task)
    wide, narrow = (await client.get(CHOICES))["choices"]
    assert (wide["scope"], narrow["scope"], narrow["sessionId"]) == ("everywhere", "session", session["id"])
    assert (narrow["agent"], narrow["toolKind"], "touch one" in narrow["title"]) == ("demo", "execute", True)
    assert narrow["decidedBy"] == {"kind": "person", "id": None, "scope": "session"}
    assert await client.get(f"{CHOICES}/{narrow['id'][-8:]}") == narrow
    await client.call("DELETE", f"/api/sessions/{session['id']}")
    other = await client.session(repo["id"], permissionMode="ask")
    for query, matches in (
        ("scope=session", [narrow]),
        ("scope=worktree", []),
        (f"sessionId={session['id'][-8:]}", [wide, narrow]),
        (f"sessionId={other['id']}", [wide]),
        (f"sessionId={session['id']}&scope=session", [narrow]),
        (f"approvalId={narrow['approvalId'][-8:]}", [narrow]),
        (f"approvalId={wide['approvalId']}", [wide]),
        (f"approvalId={wide['approvalId']}&scope=session", []),
        ("limit=1&offset=1", [narrow]),
    ):
        assert (await client.get(f"{CHOICES}?{query}"))["choices"] == matches, query
    refused(await client.http.get(f"{CHOICES}?scope=no"), 400, "bad_request")
    refused(await client.http.get(f"{CHOICES}?sessionId={NOBODY}"), 404, "session_not_found")
    refused(await client.http.get(f"{CHOICES}?approvalId={NOBODY}"), 404, "approval_not_found")
    # The same answer to the same tool use is stored once, and found by both approvals.
    await client.prompt(other["id"], "[[run touch one]]")
    again = await client.approval(other["id"])
    await client.post(f"/api/approvals/{again['id']}", {"decision": "allow"})
    assert (await client.get(f"{CHOICES}?approvalId={again['id']}"))["choices"] == []
    assert (await client.ask(other["id"], "[[run touch two]]"))["status"] == "completed"
    async with client.events() as events:
        assert await client.call("DELETE", f"{CHOICES}/{wide['id']}") == wide
        removed = await events.until(lambda event: event["type"] == "choice.removed")
    assert removed["data"] == wide
    await client.prompt(other["id"], "[[run touch two]]")
    assert "touch two" in (await client.approval(other["id"]))["title"]


async def test_a_removed_choice_leaves_its_session(server: Running) -> None:
    """P3, R2: A session's `allowedTools` lists only the choices that still apply."""
    client = server.client
    session = await client.session((await client.repo(server.repo()))["id"], permissionMode="ask")
    for name in ("one", "two"):
        task = await client.prompt(session["id"], f"[[run touch {name}]]")
        approval = await client.approval(session["id"])
        await client.post(f"/api/approvals/{approval['id']}", {"decision": "allow_always"})
        await client.wait_task(task)
    path = f"/api/sessions/{session['id']}"
    known = (await client.get(path))["allowedTools"]
    second, first = (await client.get(CHOICES))["choices"]
    assert sorted(known) == sorted([first["key"], second["key"]])
    async with client.events(session["id"]) as events:
        await client.call("DELETE", f"{CHOICES}/{first['id']}")
        patched = await events.until(lambda event: event["type"] == "session.patched")
    assert patched["data"]["allowedTools"] == (await client.get(path))["allowedTools"] == [second["key"]]
    await client.prompt(session["id"], "[[run touch one]]")
    assert "touch one" in (await client.approval(session["id"]))["title"]
