"""Agents that keep themselves going without a person, by what Bough itself sends to them."""

from __future__ import annotations

from pathlib import Path

import pytest

from bough.core.approvals.expiry import expire
from bough.core.store.sql import APPROVALS
from bough.core.store.transactions import Change
from bough.core.tool_calls import service
from bough.model.approval import Approval
from tests.support.client import Client, Json
from tests.support.eventually import eventually
from tests.support.mcp.tool_caller import Agent, agent_with_token
from tests.support.mcp.tool_server import PATIENCE, ToolServer, tool_server

MOST = 2


async def _held(client: Client, session: str) -> Json | None:
    """Returns the question whether the tree may continue."""
    pending = (await client.get(f"/api/approvals?sessionId={session}&status=pending"))["approvals"]
    return next((approval for approval in pending if approval["toolKind"] == "limit"), None)


async def _wake(host: ToolServer, agent: Agent, reports: int) -> None:
    """Makes a call that nobody answers in time, and waits until its outcome has made a turn, or is held."""
    call = await agent.does("agor_worktrees_create", repoId=host.repo_id, branch=f"w{reports}")
    services = host.server.services

    async def pass_by(change: Change) -> None:
        approval = await change.tx.one(APPROVALS.get, Approval, id=call["approvalId"])
        assert approval is not None
        await expire(change, services.catalog, approval)

    await services.store.write(pass_by)

    async def reported() -> bool:
        tasks = (await host.client.get(f"/api/sessions/{agent.id}/tasks?limit=200"))["tasks"]
        over = [task for task in tasks if task["source"] == "callback" and task["endedAt"]]
        return len(over) == reports or await _held(host.client, agent.id) is not None

    await eventually(reported, "the outcome has made a turn, or is held")


async def test_outcomes_do_not_keep_an_agent_going(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """B5: An agent whose calls nobody answers is woken by their outcomes only so many times; a person's answer to a
    call, or a prompt, starts the count again."""
    monkeypatch.setattr(service, "PATIENCE", PATIENCE)
    async with tool_server(tmp_path, max_unattended=MOST, headless="deny") as host:
        session = await host.session()
        await host.client.ask(session, "[[say begin]]")
        async with agent_with_token(host.client.url, host.server.data, session) as agent:
            for reports in range(1, MOST + 1):
                await _wake(host, agent, reports)
                assert await _held(host.client, session) is None
            await _wake(host, agent, MOST + 1)
            question = await _held(host.client, session)
            assert question is not None and f"{MOST} turns" in question["title"]


async def test_a_persons_answer_counts_as_attention(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """B5: A person who answers the calls of an agent is there: their outcomes are not held."""
    monkeypatch.setattr(service, "PATIENCE", PATIENCE)
    async with tool_server(tmp_path, max_unattended=1) as host:
        session = await host.session()
        await host.client.ask(session, "[[say begin]]")
        async with agent_with_token(host.client.url, host.server.data, session) as agent:
            for number in range(3):
                value = await agent.does("agor_worktrees_create", repoId=host.repo_id, branch=f"w{number}")
                await host.decide(value["approvalId"], "deny")

                async def answered(most: int = number + 1) -> bool:
                    tasks = (await host.client.get(f"/api/sessions/{session}/tasks?limit=200"))["tasks"]
                    return len([task for task in tasks if task["source"] == "callback" and task["endedAt"]]) == most

                await eventually(answered, "the outcome has made a turn")
                assert await _held(host.client, session) is None
