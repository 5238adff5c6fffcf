"""Tests trees over REST: whole trees, reports, budgets, waits, cascades and inherited transcripts."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import Any

import httpx

from bough.core.events.wait import MOST
from bough.core.sessions.ending.cascades import Cascades
from bough.core.sessions.ending.control import Control, Stopped
from bough.errors import Conflict
from bough.model.session import Caller
from tests.api.error_responses import NOBODY, Json, refused
from tests.support.client import Client
from tests.support.eventually import eventually
from tests.support.server import Running, serving

HANG = "[[hang]]"


async def opened(server: Running, **fields: Any) -> Json:
    repo = await server.client.repo(server.repo())
    return await server.client.session(repo["id"], **fields)


async def branch(client: Client, session: Json | str, kind: str, prompt: str | None = None, **fields: Any) -> Json:
    """Creates a branch and returns the answer, with the session's id also as `id`."""
    known = session if isinstance(session, str) else session["id"]
    body = fields if prompt is None else {"prompt": prompt, **fields}
    made = await client.post(f"/api/sessions/{known}/{kind}", body, expect=201)
    assert made.keys() == {"sessionId", "taskId"}
    return {"id": made["sessionId"], **made}


async def settled(client: Client, *sessions: Json) -> Json:
    """Waits until no prompt is running or queued in any of the sessions."""
    return await client.post("/api/wait", {"sessionIds": [session["id"] for session in sessions]})


async def family(server: Running, **fields: Any) -> tuple[Json, Json, Json, Json]:
    """Creates a root, a child, a grandchild and a fork of the root; the child's and the grandchild's turns hang."""
    client = server.client
    root = await opened(server, title="root", initialPrompt="[[say one]]", **fields)
    await client.wait_task(root["taskId"])
    child = await branch(client, root, "spawn", HANG, title="child")
    grandchild = await branch(client, child, "spawn", HANG, title="grandchild")
    fork = await branch(client, root, "fork")
    for item in (child, grandchild):
        await client.wait_task(item["taskId"], "running")
    return root, child, grandchild, fork


def outcomes(cascade: list[Json]) -> list[tuple[str, str]]:
    return [(item["sessionId"], item["outcome"]) for item in cascade]


async def status(client: Client, session: Json) -> str:
    return (await client.get(f"/api/sessions/{session['id']}"))["status"]


async def test_a_whole_tree(server: Running) -> None:
    """B5: Any session of a tree returns the whole tree, with what is queued in each session and the total usage."""
    client = server.client
    root, child, grandchild, fork = await family(server)
    await client.prompt(child["id"], "and then")
    tree = await client.get(f"/api/sessions/{grandchild['id'][-8:]}/tree")
    assert tree == await client.get(f"/api/sessions/{root['id']}/tree")
    assert tree["rootSessionId"] == root["id"]
    nodes = {session["id"]: session for session in tree["sessions"]}
    assert list(nodes) == [item["id"] for item in (root, child, grandchild, fork)]
    assert [node["kind"] for node in nodes.values()] == ["root", "subsession", "subsession", "fork"]
    assert [node["depth"] for node in nodes.values()] == [0, 1, 2, 0]
    assert nodes[child["id"]]["parentSessionId"] == root["id"]
    assert nodes[fork["id"]]["forkedFromSessionId"] == root["id"]
    assert nodes[fork["id"]]["branchTaskId"] == root["taskId"]
    assert [node["queued"] for node in nodes.values()] == [0, 1, 0, 0]
    assert [node["activity"] for node in nodes.values()] == ["idle", "running", "running", "not_started"]
    assert nodes[child["id"]]["firstPrompt"] == HANG
    assert nodes[fork["id"]]["firstPrompt"] == ""
    assert (tree["running"], tree["queued"], tree["asking"], tree["budget"]) == (2, 1, 0, None)
    assert (tree["used"]["sessions"], tree["used"]["turns"]) == (4, 1)
    assert tree["used"]["tokens"] == nodes[root["id"]]["tokens"] > 0
    listed = await client.get(f"/api/sessions?rootId={root['id']}")
    assert {session["id"] for session in listed["sessions"]} == nodes.keys()
    children = await client.get(f"/api/sessions?parentId={root['id'][-8:]}")
    assert [session["id"] for session in children["sessions"]] == [child["id"]]
    assert (await client.get(f"/api/sessions?rootId={child['id']}"))["total"] == 0
    refused(await client.http.get(f"/api/sessions/{NOBODY}/tree"), 404, "session_not_found")
    refused(await client.http.get(f"/api/sessions?parentId={NOBODY}"), 404, "session_not_found")


