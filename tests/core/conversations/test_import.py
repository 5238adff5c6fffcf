"""Tests how conversations that took place outside of Bough become sessions."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from bough.core.conversations import history_files
from bough.core.conversations.listing import ConversationLists
from bough.core.conversations.read_turns import stated_cost
from bough.core.state.task_ended import MOST_COST
from bough.model.agents.conversation import Conversation
from tests.api.worktree_helpers import at
from tests.support.outside import demo_chat
from tests.support.server import Running, serving

Json = dict[str, Any]


async def held(server: Running, **query: Any) -> list[Json]:
    page = await server.client.get("/api/conversations", params={"agent": "demo", **query})
    return page["conversations"]


async def test_a_conversation_is_imported_once(server: Running) -> None:
    """H1: A conversation from outside is listed, imported with all its messages and tokens, and then like any session:
    it is resumed, its agent knows what was said, and it is found by search. A second import names the session."""
    repo = server.repo()
    await demo_chat(server.data / "demo", repo, "[[say first answer]]", "[[think hm]] [[run echo hello]]")
    (conversation,) = await held(server)
    assert (conversation["folder"], conversation["sessionId"], conversation["refusal"]) == (str(repo), None, None)
    answer = await server.client.post(
        "/api/conversations/import", {"agent": "demo", "conversationId": conversation["id"]}, expect=201
    )
    session = answer["session"]
    assert (session["status"], session["cwd"], answer["turns"]) == ("completed", str(repo), 2)
    tasks = (await server.client.get(f"/api/sessions/{session['id']}/tasks"))["tasks"]
    assert [(task["prompt"], task["status"], task["outside"]) for task in tasks] == [
        ("[[say first answer]]", "completed", True),
        ("[[think hm]] [[run echo hello]]", "completed", True),
    ]
    assert all(task["usage"]["totalTokens"] > 0 for task in tasks)
    assert session["tokens"] == sum(task["usage"]["totalTokens"] for task in tasks)
    messages = await server.client.get(f"/api/sessions/{session['id']}/messages")
    assert [(message["role"], message["content"]["type"]) for message in messages][:3] == [
        ("system", "notice"),
        ("user", "text"),
        ("agent", "text"),
    ]
    assert ("system", "tool") in {(message["role"], message["content"]["type"]) for message in messages}

    again = await server.client.post(
        "/api/conversations/import", {"agent": "demo", "conversationId": conversation["id"]}, expect=409
    )
    assert (again["error"]["code"], again["error"]["details"]["sessionId"]) == ("conversation_known", session["id"])
    assert (await held(server))[0]["sessionId"] == session["id"]

    task_id = await server.client.prompt(session["id"], "[[recall]]", resume=True)
    assert (await server.client.wait_task(task_id))["status"] == "completed"
    assert "[[say first answer]]" in (await server.client.texts(session["id"]))[-1]
    hits = await server.client.get("/api/search", params={"q": "first answer"})
    assert session["id"] in str(hits)


async def test_two_imports_at_once(server: Running) -> None:
    """H1: Of two imports of one conversation at the same time, one is refused, and there is one session."""
    repo = server.repo()
    await demo_chat(server.data / "demo", repo, "[[say hello]]")
    (conversation,) = await held(server)
    body = {"agent": "demo", "conversationId": conversation["id"]}
    answers = await asyncio.gather(*(server.client.http.post("/api/conversations/import", json=body) for _ in range(2)))
    assert sorted(answer.status_code for answer in answers) == [201, 409]
    assert (await server.client.get("/api/sessions"))["total"] == 1


async def test_a_repeat_that_overtakes_its_request(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """A4, H1: A request that is repeated with its key while it still runs gets the same answer, in any order."""
    repo = server.repo()
    await demo_chat(server.data / "demo", repo, "[[say hello]]")
    (conversation,) = await held(server)
    find, waits, repeated = ConversationLists.find, asyncio.Event(), asyncio.Event()

    async def find_late(lists: ConversationLists, agent: str, conversation_id: str) -> Conversation:
        monkeypatch.setattr(ConversationLists, "find", find)
        waits.set()
        await repeated.wait()
        return await find(lists, agent, conversation_id)

    monkeypatch.setattr(ConversationLists, "find", find_late)
    body = {"agent": "demo", "conversationId": conversation["id"], "idempotencyKey": "k"}
    first = asyncio.create_task(server.client.post("/api/conversations/import", body, expect=201))
    await waits.wait()
    answer = await server.client.post("/api/conversations/import", body, expect=201)
    repeated.set()
    assert await first == answer


async def test_only_folders_inside_the_workspace(server: Running, tmp_path: Path) -> None:
    """H2: A conversation in a folder outside of the workspace root is listed, but not imported unless another folder is
    named for it."""
    repo, elsewhere = server.repo(), tmp_path / "elsewhere"
    elsewhere.mkdir()
    await demo_chat(server.data / "demo", elsewhere, "[[say hello]]")
    (conversation,) = await held(server)
    assert "outside the workspace root" in conversation["refusal"]
    body = {"agent": "demo", "conversationId": conversation["id"]}
    refused = await server.client.post("/api/conversations/import", body, expect=403)
    assert refused["error"]["code"] == "path_outside_root"
    await server.client.post("/api/conversations/import", {**body, "folder": str(repo)}, expect=201)


async def test_large_conversations_are_bounded(tmp_path: Path) -> None:
    """H2: What exceeds the largest transcript is left out, the oldest turns first, and the transcript says so."""
    async with serving(tmp_path, max_transcript=20_000) as server:
        repo = server.repo()
        await demo_chat(server.data / "demo", repo, *(f"[[say {number} {'x' * 3000}]]" for number in range(6)))
        (conversation,) = await held(server)
        body = {"agent": "demo", "conversationId": conversation["id"]}
        answer = await server.client.post("/api/conversations/import", body, expect=201)
        assert 0 < answer["turns"] < 6
        assert "left out" in answer["warnings"][0]
        texts = await server.client.texts(answer["session"]["id"])
        assert texts[-1].startswith("5 x")


async def test_tokens_of_bough_are_masked(server: Running) -> None:
    """H2: An imported transcript is masked like any output of an agent."""
    repo = server.repo()
    await demo_chat(server.data / "demo", repo, f"[[say {server.token}]]")
    (conversation,) = await held(server)
    body = {"agent": "demo", "conversationId": conversation["id"]}
    session = (await server.client.post("/api/conversations/import", body, expect=201))["session"]
    messages = await server.client.get(f"/api/sessions/{session['id']}/messages")
    assert server.token not in str(messages)


async def test_bad_requests(server: Running) -> None:
    """H1: An unknown conversation or agent is refused with a sentence, and an agent cannot import."""
    server.repo()
    unknown = await server.client.post(
        "/api/conversations/import", {"agent": "demo", "conversationId": "nothing"}, expect=404
    )
    assert unknown["error"]["code"] == "conversation_not_found"
    await server.client.post("/api/conversations/import", {"agent": "nobody", "conversationId": "x"}, expect=400)


async def test_a_conversation_goes_on_outside(server: Running) -> None:
    """H3: What was said in the agent's own program is added to the transcript before the next turn, with a notice, and
    counts as nobody's request here."""
    repo = await server.client.repo(server.repo())
    session = await server.client.session(repo["id"])
    await server.client.ask(session["id"], "[[say inside]]")
    command = await server.client.post(f"/api/sessions/{session['id']}/terminal-command")
    assert "--resume" in command["words"]
    conversation_id = command["words"][-1]
    await demo_chat(
        server.data / "demo", Path(repo["path"]), "[[say outside]]", "[[say inside]]", resume=conversation_id
    )
    await server.client.ask(session["id"], "[[say inside]]")
    tasks = (await server.client.get(f"/api/sessions/{session['id']}/tasks"))["tasks"]
    turns = sorted(tasks, key=lambda task: (task["startedAt"], task["position"]))
    assert [(task["prompt"], task["outside"]) for task in turns] == [
        ("[[say inside]]", False),
        ("[[say outside]]", True),
        ("[[say inside]]", True),
        ("[[say inside]]", False),
    ]
    messages = await server.client.get(f"/api/sessions/{session['id']}/messages")
    texts = [message["content"].get("text", "") for message in messages if message["content"]["type"] != "thought"]
    place = next(number for number, text in enumerate(texts) if "took place outside" in text)
    assert [text.strip() for text in texts[place + 1 : place + 3]] == ["[[say outside]]", "outside"]
    # Nothing is added twice.
    assert (await server.client.post(f"/api/sessions/{session['id']}/catch-up"))["turns"] == 0


