"""Tests trees of real agents: forks that know the past, natively or from a transcript; side questions during a turn;
children of other agents that report back."""

from __future__ import annotations

from pathlib import Path

import pytest

from bough.core.state.reports.callbacks import GO_ON
from bough.core.transcripts.replay import HEADING
from tests.real_agents.helpers.agent_processes import behind_server, ended, keepers, kill, start_streaming, tree_of
from tests.real_agents.helpers.agent_under_test import FULL, Json, Real
from tests.real_agents.helpers.measurements_table import Record
from tests.real_agents.helpers.watch_turn import watch
from tests.support.real_agents.actions import actions_of
from tests.support.real_agents.homes import make_home
from tests.support.real_agents.packages import USUAL, installed
from tests.support.repos import git
from tests.support.scripted_model.running import ScriptedModel

NATIVE = ("claude-code", "codex", "opencode")
"""These agents copy a conversation themselves, but only Codex also into another folder."""
# The other agent for each: the next of the usual ones, or all of them.
STEPS = range(1, len(USUAL)) if FULL else (1,)
WHOLE = 6000
"""Characters of each prompt that the model is to recall: more than there are."""
TOLD = {"native": "copied by the agent", "replay": "sent as a quoted transcript"}


async def test_a_fork_of_the_current_state(real: Real, record: Record) -> None:
    """B1, P2: A fork knows what was said before, has its given rights from its first prompt on, and develops
    independently: neither session hears what is said to the other afterwards."""
    parent = await real.session(permissionMode="bypassPermissions")
    await real.ask(parent, "Remember the heron.")
    fork = await _fork(real, parent, permissionMode="default")
    seen = await watch(real, fork, f"{_recall(real)} {real.actions.write('asked.txt')}", "deny")
    assert ([item["toolKind"] for item in seen.asked], (real.repo / "asked.txt").exists()) == (["edit"], False)
    record("first prompt of a fork with fewer rights", "asks")
    how = "native" if real.agent in NATIVE else "replay"
    assert await _came(real, fork) == how
    assert "Remember the heron." in seen.said
    assert (HEADING in seen.said, "2 user turns" in seen.said) == (how == "replay", how == "native")
    # The fork's past is its origin's, and is not repeated in its own transcript.
    assert 'You said "Remember the heron' not in (await real.said(fork)).replace(seen.said, "")
    record("fork", TOLD[how])

    await real.ask(fork, "Remember the otter.")
    await real.ask(parent, "Remember the newt.")
    known = await _recalled(real, fork)
    assert ("heron" in known, "otter" in known, "newt" in known) == (True, True, False)
    known = await _recalled(real, parent)
    assert ("heron" in known, "otter" in known, "newt" in known) == (True, False, True)
    assert "3 user turns" in known
    record("fork and parent afterwards", "isolated")


async def test_a_fork_at_an_earlier_task(real: Real, record: Record) -> None:
    """B1: A fork at an earlier task knows what was said up to there, and nothing of what came later."""
    parent = await real.session()
    first = (await real.ask(parent, "Remember the heron."))["id"]
    await real.ask(parent, "Remember the newt.")
    made = await real.client.post(f"/api/sessions/{parent}/fork", {"taskId": first, "prompt": _recall(real)})
    assert (await real.client.wait_task(made["taskId"]))["status"] == "completed"
    fork = made["sessionId"]
    known = await real.said(fork)
    assert (HEADING in known, "heron" in known, "newt" in known) == (True, True, False)
    assert await _came(real, fork) == "replay"
    record("fork at an earlier task", TOLD["replay"])


