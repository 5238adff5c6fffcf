"""Tests what each real agent does differently (how it asks, counts, fails and forgets), each thing once, and that Bough
treats them alike."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest

from bough.agents.keeper.files import MARK
from tests.real_agents.helpers.agent_processes import agent_tree, asked, behind_server, keepers, killed
from tests.real_agents.helpers.agent_under_test import Json, Real
from tests.real_agents.helpers.measurements_table import Record
from tests.support.eventually import eventually
from tests.support.real_agents.homes import Home, make_home
from tests.support.repos import make_repo
from tests.support.scripted_model.running import ScriptedModel

OUTPUT = {"claude-code": "text", "codex": "beside the content, with exit code", "gemini": "none", "opencode": "text"}
ENDED_BY_DENIAL = {"codex": "denied", "opencode": "end_turn"}
TITLED = ("claude-code", "codex")
COSTED = ("claude-code", "opencode")


async def test_a_denied_edit(real: Real, record: Record) -> None:
    """P1, R4: The call that an agent asks about is in the transcript with its diff, however late the agent reports it.
    A denial closes it as denied, and the session continues however the agent ends its turn."""
    session = await real.session(permissionMode="ask")
    task = await real.client.prompt(session, real.actions.write("denied.txt", "alpha"))
    await real.client.approval(session)
    [tool] = await real.tools(session)
    assert _diff(tool) == (str(real.repo / "denied.txt"), "alpha")
    await real.decide(session, "deny")
    ended = await real.client.wait_task(task)
    assert (ended["status"], ended["stopReason"]) == ("completed", ENDED_BY_DENIAL.get(real.agent, "end_turn"))
    [tool] = await real.tools(session)
    assert tool["result"]["status"] == "failed"
    assert tool["result"]["note"] == "Denied – not run."
    assert _diff(tool) == (str(real.repo / "denied.txt"), "alpha")
    assert not (real.repo / "denied.txt").exists()
    kinds = [message["content"]["type"] for message in await real.messages(session)]
    assert ("notice" in kinds) == (ended["stopReason"] == "denied")
    record("after a denial", "the turn ends" if real.agent in ENDED_BY_DENIAL else "the turn continues")

    task = await real.client.prompt(session, real.actions.write("allowed.txt", "beta"))
    await real.decide(session, "allow")
    assert (await real.client.wait_task(task))["status"] == "completed"
    tool = (await real.tools(session))[-1]
    assert (tool["result"]["status"], _diff(tool)) == ("completed", (str(real.repo / "allowed.txt"), "beta"))
    # OpenCode also asks us to write the file, which we do not offer, and writes it itself.
    assert (real.repo / "allowed.txt").read_text().strip() == "beta"


async def test_one_turn_reports_output_usage_and_title(
    agent: str, home: Home, model: ScriptedModel, place: Path, repo: Path, record: Record
) -> None:
    """R4, L1: Records output and exit code of a command, which sees none of the server's own variables; also tokens,
    cost and title."""
    env = {"BOUGH_LOG_LEVEL": "info", "AGENT_MAX_SESSIONS": "4"}
    async with behind_server(agent, home, model, place, repo, env=env) as real:
        session = await real.session(permissionMode="allow-all")
        command = real.actions.shell("env > env.txt; echo harmless")
        task = await real.ask(session, f"{command} {real.actions.say('done')}")
        assert task["status"] == "completed"
        [tool] = await real.tools(session)
        result = tool["result"]
        assert result["status"] == "completed"
        assert ("harmless" in str(result)) == (agent != "gemini")
        record("output of a command", OUTPUT[agent])

        seen = (repo / "env.txt").read_text()
        assert f"HOME={home.folder}\n" in seen
        names = [line.partition("=")[0] for line in seen.splitlines()]
        # The mark identifies processes that an agent has left behind.
        assert [name for name in names if name.startswith(("BOUGH_", "AGENT_"))] in ([], [MARK])
        assert real.server.token not in seen
        record("environment of its commands", "nothing of the server's")

        usage = task["usage"]
        assert usage["counts"] == ("call" if agent == "opencode" else "turn")
        assert usage["inputTokens"] > 0 and usage["outputTokens"] > 0
        record("tokens", f"of the {usage['counts']}")
        assert (task["cost"] is not None) == (agent in COSTED)
        record("cost", "reported" if task["cost"] else "not reported")
        title = await _title(real, session)
        assert bool(title) == (agent in TITLED)
        record("title", "reported" if title else "not reported")


@pytest.mark.only("codex")
async def test_codex_reports_output_and_exit_code(real: Real) -> None:
    """R4: Stores the output and the exit code of a command as separate fields."""
    session = await real.session(permissionMode="allow-all")
    await real.ask(session, real.actions.echo("harmless"))
    [tool] = await real.tools(session)
    assert (tool["result"]["output"].strip(), tool["result"]["exitCode"]) == ("harmless", 0)


async def test_prompts_wait_their_turn(real: Real, record: Record) -> None:
    """Q1: Sends a prompt only when the agent is free, so that none is merged or lost."""
    session = await real.session()
    first = await real.client.prompt(session, real.actions.slow(30))
    rest = [await real.client.prompt(session, real.actions.say(f"answer {number}")) for number in range(2)]
    for task in (first, *rest):
        ended = await real.client.wait_task(task)
        assert (ended["status"], ended["attempt"]) == ("completed", 1)
    assert [entry.user_turns for entry in await asked(real, "[[")] == [1, 2, 3]
    assert [text.split()[-1] for text in await real.client.texts(session)] == ["30", "0", "1"]
    record("prompt while busy", "queued in Bough")


@pytest.mark.only("claude-code", "codex", "opencode")
async def test_an_idle_agent_is_suspended(
    agent: str, home: Home, model: ScriptedModel, place: Path, repo: Path, record: Record
) -> None:
    """T4: Suspends an idle agent that was proven to know its conversation afterwards."""
    async with behind_server(agent, home, model, place, repo, flags=("--sleep-after", "0.5")) as real:
        session = await real.session()
        await real.ask(session, "Remember the heron.")
        await eventually(lambda: not keepers(real), "the agent is suspended")
        assert (await real.ask(session, real.actions.recall()))["status"] == "completed"
        assert "2 user turns" in (await real.client.texts(session))[-1]
    record("suspended", "wakes with its conversation")


@pytest.mark.only("gemini")
async def test_an_agent_that_would_forget_is_not_suspended(
    agent: str, home: Home, model: ScriptedModel, place: Path, repo: Path, record: Record
) -> None:
    """T4: Never suspends an agent that would lose its conversation."""
    async with behind_server(agent, home, model, place, repo, flags=("--sleep-after", "0.5")) as real:
        session = await real.session()
        await real.ask(session, "Remember the heron.")
        before = {process.pid for process in agent_tree(real)}
        # Long enough for several checks for idle agents.
        with pytest.raises(AssertionError, match="suspended"):
            await eventually(lambda: not keepers(real), "the agent is suspended", within=2)
        assert {process.pid for process in agent_tree(real)} & before
        assert (await real.ask(session, real.actions.recall()))["status"] == "completed"
        assert "2 user turns" in (await real.client.texts(session))[-1]
    record("suspended", "never")


@pytest.mark.only("gemini")
async def test_gemini_gets_the_transcript_that_it_would_lose(real: Real, record: Record) -> None:
    """B1: Gemini's session/load loses conversations, so Bough never uses it: a new conversation gets the transcript as
    quoted text, once, and follows none of its directives again."""
    session = await real.session(permissionMode="plan")
    await real.ask(session, real.actions.say("the heron stands still"))
    await killed(real)
    await real.ask(session, real.actions.say("back again"))
    sent = (await real.model.last()).body["contents"]
    sent_text = str(sent)
    assert "The conversation so far, quoted for your information." in sent_text
    assert sent_text.count("the heron stands still") == 2
    await real.ask(session, real.actions.say("and once more"))
    assert str((await real.model.last()).body["contents"]).count("The conversation so far") == 1
    # Each change of its mode is a text outside of any turn, and none of it is an answer.
    await real.client.call("PATCH", f"/api/sessions/{session}", json={"permissionMode": "ask"})
    await real.ask(session, real.actions.say("in another mode"))
    texts = [text.strip() for text in await real.client.texts(session)]
    assert texts == ["the heron stands still", "back again", "and once more", "in another mode"]
    record("session/load", "never used: it loses the conversation")


@pytest.mark.only("codex")
async def test_codex_starts_alone(real: Real, record: Record) -> None:
    """O2: Sessions start Codex one after the other, because it fails when it starts twice at once in an empty home."""
    sessions = [await real.session() for _ in range(2)]
    tasks = [await real.client.prompt(session, real.actions.say("both here")) for session in sessions]
    for task in tasks:
        assert (await real.client.wait_task(task))["status"] == "completed"
    assert len(keepers(real)) == 2
    record("two simultaneous first starts", "one after the other")


@pytest.fixture
def low() -> Generator[Path]:
    """A folder below the temporary folder."""
    folder = Path(tempfile.mkdtemp()).resolve()
    yield folder
    shutil.rmtree(folder)


@pytest.mark.only("codex")
async def test_codex_below_the_temporary_folder(agent: str, model: ScriptedModel, low: Path, record: Record) -> None:
    """P2: Gives Codex another folder for its sandbox below the temporary folder, where it keeps none; commands run."""
    home = make_home(low / "home", model.url, agent)
    usual = Home(home.folder, {name: value for name, value in home.env.items() if name != "TMPDIR"})
    async with behind_server(agent, usual, model, low, make_repo(low / "work/repo")) as real:
        session = await real.session(permissionMode="allow-all")
        await real.ask(session, real.actions.echo("harmless"))
        [tool] = await real.tools(session)
        assert (tool["result"]["exitCode"], tool["result"]["output"].strip()) == (0, "harmless")
    record("data folder below the temporary folder", "works")


async def _title(real: Real, session: str) -> str:
    """Returns the title that the agent gives its session, which some do a while after the turn."""
    async with real.client.events(session) as events:
        title: str = (await real.client.get(f"/api/sessions/{session}"))["title"]
        if title or real.agent not in TITLED:
            return title
        titled = await events.until(lambda event: event["type"] == "session.patched" and bool(event["data"]["title"]))
        return titled["data"]["title"]


def _diff(tool: Json) -> tuple[str, str]:
    """Returns the file and the new text of the only diff of a call."""
    [diff] = [item for item in tool["result"]["content"] if item["type"] == "diff"]
    return diff["path"], diff["newText"].strip()
