"""P3: Whatever a repository's files, or the user's settings outside of Bough, would grant is neutralized or asked
about. `hostile` has the files."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from tests.real_agents.helpers.agent_under_test import FULL, SEED, Json, Real
from tests.real_agents.helpers.agent_without_bough import talking
from tests.real_agents.helpers.hostile import COMMAND, TEXT, Traps, put
from tests.real_agents.helpers.measurements_table import Record
from tests.support.real_agents.actions import actions_of
from tests.support.real_agents.homes import Home
from tests.support.scripted_model.running import ScriptedModel
from tests.support.server import ServerProcess

ENDED = ("completed", "failed", "cancelled")
# Vectors that OpenCode is asked about before it starts: they are code that runs at start.
PLUGINS = ["plugin", "plugin-folder", "plugin-root", "plugins"]
LINE = "TWO, by the agent"
OUTSIDE = "outside.txt"
# The vectors that work without protection.
FALLEN_FOR = {
    "claude-code": {"SessionStart", "UserPromptSubmit", "PreToolUse", "apiKeyHelper", "command", "mcp"},
    "codex": {"mcp"},
    "gemini": {"hook", "mcp", "discovery"},
    "opencode": {*PLUGINS, "command", "tool", "mcp-folder"},
}


@pytest.fixture
def traps(place: Path, http_tools: str) -> Traps:
    """The folder for the marks of hostile files."""
    marks = place / "marks"
    marks.mkdir()
    return Traps(marks, http_tools)


async def told(real: Real, session: str, text: str, decision: str = "deny") -> tuple[Json, list[Json]]:
    """Runs a whole turn in which every approval gets this answer; returns the task and the approvals."""
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
    """Returns everything that the model received last, including its tools."""
    return msgspec.json.encode((await real.model.last()).body).decode()


async def asks_before_it_acts(real: Real, session: str, cwd: Path, place: Path) -> None:
    """Checks that commands and edits are asked about, and carried out only if allowed."""
    actions = real.actions_in(cwd)
    _, asked = await told(real, session, actions.shell_outside(place / OUTSIDE, escalate=True))
    assert asked and not (place / OUTSIDE).exists()
    _, asked = await told(real, session, actions.shell_write("made.txt"))
    assert not (cwd / "made.txt").exists() and (asked or real.agent == "codex")
    _, asked = await told(real, session, actions.write("new.txt"))
    assert asked and not (cwd / "new.txt").exists()
    task, asked = await told(real, session, actions.edit("seed.txt", "two", LINE), "allow")
    assert task["status"] == "completed" and asked
    assert LINE in (cwd / "seed.txt").read_text()


async def does_nothing(real: Real, session: str, cwd: Path, place: Path) -> None:
    """Checks that in `plan` nobody is asked and nothing is done."""
    actions = real.actions_in(cwd)
    for action in (
        actions.shell_outside(place / OUTSIDE, escalate=True),
        actions.shell_write("made.txt"),
        actions.write("new.txt"),
    ):
        _, asked = await told(real, session, action, "allow")
        assert not asked and not (place / OUTSIDE).exists()
        assert not (cwd / "made.txt").exists() and not (cwd / "new.txt").exists()


async def calls_no_tool_of_it(real: Real, session: str) -> None:
    """Checks that the repository's MCP servers are not there, not even one with our name; nor its slash commands."""
    for server in ("far", "bough"):
        await told(real, session, real.actions.mcp(server), "deny")
    await told(real, session, f"/{COMMAND}", "deny")
    assert "SHOUTED" not in await real.said(session)


async def opened(real: Real, traps: Traps, mode: str, decision: str = "allow") -> str:
    """Returns a session whose agent has received its first prompt; questions before that got this answer."""
    session = await real.session(permissionMode=mode)
    task, asked = await told(real, session, real.actions.say("hello from the script"), decision)
    assert [item["toolKind"] for item in asked] == (["trust"] if real.agent == "opencode" else [])
    assert task["status"] == ("completed" if decision == "allow" else "cancelled")
    assert ("hello from the script" in await real.said(session)) is (decision == "allow")
    assert traps.sprung() == (PLUGINS if real.agent == "opencode" and decision == "allow" else [])
    return session


async def test_a_repository_grants_nothing(real: Real, traps: Traps, place: Path, record: Record) -> None:
    """P3: In `default`, the agent asks before it acts, whatever the repository's files say, and runs nothing of
    them."""
    put(real.repo, traps.files(real.agent))
    session = await opened(real, traps, "default")
    before = traps.sprung()
    # Passed on once: by the agent, or by Bough if it keeps the agent from reading the file.
    assert (await heard(real)).count(TEXT) == 1
    await calls_no_tool_of_it(real, session)
    await asks_before_it_acts(real, session, real.repo, place)
    assert traps.sprung() == before
    notices = [
        message["content"]["text"] for message in await real.messages(session) if message["content"]["type"] == "notice"
    ]
    assert any(".gemini/settings.json" in text for text in notices) == (real.agent == "gemini")
    ways = {"opencode": "asks first, then only plugins", "gemini": "ignored, and MCP servers too"}
    record("rights from a repository's files", ways.get(real.agent, "ignored"))


@pytest.mark.only("opencode")
async def test_a_repository_that_is_not_trusted(real: Real, traps: Traps) -> None:
    """P3: While a person does not trust a repository, the model is sent nothing; the next session asks again."""
    put(real.repo, traps.files(real.agent))
    await opened(real, traps, "default", decision="deny")
    assert not await real.model.log()
    await opened(real, traps, "default")


