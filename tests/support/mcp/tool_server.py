"""Runs a server whose sessions' agents a test plays itself, and compares everything that their calls could change."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bough.core.state.calls.tool_call import ENDED
from tests.support.client import Client, Json
from tests.support.eventually import eventually
from tests.support.mcp.tool_caller import Agent, agent_in_turn
from tests.support.repos import make_repo
from tests.support.server import Running, serving

# A call that is not answered within this time is still waiting for a person.
PATIENCE = 0.1


@dataclass
class ToolServer:
    """A server with one repository, sessions in it, and their agents."""

    server: Running
    repo_id: str
    stack: contextlib.AsyncExitStack

    @property
    def client(self) -> Client:
        return self.server.client

    async def session(self, mode: str = "default", **fields: Any) -> str:
        # A session with a title does not get one from its agent in the middle of a test.
        fields = {"title": "A session", "permissionMode": mode} | fields
        return (await self.client.session(self.repo_id, **fields))["id"]

    async def child(self, parent: str, **fields: Any) -> str:
        body = {"prompt": "hello", "title": "A child", "callback": {"enabled": False}, **fields}
        created = await self.client.post(f"/api/sessions/{parent}/spawn", body)
        await self.client.wait_task(created["taskId"])
        return created["sessionId"]

    async def agent(self, session: str) -> Agent:
        """Returns the agent of a session, in the middle of a turn."""
        return await self.stack.enter_async_context(agent_in_turn(self.client, self.server.data, session))

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
        """Calls a tool that needs approval, checks that nothing is done before the decision, and returns the
        approval."""
        before = await self.state()
        value = await agent.does(tool, **arguments)
        assert value["status"] == "pending", value
        after = await self.state()
        assert after == before, (before, after)
        return await self.client.get(f"/api/approvals/{value['approvalId']}")

    async def refused(self, agent: Agent, tool: str, **arguments: Any) -> str:
        """Calls a tool that must be refused without asking a person, checks that nothing is done, and returns the error
        text."""
        before = await self.state(), await self.pending()
        text = await agent.fails(tool, **arguments)
        assert (await self.state(), await self.pending()) == before
        return text

    async def settled(self, *agents: Agent) -> None:
        """Waits until nothing that agents have called for is still under way: their calls are carried out, and the
        turns of all other sessions have ended."""

        async def over() -> bool:
            calls = [await self.client.get(f"/api/sessions/{agent.id}/calls?limit=200") for agent in agents]
            if any(call["state"] not in ENDED for page in calls for call in page["calls"]):
                return False
            sessions = (await self.client.get("/api/sessions?limit=200"))["sessions"]
            others = [session["id"] for session in sessions if session["id"] not in {agent.id for agent in agents}]
            pages = [await self.client.get(f"/api/sessions/{session}/tasks?limit=200") for session in others]
            return all(task["endedAt"] for page in pages for task in page["tasks"])

        await eventually(over, pause=0.1)

    async def asked_every_time(self, agent: Agent, tool: str, **arguments: Any) -> Json:
        """Does the same as `asked` for a call that raises rights, which cannot be allowed for always."""
        approval = await self.asked(agent, tool, **arguments)
        assert "approval every time" in approval["reason"], approval
        assert [option["kind"] for option in approval["options"]] == ["allow_once", "reject_once"]
        return approval

    async def state(self) -> list[Any]:
        """Returns everything that calls could change."""
        page = await self.client.get("/api/sessions?limit=200")
        assert page["total"] <= 200
        state: list[Any] = []
        for session in page["sessions"]:
            tasks = (await self.client.get(f"/api/sessions/{session['id']}/tasks?limit=200"))["tasks"]
            names = ("id", "title", "description", "status", "permissionMode", "mcpServerIds", "archived")
            # The outcome of an earlier call may be reported at any time.
            outcomes = [task for task in tasks if task["source"] == "callback" and task["sourceSessionId"] is None]
            prompts = [(task["id"], task["prompt"]) for task in tasks if task not in outcomes]
            # An agent that has started gives a session without a title its prompt as one.
            if session["title"] in [prompt for _, prompt in prompts]:
                session["title"] = ""
            state.append([*(session[name] for name in names), session["metadata"].get("ending"), prompts])
        state.append((await self.client.get("/api/worktrees?limit=200"))["total"])
        return state


@contextlib.asynccontextmanager
async def tool_server(folder: Path, **settings: Any) -> AsyncGenerator[ToolServer]:
    async with serving(folder, **settings) as server, contextlib.AsyncExitStack() as stack:
        repo = await server.client.repo(make_repo(server.root / "repo"))
        yield ToolServer(server, repo["id"], stack)