async def test_a_turn_begins_whatever_was_written_outside(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """H3: An agent's files hold what it likes; whatever goes wrong with them, the next prompt is carried out."""
    repo = await server.client.repo(server.repo())
    session = await server.client.session(repo["id"])
    await server.client.ask(session["id"], "[[say one]]")

    def break_down(*_: object) -> int:
        raise OverflowError("int too large to convert to float")

    monkeypatch.setattr(history_files, "prompts_since", break_down)
    await server.client.ask(session["id"], "[[say two]]")
    assert (await server.client.texts(session["id"]))[-1] == "two"


@pytest.mark.parametrize(("stated", "spent"), [(0.5, 0.5), (10**400, MOST_COST), (-1, 0.0), (None, 0.0), ("1", 0.0)])
def test_any_stated_cost_is_bounded(stated: object, spent: float) -> None:
    """H2: A cost that no float can hold is the most that is counted."""
    assert stated_cost({"usage_update": {"cost": {"amount": stated}}}) == spent


async def test_catching_up_by_hand(server: Running) -> None:
    """H3: A person catches up at once; while a turn runs, that is refused."""
    repo = await server.client.repo(server.repo())
    session = await server.client.session(repo["id"])
    await server.client.ask(session["id"], "[[say inside]]")
    command = await server.client.post(f"/api/sessions/{session['id']}/terminal-command")
    await demo_chat(server.data / "demo", Path(repo["path"]), "[[say outside]]", resume=command["words"][-1])
    caught_up = await server.client.post(f"/api/sessions/{session['id']}/catch-up")
    assert caught_up["turns"] == 1
    assert (await server.client.texts(session["id"]))[-1].strip() == "outside"
    task_id = await server.client.prompt(session["id"], "[[slow 200 20]]")
    await server.client.wait_task(task_id, "running")
    for action in ("catch-up", "terminal-command"):
        refused = await server.client.post(f"/api/sessions/{session['id']}/{action}", expect=409)
        assert refused["error"]["code"] == "session_busy"
    await server.client.post(f"/api/sessions/{session['id']}/stop")


async def test_a_refused_hand_over_is_not_in_the_trail(server: Running) -> None:
    """H3, L2: The audit trail names a hand-over to the agent's own program once nothing has refused it."""
    repo = await server.client.repo(server.repo())
    new = await server.client.session(repo["id"])
    plain = await server.client.session(repo["id"], agent="terminal", permissionMode="bypassPermissions")
    moved = await server.client.session(repo["id"], worktree={"branch": "gone"})
    for session in (plain, moved):
        await server.client.ask(session["id"], "[[say inside]]")
    at(moved["cwd"]).rename(server.root / "elsewhere")
    for session, code in ((new, "conversation_not_begun"), (plain, "agent_without_terminal"), (moved, None)):
        answer = await server.client.http.post(f"/api/sessions/{session['id']}/terminal-command")
        assert 400 <= answer.status_code < 500
        assert code in (None, answer.json()["error"]["code"])
    assert await handed_over(server) == []
    await server.client.ask(new["id"], "[[say inside]]")
    await server.client.post(f"/api/sessions/{new['id']}/terminal-command")
    assert await handed_over(server) == [new["id"]]


async def handed_over(server: Running) -> list[str]:
    entries: list[Json] = (await server.client.get("/api/audit"))["entries"]
    return [entry["subjectId"] for entry in entries if entry["action"] == "session.handed_over"]
