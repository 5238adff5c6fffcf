"""Tests how turns end, what they leave in the transcript, and agents that do not cooperate."""

from __future__ import annotations

from pathlib import Path

from tests.core.helpers import add_agent, messages, misbehaving, open_session
from tests.support.server import Running, serving


async def test_the_transcript_is_folded(server: Running) -> None:
    """R4: Chunks become one message, a tool call is one changing entry, and a plan is replaced."""
    client = server.client
    session = await open_session(server, permissionMode="allow-all")
    task = await client.ask(
        session, "[[think a]] [[slow 3 0.1]] [[write x.txt hi]] [[plan A; B]] [[plan C]] [[say end]]"
    )
    transcript = await client.get(f"/api/sessions/{session}/messages")
    assert [(item["role"], item["content"]["type"]) for item in transcript] == [
        ("user", "text"),
        ("agent", "thought"),
        ("agent", "text"),
        ("system", "tool"),
        ("system", "plan"),
        ("agent", "text"),
    ]
    assert transcript[2]["content"] == {"type": "text", "text": "tick 1\ntick 2\ntick 3", "partial": False}
    tool = transcript[3]["content"]
    assert (tool["kind"], tool["result"]["status"]) == ("edit", "completed")
    assert [step["content"] for step in transcript[4]["content"]["steps"]] == ["C"]
    assert task["toolUseCount"] == 1
    assert (server.root / "repo0" / "x.txt").read_text() == "hi"


async def test_usage_is_kept_as_three_numbers_with_their_sources(server: Running) -> None:
    """R3: Stores context, cumulative cost and the turn's own usage separately."""
    client = server.client
    session = await open_session(server)
    first = await client.ask(session, "one")
    second = await client.ask(session, "two three")
    state = await client.get(f"/api/sessions/{session}")
    assert state["context"]["source"] == "usage_update" and state["context"]["used"] > 0
    assert state["cost"]["source"] == "usage_update"
    assert first["usage"]["source"] == second["usage"]["source"] == "prompt_response"
    total = round(first["cost"]["amount"] + second["cost"]["amount"], 9)
    assert total == round(state["cost"]["amount"], 9)


async def test_git_state_before_and_after(server: Running) -> None:
    """R3, W4: Each task records the state of the working copy."""
    client = server.client
    session = await open_session(server, permissionMode="allow-all")
    task = await client.ask(session, "[[write new.txt x]]")
    assert task["gitBefore"]["dirty"] is False and task["gitAfter"]["dirty"] is True
    assert task["gitBefore"]["branch"] == "main" and len(task["gitBefore"]["sha"]) == 40


async def test_a_failed_turn_says_why_and_the_next_one_runs(server: Running) -> None:
    """T6: The queue continues after a failure."""
    client = server.client
    session = await open_session(server)
    failed = await client.prompt(session, "[[fail no luck today]]")
    following = await client.prompt(session, "[[say fine]]")
    task = await client.wait_task(failed)
    assert task["status"] == "failed" and "no luck today" in task["error"]["message"]
    assert (await client.wait_task(following))["status"] == "completed"
    assert "no luck today" in (await messages(client, session, "error"))[0]["text"]


async def test_approval_decides_what_happens(server: Running) -> None:
    """P4: Allowed, the command runs; denied, it does not, and the turn continues; the row says who decided."""
    client = server.client
    session = await open_session(server, permissionMode="ask")
    for decision, ran in (("deny", False), ("allow", True)):
        task = await client.prompt(session, "[[run touch made]] [[say over]]")
        approval = await client.approval(session)
        state = await client.get(f"/api/sessions/{session}")
        assert state["activity"] == "waiting_permission"
        decided = await client.post(f"/api/approvals/{approval['id']}", {"decision": decision})
        assert decided["decidedBy"] == {"kind": "person", "id": None} and decided["decidedAt"]
        again = await client.post(f"/api/approvals/{approval['id']}", {"decision": "allow"}, expect=409)
        assert again["error"]["code"] == "approval_decided"
        assert (await client.wait_task(task))["status"] == "completed"
        assert (server.root / "repo0" / "made").exists() is ran


async def test_always_covers_exactly_that_call(server: Running) -> None:
    """P3: Agents only get once-only answers; Bough does not ask about the same call again, but does about another."""
    client = server.client
    session = await open_session(server, permissionMode="ask")
    task = await client.prompt(session, "[[run true]]")
    approval = await client.approval(session)
    always = next(option["optionId"] for option in approval["options"] if option["kind"] == "allow_always")
    decided = await client.post(f"/api/approvals/{approval['id']}", {"optionId": always})
    once = next(option["optionId"] for option in approval["options"] if option["kind"] == "allow_once")
    assert (decided["decision"], decided["optionId"]) == ("allow_always", once)
    await client.wait_task(task)
    assert (await client.ask(session, "[[run true]]"))["status"] == "completed"
    await client.prompt(session, "[[run false]]")
    assert (await client.approval(session))["title"] == "false"


async def test_stop_ends_a_turn_that_hangs_and_pauses_the_queue(server: Running) -> None:
    """T6: A stop ends this turn, keeps the queue, and withdraws an open approval."""
    client = server.client
    session = await open_session(server, permissionMode="ask")
    hanging = await client.prompt(session, "[[run sleep 100]]")
    queued = await client.prompt(session, "[[say later]]")
    approval = await client.approval(session)
    answer = await client.post(f"/api/sessions/{session}/stop")
    assert answer["task"]["id"] == hanging and answer["task"]["status"] == "cancelled"
    assert answer["session"]["queuePaused"] is True
    assert (await client.get(f"/api/approvals/{approval['id']}"))["status"] == "cancelled"
    assert (await client.get(f"/api/tasks/{queued}"))["status"] == "queued"
    await client.post(f"/api/sessions/{session}/resume")
    assert (await client.wait_task(queued))["status"] == "completed"


