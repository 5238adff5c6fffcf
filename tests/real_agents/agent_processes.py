"""What befalls a real agent in tests: its processes are killed, its commands are looked for, its server is started in
other ways. What Bough makes of that is left to the tests."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path

import psutil

from bough.agents.keeper import orphans
from bough.agents.keeper.keeper_launcher import KeeperLauncher
from tests.support.client import Events
from tests.support.eventually import eventually
from tests.support.real_agents.homes import Home
from tests.support.scripted_model.records import Entry
from tests.support.scripted_model.running import ScriptedModel
from tests.support.server import ServerProcess

from .real import Json, Real


@contextlib.asynccontextmanager
async def behind_server(
    agent: str,
    home: Home,
    model: ScriptedModel,
    place: Path,
    repo: Path,
    *,
    env: Mapping[str, str] | None = None,
    flags: tuple[str, ...] = (),
    module: str = "bough",
) -> AsyncGenerator[Real]:
    """As the fixture `real`, with a server that is started otherwise."""
    server = ServerProcess(place / "data", place / "work", flags, env=home.env | dict(env or {}), module=module)
    async with server, server.client() as person:
        repo_id = (await person.repo(repo))["id"]
        yield Real(agent, home, model, server, person, repo, repo_id)


async def asked(real: Real, words: str) -> list[Entry]:
    """What the model was asked with these words in the last prompt; agents also ask it for titles, on their own."""
    return [entry for entry in await real.model.log() if entry.tools and words in entry.last_user]


def keepers(real: Real) -> list[str]:
    """The agents that are up, by their keepers."""
    return KeeperLauncher(real.server.data / "keepers").names()


def agent_tree(real: Real) -> list[psutil.Process]:
    """The processes of the only agent that is up, the commands that it runs among them."""
    [name] = keepers(real)
    return tree_of(real, name)


def tree_of(real: Real, name: str) -> list[psutil.Process]:
    """The same of one of several, by its keeper."""
    about = orphans.read_about(real.server.data / "keepers" / name)
    assert about is not None
    top = psutil.Process(about.agent.pid)
    return [*top.children(recursive=True), top]


def kill(processes: list[psutil.Process]) -> None:
    """Kills with -9 whatever is left of these."""
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()


async def killed(real: Real) -> None:
    """Kills the only agent that is up, and waits until its keeper has said so."""
    [name] = keepers(real)
    kill(agent_tree(real))
    await ended(real, name)


async def ended(real: Real, name: str) -> None:
    """Waits until a keeper has said that its agent is gone."""
    await eventually(lambda: orphans.read_ended(real.server.data / "keepers" / name) is not None, "the agent has ended")


def running_with(mark: str) -> list[int]:
    """The processes that name this in their command line."""
    found: list[int] = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if any(mark in word for word in process.cmdline()) and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
    return found


async def start_slow_command(real: Real, session: str, name: str) -> tuple[str, str]:
    """Has the agent run a command that takes long; gives the task, and the mark by which its processes are known."""
    mark = real.repo / name
    async with real.client.events(session) as events:
        task = await real.client.prompt(session, real.actions.slow_shell(mark=name))
        # The agent tells of its call at about the time at which the command begins.
        await events.until(
            lambda event: event["type"] == "message.created" and "toolCallId" in event["data"]["content"]
        )
    await eventually(mark.exists, f"the command writes {name}")
    assert running_with(str(mark))
    return task, str(mark)


async def start_streaming(real: Real, session: str, events: Events, count: int = 200, prompt: str | None = None) -> str:
    """Has the agent stream ticks, or do what the prompt says; gives the task when the first tick has been heard."""
    task = await real.client.prompt(session, prompt or real.actions.slow(count))
    await events.until(lambda event: "tick" in str(event["data"]) and is_spoken(event))
    return task


def is_spoken(event: Json) -> bool:
    """Whether it tells of the agent's words, or of its actions."""
    return event["type"].startswith("message.") and event["data"].get("role", "agent") == "agent"