async def test_a_repository_grants_nothing_in_plan(real: Real, traps: Traps, place: Path, record: Record) -> None:
    """P3: In `plan`, the agent neither acts nor asks, whatever the repository's files say."""
    put(real.repo, traps.files(real.agent))
    if real.agent == "opencode":
        # Code that loads at start is asked about in every mode.
        await opened(real, traps, "plan", decision="deny")
    session = await opened(real, traps, "plan")
    before = traps.sprung()
    await calls_no_tool_of_it(real, session)
    await does_nothing(real, session, real.repo, place)
    assert traps.sprung() == before
    record("rights from a repository's files in plan", "nothing")


async def test_folders_above_grant_nothing(
    agent: str, home: Home, model: ScriptedModel, traps: Traps, place: Path, tmp_path: Path, record: Record
) -> None:
    """P3: Files in the folders above grant nothing either; outside a repository, some agents search them up to `/`."""
    if agent != "opencode" and not FULL:
        pytest.skip("the others look into no folder above; FULL=1 shows it")
    # Not in `place`, which is inside a repository: this one.
    around = tmp_path / "work/around"
    inner = around / "inner/most"
    inner.mkdir(parents=True)
    (inner / "seed.txt").write_text(SEED, "utf-8")
    put(around, traps.files(agent))
    server = ServerProcess(place / "data", tmp_path / "work", env=home.env)
    async with server, server.client() as person:
        real = Real(agent, home, model, server, person, inner, (await person.repo(inner))["id"])
        session = await opened(real, traps, "default")
        before = traps.sprung()
        await calls_no_tool_of_it(real, session)
        await asks_before_it_acts(real, session, inner, place)
    assert traps.sprung() == before
    record("rights from files in folders above", "asks first" if agent == "opencode" else "nothing")


@pytest.mark.skipif(not FULL, reason="takes long; FULL=1 runs it")
async def test_a_worktree_takes_nothing_from_around_it(real: Real, traps: Traps, place: Path) -> None:
    """P3: A worktree lies below its repository, but takes nothing from the repository's other files."""
    put(real.repo, traps.files(real.agent))
    worktree = await real.client.post("/api/worktrees", {"repoId": real.repo_id, "branch": "side"})
    cwd = Path(worktree["path"])
    assert cwd.is_relative_to(real.repo)
    session = await real.session(worktreeId=worktree["id"], permissionMode="default")
    task, asked = await told(real, session, real.actions.say("hello from the script"))
    assert task["status"] == "completed" and not asked
    await calls_no_tool_of_it(real, session)
    await asks_before_it_acts(real, session, cwd, place)
    assert not traps.sprung()


async def test_user_settings_of_the_agent_do_not_count(real: Real, place: Path, record: Record) -> None:
    """P3: Rules and modes in the user's own settings of the agent do not keep it from asking here."""
    put(real.home.folder, loosened(real))
    session = await real.session(permissionMode="ask")
    await asks_before_it_acts(real, session, real.repo, place)
    record("user's own allow rules", "commands and edits still ask")


def loosened(real: Real) -> dict[str, str]:
    """Returns files of the home folder with which a user has allowed the agent everything."""
    home = real.home.folder
    allow = {"*": "allow", "bash": "allow", "edit": "allow"}
    rule = '[[rule]]\ntoolName = "*"\ndecision = "allow"\npriority = 999\n'
    if real.agent == "claude-code":
        rules = {"allow": ["Bash", "Bash(*)", "Write", "Edit"], "defaultMode": "bypassPermissions"}
        return {".claude/settings.json": json.dumps({"permissions": rules, "skipDangerousModePermissionPrompt": True})}
    if real.agent == "codex":
        known = (home / ".codex/config.toml").read_text()
        never = 'approval_policy = "never"\nsandbox_mode = "danger-full-access"\n'
        trusted = f'\n[projects."{real.repo}"]\ntrust_level = "trusted"\n'
        rules = "".join(f'prefix_rule(pattern=["{word}"], decision="allow")\n' for word in ("echo", "bash", "sh"))
        return {".codex/config.toml": f"{never}{known}{trusted}", ".codex/rules/default.rules": rules}
    if real.agent == "gemini":
        settings = json.loads((home / ".gemini/settings.json").read_text())
        settings["general"]["defaultApprovalMode"] = "auto_edit"
        settings["tools"] = {"allowed": ["run_shell_command", "write_file", "replace"], "autoAccept": True}
        return {".gemini/settings.json": json.dumps(settings), ".gemini/policies/allow.toml": rule}
    settings = json.loads((home / ".config/opencode/opencode.json").read_text())
    return {".config/opencode/opencode.json": json.dumps(settings | {"permission": allow})}


@pytest.mark.skipif(not FULL, reason="shows that the other tests could fail; FULL=1 runs it")
async def test_the_traps_work_without_bough(
    agent: str, home: Home, model: ScriptedModel, repo: Path, traps: Traps
) -> None:
    """P3: Started without Bough, the same agent falls into the same traps."""
    put(repo, replace(traps, address=model.url).files(agent))
    async with talking(agent, home, repo) as talk:
        actions = actions_of(agent, repo)
        for prompt in ("hello", actions.mcp("far"), f"/{COMMAND}", actions.shell_write("made.txt")):
            await talk.result(prompt)
    assert set(traps.sprung()) >= FALLEN_FOR[agent]
    assert not talk.listener.asked or agent == "codex"
    assert (repo / "made.txt").exists()