async def test_a_crashed_turn_continues(server: Running) -> None:
    """T3, O2: If the agent dies, the same task continues as attempt 2, with the conversation intact."""
    client = server.client
    session = await open_session(server)
    await client.ask(session, "remember the word heron")
    task = await client.ask(session, "[[say before]] [[crash]]")
    assert (task["status"], task["attempt"]) == ("completed", 2)
    recalled = await client.ask(session, "[[recall]]")
    assert recalled["status"] == "completed"
    assert "remember the word heron" in (await client.texts(session))[-1]
    died = await messages(client, session, "error")
    assert died[0]["code"] == "agent_gone" and died[0]["stderr"]


async def test_crashes_are_limited(tmp_path: Path) -> None:
    """T3: An agent that keeps dying ends the session in an error that contains its last words."""
    add_agent(tmp_path, "dying", ["{python}", "-m", "tests.support.misbehaving_agents.bad_ends.exits_at_once"])
    async with serving(tmp_path) as server:
        client = server.client
        session = await open_session(server, agent="dying")
        task = await client.ask(session, "hello")
        assert task["status"] == "failed"
        async with client.events(session, 0) as events:
            await events.until(lambda event: event["type"] == "session.patched" and event["data"]["status"] == "error")
        refused = await client.post(f"/api/sessions/{session}/prompt", {"text": "x", "resume": True}, expect=409)
        assert refused["error"]["code"] == "session_failed" and "Fork it" in refused["error"]["message"]
        errors = await messages(client, session, "error")
        assert errors and all(error["stderr"] for error in errors)


async def test_a_silent_agent_fails_with_its_command_named(tmp_path: Path) -> None:
    """C1: Gives up an agent that never answers initialize."""
    misbehaving(tmp_path, "silent")
    async with serving(tmp_path, initialize_timeout=0.3) as server:
        client = server.client
        session = await open_session(server, agent="silent")
        task = await client.ask(session, "hello")
        assert task["status"] == "failed"
        assert (
            "tests.support.misbehaving_agents.bad_ends.silent did not answer initialize within 0.3 s"
            in task["error"]["message"]
        )
        assert len(server.services.runner.agents) == 0


async def test_an_agent_that_ignores_cancel_is_ended(tmp_path: Path) -> None:
    """T3: A stop takes limited time: an agent that does not answer loses its process."""
    misbehaving(tmp_path, "ignores_cancel")
    async with serving(tmp_path, stop_timeout=0.3) as server:
        client = server.client
        session = await open_session(server, agent="ignores_cancel")
        task = await client.prompt(session, "hello")
        await client.wait_task(task, "running")
        cancelled = await client.call("DELETE", f"/api/sessions/{session}")
        assert cancelled["status"] == "cancelled"
        assert (await client.get(f"/api/tasks/{task}"))["status"] == "cancelled"
        assert len(server.services.runner.agents) == 0


async def test_without_load_and_resume_the_transcript_is_replayed(tmp_path: Path) -> None:
    """B1: An agent that cannot load gets the transcript, quoted and not obeyed."""
    add_agent(tmp_path, "forgetful", ["{python}", "-m", "bough.agents.demo", "--without", "load,resume"])
    async with serving(tmp_path) as server:
        client = server.client
        session = await open_session(server, agent="forgetful")
        await client.ask(session, "remember the word heron")
        agent = server.services.runner.agents.get(session)
        assert agent is not None
        await server.services.runner.agents.suspend(agent)
        await client.ask(session, "[[recall]]")
        recalled = (await client.texts(session))[-1]
        assert "remember the word heron" in recalled and "[[recall]]" in recalled
        assert len(await client.texts(session)) == 2


async def test_settings_take_effect_at_the_next_prompt(server: Running) -> None:
    """P2: Applies mode, model and effort at every prompt, also to a running agent."""
    client = server.client
    session = await open_session(server, permissionMode="plan")
    await client.ask(session, "[[write a.txt x]]")
    assert not (server.root / "repo0" / "a.txt").exists()
    changed = {"permissionMode": "acceptEdits", "model": "demo-large", "effort": "high"}
    await client.call("PATCH", f"/api/sessions/{session}", json=changed)
    await client.ask(session, "[[write a.txt x]] [[status]]")
    assert (server.root / "repo0" / "a.txt").exists()
    text = (await client.texts(session))[-1]
    assert "demo-large" in text and "high" in text and "acceptEdits" in text


async def test_env_reaches_the_agent_and_nobody_else(tmp_path: Path) -> None:
    """R2: Only the agent gets the values of a session's environment; it does not get Bough's own variables."""
    async with serving(tmp_path) as server:
        client = server.client
        session = await open_session(server, permissionMode="allow-all", env={"HERON": "grey-4711"})
        await client.ask(session, "[[run echo $HERON; env | grep -c ^BOUGH_DATA]]")
        tool = (await messages(client, session, "tool"))[0]
        # People see that there was a value, and only the agent sees which.
        assert tool["result"]["output"]["output"].startswith("***\n0")
        await client.ask(session, "[[run printf %s $HERON > told]]")
        assert (server.root / "repo0" / "told").read_text() == "grey-4711"
        assert (await client.get(f"/api/sessions/{session}"))["env"] == {"HERON": "***"}