async def test_approvals_are_counted_in_the_tree(server: Running) -> None:
    """B5: The tree counts each session's pending approvals."""
    client = server.client
    root = await opened(server, permissionMode="ask")
    child = await branch(client, root, "spawn", "[[write a.txt b]]")
    approval = await client.approval(child["id"])
    tree = await client.get(f"/api/sessions/{root['id']}/tree")
    assert [session["asking"] for session in tree["sessions"]] == [0, 1]
    assert tree["asking"] == 1
    await client.post(f"/api/approvals/{approval['id']}", {"decision": "deny"})
    await client.wait_task(child["taskId"])
    assert (await client.get(f"/api/sessions/{root['id']}/tree"))["asking"] == 0


async def test_callbacks_are_listed(server: Running) -> None:
    """Q3: Lists the callbacks that a session sent and received, by state and in pages."""
    client = server.client
    root = await opened(server)
    first = await branch(client, root, "spawn", "[[say first]]")
    await settled(client, first, root)
    await client.post(f"/api/sessions/{root['id']}/complete")
    two = await branch(client, root, "spawn", "[[say second]]")
    await settled(client, two)
    path = f"/api/sessions/{root['id']}/callbacks"
    tree = await client.get(path)
    assert (tree["total"], tree["limit"], tree["offset"]) == (2, 20, 0)
    assert [row["state"] for row in tree["callbacks"]] == ["held", "delivered"]
    assert [row["childSessionId"] for row in tree["callbacks"]] == [two["id"], first["id"]]
    held, delivered = tree["callbacks"]
    assert held["reason"] and "second" in held["text"] and held["parentTaskId"] is None
    assert delivered["parentTaskId"] and delivered["childTaskId"] == first["taskId"]
    assert (await client.get(f"{path}?state=held"))["callbacks"] == [held]
    assert (await client.get(f"{path}?limit=1&offset=1"))["callbacks"] == [delivered]
    sent = await client.get(f"/api/sessions/{first['id']}/callbacks")
    assert sent["callbacks"] == [delivered]
    refused(await client.http.get(f"{path}?state=lost"), 400, "bad_status")


async def test_budgets_are_set_and_shown(server: Running) -> None:
    """B5: A budget applies to the whole tree from the moment it is set; omitted limits are unlimited."""
    client = server.client
    root = await opened(server, initialPrompt="[[say one]]")
    await client.wait_task(root["taskId"])
    child = await branch(client, root, "fork")
    path = f"/api/sessions/{root['id']}/budget"
    tree = await client.get(path)
    assert tree["budget"] is None
    assert tree["used"]["turns"] == 1
    answer = await client.call("PUT", f"/api/sessions/{child['id']}/budget", json={"maxTurns": 5, "maxCost": 1.5})
    assert answer == await client.get(path)
    budget = answer["budget"]
    assert (budget["rootSessionId"], budget["maxTurns"], budget["maxCost"]) == (root["id"], 5, 1.5)
    assert (budget["maxTokens"], budget["maxMinutes"], budget["baseTurns"]) == (None, None, 1)
    assert (await client.get(f"/api/sessions/{root['id']}/tree"))["budget"] == budget
    none = await client.call("PUT", path, json={})
    assert none["budget"]["maxTurns"] is None
    refused(await client.http.put(path, json={"maxTurns": 0}), 400, "bad_budget")
    refused(await client.http.put(path, json={"maxTurns": 1 << 70}), 400)
    refused(await client.http.put(path, json={"turns": 1}), 400, "bad_request")
    refused(await client.http.put(f"/api/sessions/{NOBODY}/budget", json={}), 404, "session_not_found")


