"""P3: what a repository, or what was once said to an agent outside of Bough, would grant it: neutralised, or asked about.
The hostile files themselves are in `hostile`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from bough.testing.model.running import ScriptedModel
from bough.testing.real.deeds import deeds_of
from bough.testing.real.homes import Home
from bough.testing.repos import git

from .direct import talking
from .hostile import COMMAND, TEXT, Traps, put
from .real import FULL, Json, Real
from .table import Record

ENDED = ("completed", "failed", "cancelled")
# Vectors that OpenCode is asked about before it starts: they are code, and run as soon as it does.
PLUGINS = ["plugin", "plugin-folder", "plugin-root", "plugins"]
LINE = "TWO, by the agent"


@pytest.fixture
def traps(place: Path, http_tools: str) -> Traps:
    """Where the marks of hostile files would be."""
    marks = place / "marks"
    marks.mkdir()
    return Traps(marks, http_tools)


async def told(real: Real, session: str, text: str, decision: str = "deny") -> tuple[Json, list[Json]]:
    """A whole turn in which every question has this answer; gives the task and the questions."""
    asked: list[Json] = []
    async with real.client.events(session) as events:
        task_id = await real.client.prompt(session, text)
        while True:
            waiting = await real.client.get(f"/api/approvals?status=pending&sessionId={session}")
            for approval in waiting["approvals"]:
                await real.client.post(f"/api/approvals/{approval['id']}", {"decision": decision})
                asked.append(approval)
            task = await real.client.get(f"/api/tasks/{task_id}")
            if task["status"] in ENDED:
                return task, asked
            await events.until(lambda event: event["type"] in ("approval.created", "task.patched"))


async def heard(real: Real) -> str:
    """All that the model was told last, with its tools."""
    return msgspec.json.encode((await real.model.last()).body).decode()


async def asks_before_it_acts(real: Real, session: str, cwd: Path, outside: Path) -> None:
    """Commands and edits are asked about, and done only if they are allowed."""
    deeds = real.deeds_in(cwd)
    _, asked = await told(real, session, deeds.shell_outside(outside, escalate=True))
    assert asked and not outside.exists()
    _, asked = await told(real, session, deeds.shell_write("made.txt"))
    assert not (cwd / "made.txt").exists() and (asked or real.agent == "codex")
    _, asked = await told(real, session, deeds.write("new.txt"))
    assert asked and not (cwd / "new.txt").exists()
    task, asked = await told(real, session, deeds.edit("seed.txt", "two", LINE), "allow")
    assert task["status"] == "completed" and asked
    assert LINE in (cwd / "seed.txt").read_text()


async def does_nothing(real: Real, session: str, cwd: Path, outside: Path) -> None:
    """In `plan` nobody is asked, and nothing is done."""
    deeds = real.deeds_in(cwd)
    for deed in (deeds.shell_outside(outside, escalate=True), deeds.shell_write("made.txt"), deeds.write("new.txt")):
        _, asked = await told(real, session, deed, "allow")
        assert not asked and not outside.exists()
        assert not (cwd / "made.txt").exists() and not (cwd / "new.txt").exists()


async def calls_no_tool_of_it(real: Real, session: str) -> None:
    """MCP servers of the repository are not there, not even one that has our name; nor are its slash commands."""
    for server in ("far", "bough"):
        await told(real, session, real.deeds.mcp(server), "deny")
    await told(real, session, f"/{COMMAND}", "deny")
    assert "SHOUTED" not in await real.said(session)


async def opened(real: Real, traps: Traps, mode: str, decision: str = "allow") -> str:
    """A session whose agent has heard its first prompt; what must be asked about before was answered like this."""
    session = await real.session(permissionMode=mode)
    task, asked = await told(real, session, real.deeds.say("hello from the script"), decision)
    assert [one["toolKind"] for one in asked] == (["trust"] if real.agent == "opencode" else [])
    assert task["status"] == ("completed" if decision == "allow" else "cancelled")
    if decision == "allow":
        assert "hello from the script" in await real.said(session)
    assert traps.sprung() == (PLUGINS if real.agent == "opencode" and decision == "allow" else [])
    return session


async def test_a_repository_grants_nothing(real: Real, traps: Traps, place: Path, record: Record) -> None:
    """P3: in `default` the agent asks before it acts whatever the repository's files say, and runs nothing of them."""
    put(real.repo, traps.files(real.agent))
    if real.agent == "opencode":
        await opened(real, traps, "default", decision="deny")
        assert not await real.model.log()
    session = await opened(real, traps, "default")
    before = traps.sprung()
    assert TEXT in await heard(real)
    await calls_no_tool_of_it(real, session)
    await asks_before_it_acts(real, session, real.repo, place / "outside.txt")
    assert traps.sprung() == before
    notices = [one["content"]["text"] for one in await real.messages(session) if one["content"]["type"] == "notice"]
    assert any(".gemini/settings.json" in text for text in notices) == (real.agent == "gemini")
    ways = {"opencode": "asked about, then only plugins", "gemini": "ignored, MCP servers too"}
    record("what a repository's files grant", ways.get(real.agent, "ignored"))


async def test_a_repository_grants_nothing_in_plan(real: Real, traps: Traps, place: Path, record: Record) -> None:
    """P3: in `plan` the agent neither acts nor asks, whatever the repository's files say."""
    put(real.repo, traps.files(real.agent))
    if real.agent == "opencode":
        # Code that is loaded on start is asked about in every mode.
        await opened(real, traps, "plan", decision="deny")
    session = await opened(real, traps, "plan")
    before = traps.sprung()
    await calls_no_tool_of_it(real, session)
    await does_nothing(real, session, real.repo, place / "outside.txt")
    assert traps.sprung() == before
    record("what a repository's files grant in plan", "nothing")


async def test_folders_above_grant_nothing(real: Real, traps: Traps, place: Path, record: Record) -> None:
    """P3: nor do files further up: at the root of the repository, or around a folder that is in none."""
    inner = real.repo / "inner/most"
    inner.mkdir(parents=True)
    (inner / "seed.txt").write_text("one\ntwo\nthree\n")
    put(real.repo, traps.files(real.agent))
    real.repo_id = (await real.client.repo(inner))["id"]
    session = await opened(real, traps, "default")
    before = traps.sprung()
    await calls_no_tool_of_it(real, session)
    await asks_before_it_acts(real, session, inner, place / "outside.txt")
    assert traps.sprung() == before
    record("what files in folders above grant", "asked about" if real.agent == "opencode" else "nothing")


@pytest.mark.skipif(not FULL, reason="shows that the other tests could fail; FULL=1 runs it")
async def test_the_traps_do_work(agent: str, home: Home, model: ScriptedModel, repo: Path, traps: Traps) -> None:
    """P3: started without Bough, the same agent falls into the same traps."""
    put(repo, replace(traps, address=model.url).files(agent))
    async with talking(agent, home, repo) as talk:
        deeds = deeds_of(agent, repo)
        for prompt in ("hello", deeds.mcp("far"), f"/{COMMAND}", deeds.shell_write("made.txt")):
            await talk.result(prompt)
    print(agent, traps.sprung(), len(talk.listener.asked), talk.listener.text[-300:])
    assert not traps.sprung()
