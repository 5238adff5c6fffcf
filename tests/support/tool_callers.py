"""A server with sessions, their agents in the hands of the test, and a look at all that could have changed. One agent
is `caller`; what it may do is said in the tests."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.client import Client, Json
from tests.support.repos import make_repo
from tests.support.server import Running, serving
from tests.support.tool_caller import Agent, acting

# A person who does not answer within this is one who is still thinking.
PATIENCE = 0.1


@dataclass
class Hall:
    """A server with one repository, sessions in it, and their agents."""

    server: Running
    repo_id: str
    stack: contextlib.AsyncExitStack

    @property
    def client(self) -> Client:
        return self.server.client

    async def session(self, mode: str = "default", **fields: Any) -> str:
        # One that has a title is not given one by its agent in the middle of a test.
        fields = {"title": "A session", "permissionMode": mode} | fields
        return (await self.client.session(self.repo_id, **fields))["id"]

    async def child(self, parent: str, **fields: Any) -> str:
        body = {"prompt": "hello", "title": "A child", "callback": {"enabled": False}, **fields}
        made = await self.client.post(f"/api/sessions/{parent}/spawn", body)
        await self.client.wait_task(made["taskId"])
        return made["sessionId"]

    async def agent(self, session: str) -> Agent:
        """The agent of a session, in the middle of a turn."""
        return await self.stack.enter_async_context(acting(self.client, self.server.data, session))

    async def root(self, mode: str = "default", **fields: Any) -> Agent:
        return await self.agent(await self.session(mode, **fields))

    async def get(self, session: str) -> Json:
        return await self.client.get(f"/api/sessions/{session}")

    async def rule(self, effect: str, tool: str, **fields: Any) -> Json:
        return await self.client.post("/api/policy/rules", {"effect": effect, "tool": tool, **fields})

    async def pending(self) -> list[Json]:
        return (await self.client.get("/api/approvals?status=pending&limit=200"))["approvals"]

    async def decide(self, approval: str, decision: str = "allow", **fields: Any) -> Json:
        return await self.client.post(f"/api/approvals/{approval}", {"decision": decision, **fields})

    async def asked(self, agent: Agent, tool: str, **arguments: Any) -> Json:
        """Calls a tool about which a person is to be asked, and proves that nothing is done before; gives the
        question."""
        before = await self.world()
        value = await agent.does(tool, **arguments)
        assert value["status"] == "pending", value
        after = await self.world()
        assert after == before, (before, after)
        return await self.client.get(f"/api/approvals/{value['approvalId']}")

    async def refused(self, agent: Agent, tool: str, **arguments: Any) -> str:
        """Calls a tool that is to be refused without anybody being asked, and proves that nothing is done."""
        before = await self.world(), await self.pending()
        text = await agent.fails(tool, **arguments)
        assert (await self.world(), await self.pending()) == before
        return text

    async def raising(self, agent: Agent, tool: str, **arguments: Any) -> Json:
        """The same for a call that raises rights: nobody can say *always* to it."""
        approval = await self.asked(agent, tool, **arguments)
        assert "asked about every time" in approval["reason"], approval
        assert [one["kind"] for one in approval["options"]] == ["allow_once", "reject_once"]
        return approval

    async def world(self) -> list[Any]:
        """All that calls could change."""
        page = await self.client.get("/api/sessions?limit=200")
        assert page["total"] <= 200
        found: list[Any] = []
        for one in page["sessions"]:
            tasks = (await self.client.get(f"/api/sessions/{one['id']}/tasks?limit=200"))["tasks"]
            names = ("id", "title", "description", "status", "permissionMode", "mcpServerIds", "archived")
            # What came of an earlier call may be told at any time.
            told = [task for task in tasks if task["source"] == "callback" and task["sourceSessionId"] is None]
            prompts = [(task["id"], task["prompt"]) for task in tasks if task not in told]
            # An agent that has begun gives a session that has no title its prompt as one.
            if one["title"] in [prompt for _, prompt in prompts]:
                one["title"] = ""
            found.append([*(one[name] for name in names), one["metadata"].get("ending"), prompts])
        found.append((await self.client.get("/api/worktrees?limit=200"))["total"])
        return found


@contextlib.asynccontextmanager
async def hall(folder: Path, **settings: Any) -> AsyncGenerator[Hall]:
    async with serving(folder, **settings) as server, contextlib.AsyncExitStack() as stack:
        repo = await server.client.repo(make_repo(server.root / "repo"))
        yield Hall(server, repo["id"], stack)