async def test_waiting_for_all_and_for_any(server: Running) -> None:
    """B5: A wait returns when all, or any, of the tasks and sessions are idle; it accepts short ids and lists each
    once."""
    client = server.client
    root = await opened(server)
    quick = await branch(client, root, "spawn", "[[say quick]]", callback={"enabled": False})
    slow = await branch(client, root, "spawn", HANG, callback={"enabled": False})
    await client.wait_task(slow["taskId"], "running")
    both = {"taskIds": [quick["taskId"][-8:], slow["taskId"], slow["taskId"]]}
    outcome = await client.post("/api/wait", {**both, "mode": "any"})
    assert outcome["done"] == [{"id": quick["taskId"], "sessionId": quick["id"], "status": "completed"}]
    assert (outcome["pending"], outcome["paused"]) == ([slow["taskId"]], [])
    waiting = asyncio.create_task(client.post("/api/wait", {**both, "sessionIds": [slow["id"]]}))
    await client.post(f"/api/sessions/{slow['id']}/stop")
    outcome = await waiting
    assert {item["status"] for item in outcome["done"]} == {"completed", "cancelled", "idle"}
    assert (outcome["pending"], len(outcome["done"])) == ([], 3)


async def test_a_wait_times_out(server: Running) -> None:
    """B5: A wait ends at its timeout, or at once if everything left waits for a person."""
    client = server.client
    root = await opened(server, initialPrompt=HANG)
    await client.wait_task(root["taskId"], "running")
    late = await client.post("/api/wait", {"taskIds": [root["taskId"]], "timeoutSeconds": 0})
    assert late == {"done": [], "pending": [root["taskId"]], "paused": [], "approvals": []}
    queued = await client.prompt(root["id"], "later")
    await client.post(f"/api/sessions/{root['id']}/stop")
    outcome = await client.post("/api/wait", {"taskIds": [queued], "sessionIds": [root["id"]]})
    assert outcome == {"done": [], "pending": [], "paused": [queued, root["id"]], "approvals": []}


async def test_a_wait_ends_when_its_target_is_purged(server: Running) -> None:
    """B5: A task or session that is purged during a wait counts as done."""
    client = server.client
    root = await opened(server, initialPrompt=HANG)
    await client.wait_task(root["taskId"], "running")
    waiting = asyncio.create_task(client.post("/api/wait", {"taskIds": [root["taskId"]], "sessionIds": [root["id"]]}))
    await until_waiting(1)
    await client.call("DELETE", f"/api/sessions/{root['id']}?purge=true")
    done = (await waiting)["done"]
    assert {item["id"] for item in done} == {root["taskId"], root["id"]}
    assert {item["status"] for item in done} <= {"removed", "cancelled"}


def waiting_here() -> list[asyncio.Task[Any]]:
    """Returns the server's waits, which run in this event loop."""
    return [task for task in asyncio.all_tasks() if "Waiting.wait" in repr(task.get_coro())]


async def until_waiting(count: int) -> None:
    await eventually(lambda: len(waiting_here()) == count, f"{count} requests wait")


async def test_a_disconnect_ends_the_wait(server: Running) -> None:
    """B5: A client that disconnects ends its wait, and nothing is left behind."""
    client = server.client
    root = await opened(server, initialPrompt=HANG)
    await client.wait_task(root["taskId"], "running")
    waiting = asyncio.create_task(client.post("/api/wait", {"taskIds": [root["taskId"]]}))
    await until_waiting(1)
    waiting.cancel()
    await asyncio.wait((waiting,))
    await until_waiting(0)


async def test_a_stopping_server_answers_its_waits(tmp_path: Path) -> None:
    """B5, L1: Waits do not delay a server's stop; each is answered with the current state."""
    async with serving(tmp_path) as server:
        root = await opened(server, initialPrompt=HANG)
        await server.client.wait_task(root["taskId"], "running")
        headers = {"authorization": f"Bearer {server.token}"}
        http = httpx.AsyncClient(base_url=server.url, headers=headers, timeout=30)
        waiting = asyncio.create_task(http.post("/api/wait", json={"taskIds": [root["taskId"]]}))
        await until_waiting(1)
    async with contextlib.aclosing(http):
        assert (await waiting).json() == {"done": [], "pending": [root["taskId"]], "paused": [], "approvals": []}


