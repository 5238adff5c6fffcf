"""Tests approvals of code that a repository brings for an agent, before the agent starts there (P3). The tests with
real agents check which files those would run."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path

from tests.core.helpers import messages
from tests.support.client import Client, Json
from tests.support.processes import communicated
from tests.support.server import Running, serving

AGENT = """\
title = "Wary"
command = ["{python}", "-m", "bough.agents.demo"]
resume = true
env = { BOUGH_DEMO_HOME = "{data}/demo" }
modes = { default = "default", bypassPermissions = "bypassPermissions" }

[repository]
ask = ["hooks/*.js", ".wary"]
"""
# In minutes, a twentieth of a second.
SOON = 0.05 / 60


@dataclass
class Wary:
    """A repository that brings code for an agent, and a session of that agent there."""

    server: Running
    repo: Path
    session: str

    @property
    def client(self) -> Client:
        return self.server.client

    async def open(self) -> str:
        """Creates another session in the same folder."""
        repo = await self.client.repo(self.repo)
        return (await self.client.session(repo["id"], agent="wary"))["id"]

    async def asked(self, session: str | None = None) -> Json:
        """Returns the pending approval."""
        approval = await self.client.approval(session or self.session)
        assert approval["toolKind"] == "trust"
        return approval

    async def decide(self, approval: Json, decision: str) -> Json:
        return await self.client.post(f"/api/approvals/{approval['id']}", {"decision": decision})

    async def says(self, text: str, session: str | None = None) -> Json:
        """Sends a prompt that needs no approval."""
        task = await self.client.ask(session or self.session, f"[[say {text}]]")
        assert task["status"] == "completed"
        return task


def bring(repo: Path, text: str = "run()") -> None:
    (repo / "hooks").mkdir(exist_ok=True)
    (repo / "hooks/start.js").write_text(text)
    (repo / ".wary/deep").mkdir(parents=True, exist_ok=True)
    (repo / ".wary/deep/rules.txt").write_text("allow all")


@contextlib.asynccontextmanager
async def wary(folder: Path, **fields: object) -> AsyncGenerator[Wary]:
    """Runs a server with such a session, and its data below the folder."""
    agents = folder / "data/agents"
    agents.mkdir(parents=True, exist_ok=True)
    (agents / "wary.toml").write_text(AGENT)
    async with serving(folder, **{"approval_timeout": SOON, **fields}) as server:
        repo = server.root / "repo"
        if not repo.exists():
            bring(server.repo())
        wary_agent = Wary(server, repo, "")
        wary_agent.session = await wary_agent.open()
        yield wary_agent


async def test_an_approval_starts_the_agent_and_is_remembered(tmp_path: Path) -> None:
    """P3: Nothing starts before a person decides; then the same prompt is sent, once, and nobody is asked again."""
    async with wary(tmp_path) as wary_agent:
        client = wary_agent.client
        task = await client.prompt(wary_agent.session, "[[recall]]")
        approval = await wary_agent.asked()
        assert "hooks/start.js, .wary/deep/rules.txt" in approval["title"] and "Wary" in approval["title"]
        assert [Path(location["path"]).name for location in approval["toolCall"]["locations"]] == [
            "start.js",
            "rules.txt",
        ]
        waiting = await client.get(f"/api/tasks/{task}")
        assert (waiting["status"], waiting["held"], waiting["attempt"]) == ("interrupted", True, 1)
        assert (await client.get(f"/api/sessions/{wary_agent.session}"))["activity"] == "waiting_permission"
        assert not (wary_agent.server.data / "demo").exists()
        assert (await wary_agent.decide(approval, "allow"))["status"] == "allowed"
        ended = await client.wait_task(task)
        assert (ended["status"], ended["attempt"], ended["sentAttempt"]) == ("completed", 2, 2)
        # The agent received the prompt as it was written, not as an interrupted one.
        [text] = await client.texts(wary_agent.session)
        assert "[[recall]]" in text and "interrupted" not in text
        assert len(await client.texts(wary_agent.session, "user")) == 1
        await wary_agent.says("once more")
        await wary_agent.says("elsewhere", await wary_agent.open())
        [choice] = (await client.get("/api/policy/choices"))["choices"]
        assert (choice["scope"], choice["cwd"], choice["agent"]) == ("worktree", str(wary_agent.repo), "wary")
    async with wary(tmp_path) as wary_agent:
        await wary_agent.says("after a restart")


async def test_changed_files_are_asked_about_again(tmp_path: Path) -> None:
    """P3: An approval covers the files as they were; a change, or another folder, is asked about."""
    async with wary(tmp_path) as wary_agent:
        task = await wary_agent.client.prompt(wary_agent.session, "[[say one]]")
        await wary_agent.decide(await wary_agent.asked(), "allow")
        await wary_agent.client.wait_task(task)
        bring(wary_agent.repo, "other()")
        # A running agent keeps what it has; the next one that starts would load the change.
        await wary_agent.says("two")
        session = await wary_agent.open()
        task = await wary_agent.client.prompt(session, "[[say three]]")
        await wary_agent.decide(await wary_agent.asked(session), "allow")
        assert (await wary_agent.client.wait_task(task))["status"] == "completed"
        bring(wary_agent.repo)
        await wary_agent.says("four", await wary_agent.open())


async def test_a_denial_drops_the_prompt(tmp_path: Path) -> None:
    """P3: The prompt ends unsent, the transcript says so, and the next one is asked about again."""
    async with wary(tmp_path) as wary_agent:
        task = await wary_agent.client.prompt(wary_agent.session, "[[say one]]")
        assert (await wary_agent.decide(await wary_agent.asked(), "deny"))["status"] == "denied"
        ended = await wary_agent.client.wait_task(task)
        assert (ended["status"], ended["stopReason"], ended["sentAttempt"]) == ("cancelled", "denied", 0)
        [note] = await messages(wary_agent.client, wary_agent.session, "cancelled")
        assert "not sent" in note["text"]
        task = await wary_agent.client.prompt(wary_agent.session, "[[say two]]")
        await wary_agent.decide(await wary_agent.asked(), "allow")
        assert (await wary_agent.client.wait_task(task))["status"] == "completed"
        assert await wary_agent.client.texts(wary_agent.session) == ["two"]


async def test_a_timeout_never_allows_it(tmp_path: Path) -> None:
    """P3, P4: This approval is never allowed by a timeout, even where others are."""
    for headless in ("deny", "allow"):
        async with wary(tmp_path / headless, headless=headless) as wary_agent:
            task = await wary_agent.client.ask(wary_agent.session, "[[say one]]")
            assert (task["status"], task["sentAttempt"]) == ("cancelled", 0)
            [approval] = (await wary_agent.client.get("/api/approvals"))["approvals"]
            assert (approval["status"], approval["decision"]) == ("expired", "deny")
            assert not (await wary_agent.client.get("/api/policy/choices"))["choices"]
            assert any(
                "Nobody answered" in message["text"]
                for message in await messages(wary_agent.client, wary_agent.session, "notice")
            )


async def test_a_sessions_default_answer_does_not_allow_it(tmp_path: Path) -> None:
    """P4: A session whose default answer becomes allow while this is pending still waits for a person."""
    async with wary(tmp_path) as wary_agent:
        task = await wary_agent.client.prompt(wary_agent.session, "[[say one]]")
        approval = await wary_agent.asked()
        await wary_agent.client.call("PATCH", f"/api/sessions/{wary_agent.session}", json={"headless": "allow"})
        again = await wary_agent.client.get(f"/api/approvals/{approval['id']}")
        assert (again["status"], again["expiresAt"], again["onExpiry"]) == ("pending", None, None)
        await wary_agent.decide(approval, "allow")
        assert (await wary_agent.client.wait_task(task))["status"] == "completed"


async def test_resuming_asks_again(tmp_path: Path) -> None:
    """O2, P3: A resume does not allow it: the approval is withdrawn and requested again."""
    async with wary(tmp_path) as wary_agent:
        task = await wary_agent.client.prompt(wary_agent.session, "[[say one]]")
        first = await wary_agent.asked()
        async with wary_agent.client.events(wary_agent.session) as events:
            await wary_agent.client.post(f"/api/sessions/{wary_agent.session}/resume")
            second = (await events.until(lambda event: event["type"] == "approval.created"))["data"]
        assert (await wary_agent.client.get(f"/api/approvals/{first['id']}"))["status"] == "cancelled"
        await wary_agent.decide(second, "allow")
        ended = await wary_agent.client.wait_task(task)
        assert (ended["status"], ended["attempt"]) == ("completed", 3)


async def test_a_prompt_that_waits_for_trust_can_be_stopped(tmp_path: Path) -> None:
    """T2, P3: The prompt can be stopped; the next one in the queue is asked about in turn."""
    async with wary(tmp_path) as wary_agent:
        task = await wary_agent.client.prompt(wary_agent.session, "[[say one]]")
        approval = await wary_agent.asked()
        await wary_agent.client.post(f"/api/sessions/{wary_agent.session}/stop")
        assert (await wary_agent.client.wait_task(task))["status"] == "cancelled"
        assert (await wary_agent.client.get(f"/api/approvals/{approval['id']}"))["status"] == "cancelled"


async def test_an_approval_of_trust_survives_a_restart(tmp_path: Path) -> None:
    """P4: The approval survives the server, and its decision lets the turn continue."""
    async with wary(tmp_path) as wary_agent:
        task = await wary_agent.client.prompt(wary_agent.session, "[[say one]]")
        approval = await wary_agent.asked()
    async with wary(tmp_path) as wary_agent:
        await wary_agent.decide(approval, "allow")
        assert (await wary_agent.client.wait_task(task))["status"] == "completed"


async def test_the_inbox_shows_the_code(tmp_path: Path) -> None:
    """P4: `bough approval list` and `show` say what would run, and where."""
    async with wary(tmp_path) as wary_agent:
        await wary_agent.client.prompt(wary_agent.session, "[[say one]]")
        approval = await wary_agent.asked()
        listed = await bough(wary_agent, "approval", "list")
        assert "wary" in listed and "hooks/start.js" in listed
        shown = await bough(wary_agent, "approval", "show", approval["id"])
        assert str(wary_agent.repo / ".wary/deep/rules.txt") in shown and "until one of these files changes" in shown
        await bough(wary_agent, "approval", "allow", approval["id"])


async def bough(wary_agent: Wary, *words: str) -> str:
    """Returns what a command prints on a wide terminal."""
    env = os.environ | {"BOUGH_URL": wary_agent.server.url, "BOUGH_TOKEN": wary_agent.server.token, "COLUMNS": "200"}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bough", *words), env=env, stdout=asyncio.subprocess.PIPE
    )
    printed, _ = await communicated(process)
    assert process.returncode == 0
    return printed.decode()