async def test_a_fork_into_a_worktree(real: Real, record: Record) -> None:
    """B1, B2: A fork into a worktree of its own has the same files, including uncommitted and untracked ones; its agent
    knows the past and works there, not in its parent's folder."""
    parent = await real.session(permissionMode="bypassPermissions")
    await real.ask(parent, f"Remember the heron. {real.actions.edit('seed.txt', 'two', 'TWO')}")
    (real.repo / "untracked").mkdir()
    (real.repo / "untracked/file.txt").write_text("not in git\n", "utf-8")
    state = git(real.repo, "status", "--porcelain", "--untracked-files=all")
    assert len(state.splitlines()) == 2

    fork = await _fork(real, parent, worktree="new")
    folder = Path((await _session(real, fork))["cwd"])
    assert folder != real.repo
    assert git(folder, "status", "--porcelain", "--untracked-files=all") == state
    for name in ("seed.txt", "untracked/file.txt"):
        assert (folder / name).read_bytes() == (real.repo / name).read_bytes()
    known = await _recalled(real, fork)
    how = "native" if real.agent == "codex" else "replay"
    assert ("heron" in known, HEADING in known) == (True, how == "replay")
    assert await _came(real, fork) == how
    # Paths in the past point into the other folder; an agent that gets a transcript is told so.
    assert (f"the work is in {folder}, not in {real.repo}." in known) == (how == "replay")
    await real.ask(fork, real.actions_in(folder).edit("seed.txt", "three", "THREE"))
    assert (folder / "seed.txt").read_text("utf-8") == "one\nTWO\nTHREE\n"
    assert (real.repo / "seed.txt").read_text("utf-8") == "one\nTWO\nthree\n"
    record("fork into a new worktree", TOLD[how])


@pytest.mark.only("codex")
async def test_a_sandbox_moves_with_a_fork(real: Real) -> None:
    """B2: The sandbox of a fork is its new worktree; its parent's folder is outside of it."""
    parent = await real.session(permissionMode="bypassPermissions")
    await real.ask(parent, "Remember the heron.")
    fork = await _fork(real, parent, worktree="new")
    folder = Path((await _session(real, fork))["cwd"])
    await real.ask(fork, real.actions_in(folder).shell_write("made.txt"))
    assert (folder / "made.txt").exists()
    await real.ask(fork, real.actions.shell_outside(real.repo / "strayed.txt"))
    assert not (real.repo / "strayed.txt").exists()


@pytest.mark.skipif(not FULL, reason="FULL=1 is for what takes long")
async def test_forks_of_forks(real: Real, record: Record) -> None:
    """B1, O2: A fork of a fork knows what either was told, also after their agents were killed; a fork of a session
    whose agent is not running knows the same."""
    parent = await real.session()
    await real.ask(parent, "Remember the heron.")
    fork = await _fork(real, parent)
    await real.ask(fork, "Remember the otter.")
    second = await _fork(real, fork)
    how = "native" if real.agent in NATIVE else "replay"
    await _knows(real, second, "heron", "otter")
    for name in keepers(real):
        kill(tree_of(real, name))
        await ended(real, name)
    third = await _fork(real, fork)
    await _knows(real, third, "heron", "otter")
    assert [await _came(real, item) for item in (fork, second, third)] == [how] * 3
    for session, known in ((second, ("heron", "otter")), (fork, ("heron", "otter")), (parent, ("heron",))):
        await _knows(real, session, *known)
    record("fork of a fork, and of a session whose agent is not running", TOLD[how])


@pytest.mark.skipif(not FULL, reason="FULL=1 is for what takes long")
async def test_a_side_question_to_an_idle_session(real: Real, record: Record) -> None:
    """B4: A side question to an idle session that may do everything still changes nothing."""
    parent = await real.session(permissionMode="bypassPermissions")
    await real.ask(parent, "Remember the heron.")
    question = f"{real.actions.write('never.txt')} {real.actions.shell_write('nor.txt')} {_recall(real)}"
    aside = await real.client.post(f"/api/sessions/{parent}/btw", {"prompt": question})
    assert (await real.client.wait_task(aside["taskId"]))["status"] == "completed"
    how = "native" if real.agent in NATIVE else "replay"
    assert await _came(real, aside["sessionId"]) == how
    [side_answer] = [
        message["content"] for message in await real.messages(parent) if message["content"]["type"] == "btw"
    ]
    assert "heron" in side_answer["text"]
    assert git(real.repo, "status", "--porcelain") == ""
    known = await _recalled(real, parent)
    assert "2 user turns" in known and "While you worked, somebody asked a side question:" in known
    record("side question to an idle session", TOLD[how])


