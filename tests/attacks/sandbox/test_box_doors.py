"""Tries to leave the sandbox through Bough's own tools: a less confined session would do the work instead."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from bough.agents.sandbox.detect import Availability, SandboxProbe
from bough.core.policy.sandbox_choice import SandboxChoice, wanted_sandbox
from bough.core.schedules.requests import NewSchedule
from bough.core.sessions.requests import NewSession
from bough.core.tool_calls import service
from bough.core.trees.requests import NewBranch
from bough.core.worktrees.repos import RepoPatch
from bough.errors import Denied
from bough.model.agents.sandbox import Sandbox
from bough.model.session import Caller
from tests.api.mcp.mcp_client import directive
from tests.attacks.sandbox.box_agents import Boxed, needs_sandbox
from tests.support.client import Json
from tests.support.mcp.tool_server import PATIENCE, ToolServer, tool_server
from tests.support.repos import make_repo


@pytest.fixture
async def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[ToolServer]:
    """A server that confines agents where it can; here it cannot, because the tests play the agents themselves."""
    monkeypatch.setattr(service, "PATIENCE", PATIENCE)
    async with tool_server(tmp_path, sandbox="auto", max_sessions=20) as tool_host:
        confiner = tool_host.server.services.runner.agents.confiner
        confiner.probe = SandboxProbe(lambda: Availability(None, "There is none."))
        yield tool_host


async def open_repo(place: ToolServer) -> str:
    """Returns a repository in which a person has switched the sandbox off."""
    repo = await place.client.repo(make_repo(place.server.root / "open"))
    await place.client.call("PATCH", f"/api/repos/{repo['id']}", json={"sandbox": "off"})
    return repo["id"]


async def test_a_new_session_keeps_the_sandbox_of_its_creator(place: ToolServer) -> None:
    """S6: A session that an agent creates in a repository without the sandbox is confined like the agent's own."""
    await place.rule("allow", "bough/*")
    agent = await place.root("default")
    arguments = {"name": "x", "workingDir": str(place.server.root / "open"), "permissionMode": "default"}
    await open_repo(place)
    created = await agent.does("create_session", **arguments)
    assert (await place.get(created["sessionId"]))["sandbox"] == "auto"
    child = await agent.does("agor_sessions_spawn", prompt="hello")
    assert (await place.get(child["sessionId"]))["sandbox"] is None


async def test_the_strictest_choice_is_stored(place: ToolServer) -> None:
    """S6: An agent may create a stricter session than its own, and no weaker one."""
    create, repo_id = place.server.services.sessions.create, await open_repo(place)
    caller = Caller(kind="session", id=await place.session())
    choices: list[tuple[Sandbox | None, Sandbox]] = [("off", "auto"), ("required", "required"), (None, "auto")]
    for requested, stored in choices:
        opened = await create(caller, NewSession(repo_id=repo_id, agent="demo", sandbox=requested))
        assert opened.session.sandbox == stored
    opened = await create(Caller(), NewSession(repo_id=repo_id, agent="demo"))
    assert opened.session.sandbox is None


async def test_a_branch_of_a_less_confined_session(place: ToolServer) -> None:
    """S6: A fork or child that an agent creates from another session is confined like the agent's own."""
    source = await place.session(sandbox="off")
    branches = place.server.services.branches
    for sandbox, stored in (("required", "required"), (None, "auto"), ("off", "off")):
        caller = Caller(kind="session", id=await place.session(sandbox=sandbox))
        for branch in (branches.fork, branches.spawn):
            branched = await branch(caller, source, NewBranch(prompt="hello"))
            assert (await place.get(branched.session_id))["sandbox"] == stored
    branched = await branches.fork(Caller(), source, NewBranch())
    assert (await place.get(branched.session_id))["sandbox"] == "off"