async def test_invalid_waits_are_refused(server: Running) -> None:
    """B5: Refuses unknown ids with 404, and empty, large or long waits with 400; a key returns the same answer."""
    client = server.client
    root = await opened(server)
    for body, code, error in (
        ({"taskIds": [NOBODY]}, 404, "task_not_found"),
        ({"sessionIds": [NOBODY]}, 404, "session_not_found"),
        ({}, 400, "bad_wait"),
        ({"sessionIds": [root["id"]] * (MOST + 1)}, 400, "bad_wait"),
        ({"sessionIds": [root["id"]], "timeoutSeconds": 46}, 400, "bad_request"),
        ({"sessionIds": [root["id"]], "mode": "most"}, 400, "bad_request"),
    ):
        refused(await client.http.post("/api/wait", json=body), code, error)
    keyed = {"sessionIds": [root["id"]], "idempotencyKey": "wait"}
    first = await client.post("/api/wait", keyed)
    assert first["done"][0]["status"] == "not_started"
    await client.ask(root["id"], "hello")
    assert await client.post("/api/wait", keyed) == first


async def test_stop_cascades(server: Running) -> None:
    """B5, T6: Every turn below stops, deepest first; callbacks wait in paused queues and start no turns."""
    client = server.client
    root, child, grandchild, fork = await family(server)
    answer = await client.post(f"/api/sessions/{root['id']}/stop", {"cascade": True})
    assert answer["session"]["id"] == root["id"]
    order = outcomes(answer["cascade"])
    assert order[0] == (grandchild["id"], "stopped")
    assert sorted(order[1:3]) == sorted([(child["id"], "stopped"), (fork["id"], "unchanged")])
    assert order[3] == (root["id"], "paused")
    assert {item["taskId"] for item in answer["cascade"]} == {grandchild["taskId"], child["taskId"], None}
    tree = await client.get(f"/api/sessions/{root['id']}/tree")
    assert tree["running"] == 0
    # Each callback is queued in the parent.
    assert [session["queued"] for session in tree["sessions"]] == [1, 1, 0, 0]
    await client.post(f"/api/sessions/{root['id']}/resume")
    rows = await settled(client, root)
    assert rows["done"][0]["status"] == "idle"
    again = await client.post(f"/api/sessions/{fork['id']}/stop", {"cascade": True})
    assert outcomes(again["cascade"]) == [(fork["id"], "unchanged")]
    body = {"cascade": True, "expectedTaskId": root["taskId"]}
    refused(await client.http.post(f"/api/sessions/{root['id']}/stop", json=body), 400, "bad_cascade")


async def test_complete_cascades(server: Running) -> None:
    """B5, T6: Completing a busy tree is refused and changes nothing; with `force`, all end, children first."""
    client = server.client
    root, child, grandchild, fork = await family(server)
    path = f"/api/sessions/{root['id']}/complete"
    error = refused(await client.http.post(path, json={"cascade": True}), 409, "tree_busy")
    assert set(error["details"]["busy"]) == {child["id"], grandchild["id"]}
    assert [await status(client, item) for item in (root, child, grandchild, fork)] == ["active"] * 4
    assert not (await client.get(f"/api/sessions/{root['id']}"))["queuePaused"]
    body = {"cascade": True, "force": True, "idempotencyKey": "all"}
    answer = await client.post(path, body)
    assert {outcome for _, outcome in outcomes(answer["cascade"])} == {"completed"}
    assert [id for id, _ in outcomes(answer["cascade"])][::3] == [grandchild["id"], root["id"]]
    assert answer["status"] == "completed"
    assert [await status(client, item) for item in (root, child, grandchild, fork)] == ["completed"] * 4
    assert (await client.get(f"/api/sessions/{root['id']}/tree"))["running"] == 0
    # The same key returns the same answer, whatever has happened since.
    await client.post(f"/api/sessions/{child['id']}/resume")
    assert await client.post(path, body) == answer
    assert await status(client, child) == "active"
    refused(await client.http.post(path, json={**body, "force": False}), 409, "idempotency_key_reused")


