"""Tests turns of each real agent through Bough: streamed, stopped, interrupted by kills, with another model, and with a
failing model or login."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.real_agents.helpers.agent_processes import (
    agent_tree,
    asked,
    behind_server,
    kill,
    killed,
    running_with,
    start_slow_command,
    start_streaming,
)
from tests.real_agents.helpers.agent_under_test import FULL, Real
from tests.real_agents.helpers.measurements_table import Record
from tests.support.eventually import eventually
from tests.support.real_agents.homes import GEMINI_MODEL, Home
from tests.support.scripted_model.running import ScriptedModel

CANCELLED = ("completed", "failed")
"""Statuses that agents report for a command that was stopped with its turn; none leaves it open."""
# Another model than the first, and how a request names each; the effort is where requests have it.
MODELS = {
    "claude-code": ("sonnet", "claude-sonnet-5-5", "claude-opus-5-5"),
    "codex": ("gpt-5.6-terra", "gpt-5.6-terra", "gpt-5.5"),
    "gemini": ("gemini-3-flash-preview", "gemini-3-flash-preview", GEMINI_MODEL),
    "opencode": ("fake/fake-model-2", "fake-model-2", "fake-model"),
}
EFFORTS = {"claude-code": ("output_config", "effort"), "codex": ("reasoning", "effort")}
# Characters of each prompt that the model is to recall: more than there are.
WHOLE = 10_000
# With these settings, agents give up at once when a model's service fails.
IMPATIENT = {"CLAUDE_CODE_MAX_RETRIES": "0"}


async def test_a_turn(real: Real, record: Record) -> None:
    """R4: Text arrives as it is generated, thoughts and a tool call with its diff in their order; all of it is
    stored."""
    actions = real.actions
    session = await real.session(permissionMode="allow-all")
    async with real.client.events(session) as events:
        await start_streaming(real, session, events, count=30)
        ended = await events.until(lambda event: event["type"] == "task.patched" and event["data"]["endedAt"])
        assert ended["data"]["status"] == "completed"
        pieces = [event for event in events.seen if event["type"] == "message.delta"]
    assert len(pieces) > 3
    ticks = " ".join(f"tick {number}" for number in range(1, 31))
    assert (await real.said(session)).split() == ticks.split()
    record("streamed answer", "yes")

    await real.ask(
        session, f"{actions.think('pondering')} {actions.edit('seed.txt', 'two', 'TWO')} {actions.say('changed')}"
    )
    assert (real.repo / "seed.txt").read_text() == "one\nTWO\nthree\n"
    contents = [message["content"] for message in await real.messages(session)]
    kinds = [content["type"] for content in contents]
    assert kinds.index("thought") < kinds.index("tool") < len(kinds) - 1
    assert "pondering" in contents[kinds.index("thought")]["text"]
    assert "changed" in contents[-1]["text"]
    record("thoughts", "yes")
    tool = (await real.tools(session))[-1]
    [diff] = [item for item in tool["result"]["content"] if item["type"] == "diff"]
    assert (tool["result"]["status"], diff["path"]) == ("completed", str(real.repo / "seed.txt"))
    assert "two" in diff["oldText"] and "TWO" in diff["newText"]
    record("diff of an edit", "whole file" if "three" in diff["newText"] else "the changed part")


async def test_a_stopped_turn(real: Real, record: Record) -> None:
    """T6, P4: Stops a turn that streams, runs a command or asks; nothing of it keeps running, and the next turn knows
    what was said before."""
    session = await real.session(permissionMode="allow-all")
    await real.ask(session, "Remember the heron.")
    async with real.client.events(session) as events:
        task = await start_streaming(real, session, events)
    assert (await _stop(real, task))["status"] == "cancelled"
    await real.model.wait_for(lambda entry: entry.aborted)
    record("cancel while streaming", "stops")
    record("task that was stopped", (await real.client.get(f"/api/tasks/{task}"))["status"])

    task, mark = await start_slow_command(real, session, "slow.pid")
    assert (await _stop(real, task))["status"] == "cancelled"
    assert running_with(mark) == []
    status = (await real.tools(session))[-1]["result"]["status"]
    assert status in CANCELLED
    record("cancel while a command runs", f"command is dead, call {status}")

    await real.client.call("PATCH", f"/api/sessions/{session}", json={"permissionMode": "ask"})
    task = await real.client.prompt(session, real.actions.write("never.txt"))
    await real.client.approval(session)
    assert (await _stop(real, task))["status"] == "cancelled"
    assert (await real.client.get(f"/api/approvals?status=pending&sessionId={session}"))["approvals"] == []
    assert (await real.tools(session))[-1]["result"]["status"] == "failed"
    assert not (real.repo / "never.txt").exists()
    record("cancel with an open approval", "withdrawn")

    await _knows(real, session, "heron")
    stopped = "[[slow" in (await real.client.texts(session))[-1]
    assert stopped == (real.agent != "gemini")
    record("context after a cancel", "kept" if stopped else "kept, without the stopped turns")


async def test_a_killed_agent(real: Real, record: Record) -> None:
    """O2: An agent that is killed with all its processes during a turn continues as attempt 2 and knows what was said;
    one that is killed between turns is back with the next prompt."""
    session = await real.session(permissionMode="allow-all")
    await real.ask(session, "Remember the heron.")
    task, mark = await start_slow_command(real, session, "slow.pid")
    kill(agent_tree(real))
    ended = await real.client.wait_task(task)
    assert (ended["status"], ended["attempt"]) == ("completed", 2)
    await eventually(lambda: running_with(mark) == [], "the command has ended")
    [tool] = await real.tools(session)
    assert tool["result"]["status"] == "failed"
    assert "may or may not have taken effect" in tool["result"]["note"]
    # It was told to continue, not sent the same prompt again; the command ran once.
    await real.model.wait_for(lambda entry: "cut off" in entry.last_user or "so far" in entry.last_user)
    record("agent killed in a turn", "continues as attempt 2")
    await _knows(real, session, "heron")

    await killed(real)
    await _knows(real, session, "heron")
    record("context after a kill", "sent as a quoted transcript" if real.agent == "gemini" else "resumed")


async def test_a_killed_server(real: Real, record: Record) -> None:
    """O2, Q4: A turn continues while no server runs, and an idle agent is found again; nothing is sent twice."""
    session = await real.session()
    async with real.client.events(session) as events:
        task = await start_streaming(real, session, events, count=40)
    tree = {item.pid for item in agent_tree(real)}
    await real.server.stop(signal.SIGKILL)
    await real.server.start()
    async with real.server.client() as client:
        ended = await client.wait_task(task)
        assert (ended["status"], ended["attempt"]) == ("completed", 1)
        words = (await client.texts(session))[0].split()
        assert words == " ".join(f"tick {number}" for number in range(1, 41)).split()
    await real.server.stop(signal.SIGKILL)
    await real.server.start()
    async with real.server.client() as client:
        assert (await client.ask(session, real.actions.recall()))["status"] == "completed"
        assert "2 user turns" in (await client.texts(session))[-1]
    assert {item.pid for item in agent_tree(real)} & tree
    assert [(entry.user_turns, entry.last_user) for entry in await asked(real, "[[")] == [
        (1, real.actions.slow(40)),
        (2, real.actions.recall()),
    ]
    record("server killed in a turn", "the turn continues, nothing is sent twice")


async def test_choices(real: Real, record: Record) -> None:
    """R2, P2: Model and effort can be changed for the next prompt and reset; a value that the agent does not have is a
    clear error, and no prompt is sent."""
    session = await real.session()
    chosen, named, own = MODELS[real.agent]
    await _choose(real, session, model="nonsense")
    task = await real.ask(session, real.actions.say("not sent"))
    assert (task["status"], task["error"]["code"]) == ("failed", "agent_choice")
    assert "'nonsense'" in task["error"]["message"] and chosen in task["error"]["message"]
    assert await asked(real, "not sent") == []
    record("unknown model", "refused, nothing sent")

    await _choose(real, session, model=chosen)
    await real.ask(session, real.actions.say("with another"))
    [entry] = await asked(real, "with another")
    assert entry.model == named
    await _choose(real, session, effort="high")
    await real.ask(session, real.actions.say("with an effort"))
    texts = [message["content"].get("text", "") for message in await real.messages(session)]
    assert any("no setting for effort" in text for text in texts) is (real.agent not in EFFORTS)
    assert await _effort(real) == ("high" if real.agent in EFFORTS else None)
    record("effort", "config option" if real.agent in EFFORTS else "cannot be set")
    await _choose(real, session, model=None, effort=None)
    await real.ask(session, real.actions.say("as it was"))
    [entry] = await asked(real, "as it was")
    assert entry.model == own
    assert await _effort(real) == ("medium" if real.agent in EFFORTS else None)
    record("another model", "session/set_model" if real.agent == "gemini" else "config option")


async def test_a_failing_model(
    agent: str, home: Home, model: ScriptedModel, place: Path, repo: Path, record: Record
) -> None:
    """T3: A refusal by the model's service fails the turn with the agent's words; a wrong key is a sentence with the
    next step; the session stays usable."""
    async with behind_server(agent, home, model, place, repo, env=IMPATIENT) as real:
        session = await real.session()
        await real.ask(session, "Remember the heron.")
        task = await real.ask(session, real.actions.http(400))
        assert task["status"] == "failed"
        assert "says: " in task["error"]["message"] and "scripted 400" in task["error"]["message"]
        record("model answers 400", task["error"]["code"])
        task = await real.ask(session, real.actions.http(401))
        assert (task["status"], task["error"]["code"]) == ("failed", "agent_login")
        content = [message["content"] for message in await real.messages(session)][-1]
        assert (content["type"], content["code"]) == ("error", "agent_login")
        assert "not logged in, or its key was refused" in content["text"]
        record("refused key", "agent_login")
        # A new process continues after a login; one that cannot reopen a conversation is given a long quote of it.
        assert (await real.ask(session, real.actions.recall(WHOLE)))["status"] == "completed"
        assert "heron" in (await real.client.texts(session))[-1]


# The other agents retry for a minute or longer.
@pytest.mark.only("claude-code", "codex")
@pytest.mark.skipif(not FULL, reason="FULL=1 includes slow tests")
async def test_a_broken_model(agent: str, home: Home, model: ScriptedModel, place: Path, repo: Path) -> None:
    """T3: An error of the model's service fails the turn, and the session stays usable."""
    async with behind_server(agent, home, model, place, repo, env=IMPATIENT) as real:
        session = await real.session()
        await real.ask(session, "Remember the heron.")
        assert (await real.ask(session, real.actions.http(500)))["status"] == "failed"
        assert (await real.ask(session, real.actions.recall()))["status"] == "completed"
        assert "heron" in (await real.client.texts(session))[-1]