async def test_a_side_question(real: Real, record: Record) -> None:
    """B4: A side question does not disturb the running turn; it knows the past, changes nothing, and its answer goes
    into the transcript and to the parent's agent with the next prompt."""
    parent = await real.session(permissionMode="default")
    await real.ask(parent, "Remember the heron.")
    work = f"Watch the newt. {real.actions.slow(40)} {real.actions.write('asked.txt')} {real.actions.say('all done')}"
    async with real.client.events(parent) as events:
        task = await start_streaming(real, parent, events, prompt=work)
    question = f"{real.actions.write('never.txt')} {_recall(real)}"
    aside = await real.client.post(f"/api/sessions/{parent}/btw", {"prompt": question})
    # The turn cannot end before the answer is there, because it waits for an approval.
    answered = await real.client.wait_task(aside["taskId"])
    assert (await real.client.get(f"/api/tasks/{task}"))["endedAt"] is None
    assert (answered["status"], (real.repo / "never.txt").exists()) == ("completed", False)
    assert (await _session(real, aside["sessionId"]))["archived"]
    [side_answer] = [
        message["content"] for message in await real.messages(parent) if message["content"]["type"] == "btw"
    ]
    assert (side_answer["question"], side_answer["sessionId"]) == (question, aside["sessionId"])
    assert "user turn" in side_answer["text"] and "heron" in side_answer["text"] and "newt" in side_answer["text"]

    await real.decide(parent, "allow")
    assert (await real.client.wait_task(task))["status"] == "completed"
    assert (real.repo / "asked.txt").exists()
    text = " ".join((await real.said(parent)).split())
    assert " ".join(f"tick {number}" for number in range(1, 41)) in text and text.endswith("all done")
    known = await _recalled(real, parent)
    assert "3 user turns" in known and "While you worked, somebody asked a side question:" in known
    record("side question", "answered during a turn, changes nothing")


@pytest.mark.parametrize("step", STEPS)
async def test_another_agent(
    agent: str, step: int, model: ScriptedModel, place: Path, repo: Path, record: Record
) -> None:
    """B1, B3, Q3: A fork into another agent gets the past as a transcript; a child with another agent reports back, and
    its parent's agent gets the report as somebody else's words, with the request to continue."""
    other = USUAL[((USUAL.index(agent) if agent in USUAL else 0) + step) % len(USUAL)]
    if not installed(other):
        pytest.skip(f"{other} is not installed")
    home = make_home(place / "home", model.url, agent, other)
    async with behind_server(agent, home, model, place, repo) as real:
        parent = await real.session()
        await real.ask(parent, "Remember the heron.")
        fork = await _fork(real, parent, agent=other)
        known = await _recalled(real, fork)
        assert (await _session(real, fork))["agent"] == other
        assert ("heron" in known, HEADING in known, await _came(real, fork)) == (True, True, "replay")
        record(f"fork into {other}", TOLD["replay"])

        words = f"{actions_of(other, repo).read('seed.txt')} {real.actions.say('the pond is frozen')}"
        async with real.client.events(parent) as events:
            child = await real.client.post(f"/api/sessions/{parent}/spawn", {"agent": other, "prompt": words})
            assert (await real.client.wait_task(child["taskId"]))["status"] == "completed"
            ended = await events.until(lambda event: event["type"] == "task.patched" and event["data"]["endedAt"])
        report: Json = ended["data"]
        assert (report["source"], report["status"], report["stopReason"]) == ("callback", "completed", "end_turn")
        assert "heron" not in "".join(await real.client.texts(child["sessionId"]))
        known = await _recalled(real, parent)
        callback = known[known.index("Callback from session") :]
        assert (
            "3 user turns" in known and "> Tool" in callback and "the pond is frozen" in callback and GO_ON in callback
        )
        assert "Tool uses: 1" in callback
        record(f"child with {other}", "reports back")


async def _fork(real: Real, parent: str, **options: object) -> str:
    return (await real.client.post(f"/api/sessions/{parent}/fork", dict(options)))["sessionId"]


async def _session(real: Real, session: str) -> Json:
    return await real.client.get(f"/api/sessions/{session}")


async def _came(real: Real, fork: str) -> str:
    """Returns how a fork came to know the past."""
    return (await _session(real, fork))["metadata"]["fork"]


async def _knows(real: Real, session: str, *words: str) -> None:
    """Checks that the model of a session got all of these words, and none of the others; quoted only if its agent
    cannot do better."""
    known = await _recalled(real, session)
    assert [word for word in ("heron", "otter") if word in known] == list(words)
    assert (HEADING in known) == (real.agent not in NATIVE)


def _recall(real: Real) -> str:
    """Returns a prompt that asks for everything said before."""
    return real.actions.recall(WHOLE)


async def _recalled(real: Real, session: str) -> str:
    """Returns everything that the model of a session received, in its own words."""
    assert (await real.ask(session, _recall(real)))["status"] == "completed"
    return " ".join((await real.client.texts(session))[-1].split())