async def test_archive_cascades(server: Running) -> None:
    """B5: A tree is archived completely or not at all, and is unarchived completely."""
    client = server.client
    root, child, grandchild, fork = await family(server)
    path = f"/api/sessions/{root['id']}/archive"
    refused(await client.http.post(path, json={"cascade": True}), 409, "tree_busy")
    assert (await client.get("/api/sessions?archived=true"))["total"] == 0
    await client.post(f"/api/sessions/{child['id']}/complete", {"cascade": True, "force": True})
    await settled(client, root)
    answer = await client.post(path, {"cascade": True})
    assert (answer["archived"], len(answer["cascade"])) == (True, 4)
    assert {item["outcome"] for item in answer["cascade"]} == {"archived"}
    assert (await client.get("/api/sessions?archived=true"))["total"] == 4
    assert {item["outcome"] for item in (await client.post(path, {"cascade": True}))["cascade"]} == {"unchanged"}
    back = await client.post(path, {"archived": False, "cascade": True})
    assert {item["outcome"] for item in back["cascade"]} == {"unarchived"}
    assert back["archived"] is False
    assert (await client.get("/api/sessions?archived=true"))["total"] == 0
    assert await status(client, fork) == "completed"
    assert await status(client, grandchild) == "completed"


async def test_delete_cascades(server: Running) -> None:
    """B5, A1: Sessions are cancelled or purged children first; sessions outside the subtree stay."""
    client = server.client
    root, child, grandchild, fork = await family(server)
    path = f"/api/sessions/{child['id']}?cascade=true"
    refused(await client.http.delete(f"{path}&worktree=remove"), 400, "bad_cascade")
    ended = await client.call("DELETE", path)
    assert outcomes(ended["cascade"]) == [(grandchild["id"], "cancelled"), (child["id"], "cancelled")]
    assert ended["status"] == "cancelled"
    assert [await status(client, item) for item in (root, fork)] == ["active"] * 2
    refused(await client.http.delete(f"/api/sessions/{child['id']}?purge=true"), 409, "session_has_children")
    again = await client.call("DELETE", path)
    assert {item["outcome"] for item in again["cascade"]} == {"unchanged"}
    await settled(client, root)
    gone = await client.call("DELETE", f"/api/sessions/{root['id']}?cascade=true&purge=true")
    order = outcomes(gone["cascade"])
    assert (order[0], order[3]) == ((grandchild["id"], "removed"), (root["id"], "removed"))
    assert gone["id"] == root["id"]
    assert (await client.get("/api/sessions"))["total"] == 0
    refused(await client.http.delete(path), 404, "session_not_found")


async def test_cascades_on_both_databases(database_url: str, tmp_path: Path) -> None:
    """R6, B5: Tree, wait and cascade behave the same on both databases."""
    async with serving(tmp_path, database=database_url) as server:
        client = server.client
        root, child, grandchild, fork = await family(server)
        tree = await client.get(f"/api/sessions/{root['id']}/tree")
        assert (tree["running"], tree["used"]["sessions"]) == (2, 4)
        await client.post(f"/api/sessions/{root['id']}/stop", {"cascade": True})
        rows = await settled(client, child, grandchild, fork)
        assert {*rows["paused"], *(item["id"] for item in rows["done"])} == {
            item["id"] for item in (child, grandchild, fork)
        }
        gone = await client.call("DELETE", f"/api/sessions/{root['id']}?cascade=true&purge=true")
        assert {item["outcome"] for item in gone["cascade"]} == {"removed"}


async def test_an_interrupted_cascade_is_finished(server: Running) -> None:
    """B5, Q4: Repeating an interrupted cascade with the same key does what is left."""
    client = server.client
    root, child, grandchild, fork = await family(server)
    caller = Caller(idempotency_key="all")
    async with client.events(grandchild["id"]) as events:
        run = asyncio.create_task(server.services.cascades.run(caller, root["id"], "complete", force=True))
        await events.until(lambda event: event["type"] == "session.patched" and event["data"]["status"] == "completed")
        run.cancel()
        await asyncio.wait((run,))
    assert await status(client, root) == "active"
    answer = await client.post(
        f"/api/sessions/{root['id']}/complete", {"cascade": True, "force": True, "idempotencyKey": "all"}
    )
    assert len(answer["cascade"]) == 4
    assert [await status(client, item) for item in (root, child, grandchild, fork)] == ["completed"] * 4