# Without OpenCode: it calls a provider without a key too, and reports the response.
@pytest.mark.only("claude-code", "codex", "gemini")
async def test_no_key(agent: str, home: Home, model: ScriptedModel, place: Path, repo: Path, record: Record) -> None:
    """R1: An agent without a key fails with a sentence about the next step instead of its own cryptic one."""
    keyless = Home(home.folder, {name: value for name, value in home.env.items() if "_KEY" not in name})
    async with behind_server(agent, keyless, model, place, repo) as real:
        session = await real.session()
        task = await real.ask(session, real.actions.say("never"))
        assert (task["status"], task["error"]["code"]) == ("failed", "agent_login")
        assert "for the server" in task["error"]["message"]
        assert await asked(real, "never") == []
    record("no key", "agent_login")


# The only one whose settings name a provider's key by its variable and that says so when it is missing.
@pytest.mark.only("codex")
async def test_a_providers_missing_variable(
    agent: str, home: Home, model: ScriptedModel, place: Path, repo: Path, record: Record
) -> None:
    """R1: If a custom provider's key is in a variable that is not set, the error names it and says where to set it."""
    keyless = Home(home.folder, {name: value for name, value in home.env.items() if name != "FAKE_API_KEY"})
    async with behind_server(agent, keyless, model, place, repo) as real:
        session = await real.session()
        task = await real.ask(session, real.actions.say("never"))
        assert (task["status"], task["error"]["code"]) == ("failed", "agent_login")
        assert "needs the environment variable FAKE_API_KEY," in task["error"]["message"]
        assert "--env FAKE_API_KEY=VALUE" in task["error"]["message"]
    record("custom provider's missing variable", "named")


