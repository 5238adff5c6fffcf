"""Runs several real agents behind one server and waits for what they do to each other with Bough's own tools."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from bough.core.approvals.kinds import CALL
from tests.real_agents.helpers.agent_processes import behind_server
from tests.real_agents.helpers.agent_under_test import FULL, Json, Real
from tests.real_agents.helpers.watch_turn import ENDED
from tests.support.real_agents.homes import make_home
from tests.support.real_agents.packages import USUAL, installed
from tests.support.scripted_model.running import ScriptedModel

REACT = "[[react]]"
"""The model carries out everything that follows this in a report."""


def leads(*core: str) -> pytest.MarkDecorator:
    """Marks a test to run with these agents in the leading part, and with FULL with all usual ones."""
    return pytest.mark.only(*(USUAL if FULL else core))


@contextlib.asynccontextmanager
async def playing(
    agent: str, *others: str, model: ScriptedModel, place: Path, repo: Path, **server: Any
) -> AsyncGenerator[Real]:
    """Runs a server with the agent and with the agents that it works with."""
    for other in others:
        if not installed(other):
            pytest.skip(f"{other} is not installed")
    home = make_home(place / "home", model.url, *dict.fromkeys((agent, *others)))
    async with behind_server(agent, home, model, place, repo, **server) as real:
        yield real


def next_to(agent: str) -> str:
    """Returns the next of the usual agents; the last is followed by the first."""
    return USUAL[(USUAL.index(agent) + 1) % len(USUAL)]


async def done(real: Real, session: str, prompt: str) -> str:
    """Makes an agent do something without any approval and returns its text of that turn."""
    task = await real.ask(session, prompt)
    assert task["status"] == "completed", task
    text = await said_in(real, task)
    assert (await approvals(real, session)) == [], text
    return text


async def said_in(real: Real, task: Json) -> str:
    """Returns the agent's text of a turn, on one line."""
    messages = await real.messages(task["sessionId"])
    texts = [
        message["content"]["text"]
        for message in messages
        if message["taskId"] == task["id"] and message["role"] == "agent" and message["content"]["type"] == "text"
    ]
    return " ".join(" ".join(texts).split())


async def tree(real: Real, session: str, count: int) -> list[Json]:
    """Returns the sessions of a tree in the order of their creation."""
    sessions = (await real.client.get(f"/api/sessions/{session}/tree"))["sessions"]
    assert len(sessions) == count, [(item["agent"], item["title"], item["kind"]) for item in sessions]
    return sessions


async def tasks(real: Real, session: str, source: str | None = None) -> list[Json]:
    """Returns the tasks of a session in order, or those from one source."""
    all_tasks = (await real.client.get(f"/api/sessions/{session}/tasks"))["tasks"]
    return [task for task in sorted(all_tasks, key=lambda task: task["position"]) if source in (None, task["source"])]


async def ended(real: Real, session: str, count: int, source: str | None = None) -> list[Json]:
    """Waits until a session has ended exactly this many tasks, of one source or in all."""
    async with real.client.events(session) as events:
        ended_tasks = await tasks(real, session, source)
        while len(ended_tasks) < count or any(task["status"] not in ENDED for task in ended_tasks):
            await events.until(lambda event: event["type"] == "task.patched" and event["data"]["endedAt"] is not None)
            ended_tasks = await tasks(real, session, source)
    assert [task["status"] for task in ended_tasks] == ["completed"] * count, ended_tasks
    return ended_tasks


async def callbacks(real: Real, parent: str) -> list[Json]:
    """Returns the reports that a session received, in order; all of them have been delivered."""
    reports = (await real.client.get(f"/api/sessions/{parent}/callbacks"))["callbacks"]
    reports = [report for report in reports if report["parentSessionId"] == parent]
    assert {report["state"] for report in reports} <= {"delivered"}, reports
    return reports[::-1]


async def approvals(real: Real, session: str) -> list[Json]:
    """Returns all approvals that a session has ever requested, about calls of Bough's tools and others."""
    statuses = "pending,allowed,denied,expired,cancelled"
    return (await real.client.get(f"/api/approvals?status={statuses}&sessionId={session}"))["approvals"]


def about_calls(requested: list[Json]) -> list[Json]:
    return [approval for approval in requested if approval["toolKind"] == CALL.name]