class Fertile(Control):
    """Spawns one more child at the moment a session is stopped."""

    def __init__(self, server: Running, fertile: str) -> None:
        services = server.services
        super().__init__(services.store, services.runner, services.tasks)
        self._client = server.client
        self._fertile = fertile
        self.born: list[Json] = []

    async def stop(self, caller: Caller, session_id: str, expected_task: str | None = None) -> Stopped:
        if session_id == self._fertile and not self.born:
            self.born.append(await branch(self._client, session_id, "spawn", HANG))
            await self._client.wait_task(self.born[0]["taskId"], "running")
        return await super().stop(caller, session_id, expected_task)


async def test_a_child_spawned_during_a_cascade_is_stopped(server: Running) -> None:
    """B5: A session that is spawned during a cascade is stopped too."""
    root, child, grandchild, fork = await family(server)
    services, control = server.services, Fertile(server, child["id"])
    cascades = Cascades(services.store, control, services.archiving, services.purging)
    done = await cascades.run(Caller(), root["id"], "stop")
    assert {session.session_id for session in done.sessions} == {
        item["id"] for item in (root, child, grandchild, fork, *control.born)
    }
    assert (done.sessions[-1].session_id, done.sessions[-1].outcome) == (control.born[0]["id"], "stopped")
    assert (await server.client.get(f"/api/sessions/{root['id']}/tree"))["running"] == 0


async def test_a_refusal_during_a_cascade_is_reported(server: Running) -> None:
    """B5: The answer names a session that refuses midway, and the cascade goes through the others."""
    root, child, grandchild, fork = await family(server)
    services = server.services

    class Stubborn(Control):
        async def stop(self, caller: Caller, session_id: str, expected_task: str | None = None) -> Stopped:
            if session_id == child["id"]:
                raise Conflict("session_busy", "Not now.")
            return await super().stop(caller, session_id, expected_task)

    control = Stubborn(services.store, services.runner, services.tasks)
    cascades = Cascades(services.store, control, services.archiving, services.purging)
    done = {session.session_id: session for session in (await cascades.run(Caller(), root["id"], "stop")).sessions}
    assert (done[child["id"]].outcome, done[child["id"]].code) == ("refused", "session_busy")
    assert done[grandchild["id"]].outcome == "stopped"
    assert done.keys() == {item["id"] for item in (root, child, grandchild, fork)}


async def test_a_fork_can_be_read_with_its_inherited_messages(server: Running) -> None:
    """B1, A2: A fork's transcript holds its own messages; inherited ones come first, on request and in exports."""
    client = server.client
    root = await opened(server, title="Talk", initialPrompt="[[say red]]")
    await client.wait_task(root["taskId"])
    fork = await branch(client, root, "fork", "[[say blue]]")
    await client.wait_task(fork["taskId"])
    await client.ask(root["id"], "[[say green]]")
    second = await branch(client, fork, "fork", "[[say violet]]")
    await client.wait_task(second["taskId"])
    path = f"/api/sessions/{second['id']}/messages"
    own = await client.get(path)
    assert {item["sessionId"] for item in own} == {second["id"]}
    whole = await client.get(f"{path}?inherited=true")
    assert [item["content"]["text"] for item in whole if item["role"] == "agent"] == ["red", "blue", "violet"]
    assert list(dict.fromkeys(item["sessionId"] for item in whole)) == [root["id"], fork["id"], second["id"]]
    assert whole[-len(own) :] == own
    assert await client.get(f"{path}?inherited=true&limit=2") == whole[-2:]
    assert await client.get(f"{path}?inherited=true&after={whole[0]['id']}&limit=2") == whole[1:3]
    assert await client.get(f"{path}?inherited=true&before={whole[2]['id']}") == whole[:2]
    since = whole[1]["updatedAt"]
    changed = await client.get(f"{path}?inherited=true&since={since}")
    assert changed and all(item["updatedAt"] > since for item in changed)
    refused(await client.http.get(f"{path}?inherited=true&after={NOBODY}"), 404, "message_not_found")
    root_path = f"/api/sessions/{root['id']}/messages"
    assert await client.get(f"{root_path}?inherited=true") == await client.get(root_path)
    exported = await client.get(f"/api/sessions/{second['id']}/export")
    assert exported["inherited"] + exported["messages"] == whole
    as_text = (await client.http.get(f"/api/sessions/{second['id']}/export?format=markdown")).text
    assert as_text.index("red") < as_text.index("blue") < as_text.index("\n---\n") < as_text.rindex("violet")
    assert "green" not in as_text