async def test_a_missing_agent(agent: str, home: Home, model: ScriptedModel, place: Path, repo: Path) -> None:
    """R1, L3: A session with an agent that is not installed and cannot be fetched is refused, with the way to install
    it."""
    programs = place / "programs"
    programs.mkdir()
    git = next(
        Path(folder) / "git" for folder in os.environ["PATH"].split(os.pathsep) if (Path(folder) / "git").exists()
    )
    (programs / "git").symlink_to(git)
    bare = Home(home.folder, home.env | {"PATH": str(programs)})
    async with behind_server(agent, bare, model, place, repo) as real:
        body = {"repoId": real.repo_id, "agent": agent}
        refused = await real.client.post("/api/sessions", body, expect=400)
        assert refused["error"]["code"] == "agent_missing"
        assert f"bough agents install {agent}" in refused["error"]["message"]


async def _stop(real: Real, task: str) -> dict[str, Any]:
    await real.client.call("DELETE", f"/api/tasks/{task}")
    return await real.client.wait_task(task)


async def _knows(real: Real, session: str, word: str) -> None:
    """Checks that the model received what was said before, however the agent kept it."""
    assert (await real.ask(session, real.actions.recall()))["status"] == "completed"
    assert word in str((await real.model.last()).body)


async def _choose(real: Real, session: str, **choices: str | None) -> None:
    await real.client.call("PATCH", f"/api/sessions/{session}", json=choices)


async def _effort(real: Real) -> str | None:
    """Returns the effort of the last request, or None for an agent whose requests have none."""
    if real.agent not in EFFORTS:
        return None
    table, name = EFFORTS[real.agent]
    return (await real.model.last()).body[table][name]