async def test_a_schedule_keeps_the_sandbox_of_its_creator(place: ToolServer) -> None:
    """S6, J1: The runs of a schedule that a person allowed an agent to add are confined like the agent's own sessions:
    no preset confines them less, at once or after it was changed, and neither does a repo that was."""
    client, schedules = place.client, place.server.services.schedules
    presets: dict[str, Json] = {"open": {"sandbox": "off"}, "plain": {}, "closed": {"sandbox": "required"}}
    presets["closed"]["sandboxProfile"] = "strict"
    for name, fields in presets.items():
        await client.post("/api/presets", {"name": name, "agent": "demo", **fields})
    agent = Caller("session", await place.session(), granted=True)
    strict = Caller("session", await place.session(sandbox="auto", sandboxProfile="strict"), granted=True)
    open_id = await open_repo(place)

    async def add(caller: Caller, repo_id: str, preset: str) -> str:
        session = NewSession(repo_id=repo_id, preset=preset)
        return (await schedules.add(caller, NewSchedule("[[say hi]]", cron="0 6 1 1 *", session=session))).id

    async def confined(schedule_id: str) -> SandboxChoice:
        run = await client.post(f"/api/schedules/{schedule_id}/run")
        session = await place.server.services.sessions.get(run["sessionId"])
        return await place.server.services.store.read(
            lambda tx: wanted_sandbox(tx, session, place.server.services.settings)
        )

    loose, plain = await add(agent, place.repo_id, "open"), await add(agent, place.repo_id, "plain")
    assert await confined(loose) == ("auto", "workspace")
    assert await confined(await add(agent, open_id, "open")) == ("auto", "workspace")
    assert await confined(await add(strict, place.repo_id, "open")) == ("auto", "strict")
    for caller, repo_id in ((agent, place.repo_id), (agent, open_id), (strict, open_id)):
        assert await confined(await add(caller, repo_id, "closed")) == ("required", "strict")
    await client.call("PATCH", "/api/presets/plain", json={"sandbox": "off"})
    assert await confined(plain) == ("auto", "workspace")
    await client.call("PATCH", f"/api/repos/{place.repo_id}", json={"sandbox": "required"})
    assert [await confined(loose), await confined(plain)] == [("required", "workspace")] * 2


async def test_a_persons_schedule_follows_its_preset(place: ToolServer) -> None:
    """S6, J2: A schedule that a person adds starts its sessions as the preset says; if that confines them less than the
    repo, only an admin can add it."""
    body = {"name": "open", "agent": "demo", "sandbox": "off"}
    await place.client.post("/api/presets", body)
    schedules, session = place.server.services.schedules, NewSession(repo_id=place.repo_id, preset="open")
    new = NewSchedule("[[say hi]]", cron="0 6 1 1 *", session=session)
    with pytest.raises(Denied, match="confine an agent less"):
        await schedules.add(Caller(role="operator", user_name="olga"), new)
    schedule = await schedules.add(Caller(), new)
    for sandbox in ("off", "required"):
        await place.client.call("PATCH", "/api/presets/open", json={"sandbox": sandbox})
        run = await place.client.post(f"/api/schedules/{schedule.id}/run")
        assert (await place.get(run["sessionId"]))["sandbox"] == sandbox


async def test_only_people_choose_what_the_sandbox_keeps(place: ToolServer) -> None:
    """S6: No agent changes the sandbox of a repository, its profile or its hosts."""
    repo_id, agent = await open_repo(place), Caller(kind="session", id=await place.session())
    patches = (RepoPatch(sandbox="off"), RepoPatch(sandbox_profile="workspace"), RepoPatch(sandbox_hosts=["x.example"]))
    for patch in patches:
        with pytest.raises(Denied):
            await place.server.services.repos.patch(agent, repo_id, patch)


async def test_prompting_a_less_confined_session_needs_a_person(place: ToolServer) -> None:
    """S6: A session without the sandbox does not work for one that runs in it, whatever rules allow."""
    await place.rule("allow", "bough/*")
    parent = await place.session()
    weak, like = await place.child(parent), await place.child(parent)
    await place.client.call("PATCH", f"/api/sessions/{weak}", json={"sandbox": "off"})
    agent = await place.agent(await place.child(parent))
    arguments = {"prompt": "hello", "mode": "continue"}
    approval = await place.asked_every_time(agent, "agor_sessions_prompt", sessionId=weak, **arguments)
    assert "confines less than auto" in approval["reason"]
    await place.asked_every_time(agent, "send_to_session", sessionId=weak, message="hello")
    await agent.does("agor_sessions_prompt", sessionId=like, **arguments)


@needs_sandbox
@pytest.mark.parametrize("program", ["command", "hooks", "submodules"])
async def test_a_new_worktree_runs_nothing_outside_for_a_confined_agent(boxed: Boxed, program: str) -> None:
    """S6, 5e: What people let run in new worktrees runs outside of the box, on files that a confined agent may have
    written: also in the top modes, its wish to create one waits for a person."""
    if program == "command":
        await boxed.client.call("PATCH", f"/api/repos/{boxed.repo_id}", json={"setup": ["/bin/sh", "setup.sh"]})
    else:
        await boxed.client.call("PATCH", f"/api/repos/{boxed.repo_id}/git", json={program: True})
    session = await boxed.session()
    plant = 'echo "touch stolen" > setup.sh && git add setup.sh && git commit -qm Setup && echo done'
    assert await boxed.run(session, plant) == "done\n"
    await boxed.client.prompt(session, directive("agor_worktrees_create", repoId=boxed.repo_id, branch="topic"))
    approval = await boxed.client.approval(session)
    assert "outside of every sandbox" in approval["reason"] and "approval every time" in approval["reason"]
    assert not list(boxed.repo.glob(".worktrees/*/stolen"))
