"""Several real agents behind one server, and waiting for what they do to each other by Bough's own tools. The stories
that they play are `test_several_agents`, what they are made to do is `tests.support.real_agents.actions`."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from bough.core.state.tool_call import CALL
from tests.support.real_agents.homes import make_home
from tests.support.real_agents.packages import USUAL, installed
from tests.support.scripted_model.running import ScriptedModel

from .agent_processes import behind_server
from .real import FULL, Json, Real
from .watching import ENDED

REACT = "[[react]]"
"""What a report says after this is what the model does about it."""


def leads(*core: str) -> pytest.MarkDecorator:
    """The agents that play the first part: these, and with FULL all usual ones."""
    return pytest.mark.only(*(USUAL if FULL else core))


@contextlib.asynccontextmanager
async def playing(
    agent: str, *others: str, model: ScriptedModel, place: Path, repo: Path, **server: Any
) -> AsyncGenerator[Real]:
    """A server with the agent, and with those that it is to work with."""
    for other in others:
        if not installed(other):
            pytest.skip(f"{other} is not installed")
    home = make_home(place / "home", model.url, *dict.fromkeys((agent, *others)))
    async with behind_server(agent, home, model, place, repo, **server) as real:
        yield real


def next_to(agent: str) -> str:
    """Another agent: the next of the usual ones, which makes a ring."""
    return USUAL[(USUAL.index(agent) + 1) % len(USUAL)]


async def done(real: Real, session: str, prompt: str) -> str:
    """Has an agent do something that nobody is asked about; gives what it said in that turn."""
    task = await real.ask(session, prompt)
    assert task["status"] == "completed", task
    said = await said_in(real, task)
    assert (await approvals(real, session)) == [], said
    return said


async def said_in(real: Real, task: Json) -> str:
    """What the agent said in a turn, on one line."""
    messages = await real.messages(task["sessionId"])
    texts = [
        message["content"]["text"]
        for message in messages
        if message["taskId"] == task["id"] and message["role"] == "agent" and message["content"]["type"] == "text"
    ]
    return " ".join(" ".join(texts).split())


async def tree(real: Real, session: str, count: int) -> list[Json]:
    """The sessions of a tree, as they were opened."""
    found = (await real.client.get(f"/api/sessions/{session}/tree"))["sessions"]
    assert len(found) == count, [(one["agent"], one["title"], one["kind"]) for one in found]
    return found


async def tasks(real: Real, session: str, source: str | None = None) -> list[Json]:
    """The tasks of a session in order, or those from one source."""
    found = (await real.client.get(f"/api/sessions/{session}/tasks"))["tasks"]
    return [one for one in sorted(found, key=lambda one: one["position"]) if source in (None, one["source"])]


async def ended(real: Real, session: str, count: int, source: str | None = None) -> list[Json]:
    """Waits until a session has ended this many tasks of a source, or in all, and has no more of them."""
    async with real.client.events(session) as events:
        while True:
            found = await tasks(real, session, source)
            if len(found) >= count and all(one["status"] in ENDED for one in found):
                assert (len(found), {one["status"] for one in found}) == (count, {"completed"}), found
                return found
            await events.until(lambda event: event["type"] == "task.patched" and event["data"]["endedAt"] is not None)


async def callbacks(real: Real, parent: str) -> list[Json]:
    """The reports that a session was sent, in order; all of them have arrived."""
    found = (await real.client.get(f"/api/sessions/{parent}/callbacks"))["callbacks"]
    found = [one for one in found if one["parentSessionId"] == parent]
    assert {one["state"] for one in found} <= {"delivered"}, found
    return found[::-1]


async def approvals(real: Real, session: str) -> list[Json]:
    """All questions about calls of Bough's tools that a session has ever asked, and all others."""
    statuses = "pending,allowed,denied,expired,cancelled"
    return (await real.client.get(f"/api/approvals?status={statuses}&sessionId={session}"))["approvals"]


def about_calls(found: list[Json]) -> list[Json]:
    return [one for one in found if one["toolKind"] == CALL]
