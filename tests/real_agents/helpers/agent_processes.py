"""Starts servers with real agents in other ways, finds the agents' processes and commands, and kills them."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path

import psutil

from bough.agents.keeper_client import keeper_folder
from bough.agents.keeper_client.keeper_launcher import KeeperLauncher
from tests.real_agents.helpers.agent_under_test import Json, Real
from tests.support.client import Events
from tests.support.eventually import eventually
from tests.support.real_agents.homes import Home
from tests.support.scripted_model.records import Entry
from tests.support.scripted_model.running import ScriptedModel
from tests.support.server import ServerProcess


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
    """Does the same as the fixture `real`, with a server that is started differently."""
    server = ServerProcess(place / "data", place / "work", flags, env=home.env | dict(env or {}), module=module)
    async with server, server.client() as person:
        repo_id = (await person.repo(repo))["id"]
        yield Real(agent, home, model, server, person, repo, repo_id)


async def asked(real: Real, words: str) -> list[Entry]:
    """Returns the model's requests whose last prompt has these words, without the agents' own requests for titles."""
    return [entry for entry in await real.model.log() if entry.tools and words in entry.last_user]


def keepers(real: Real) -> list[str]:
    """Returns the running agents, by their keepers."""
    return KeeperLauncher(real.server.data / "keepers").names()


def agent_tree(real: Real) -> list[psutil.Process]:
    """Returns the processes of the only running agent, including the commands that it runs."""
    [name] = keepers(real)
    return tree_of(real, name)


def tree_of(real: Real, name: str) -> list[psutil.Process]:
    """Returns the processes of one of several agents, by its keeper."""
    about = keeper_folder.read_info(real.server.data / "keepers" / name)
    assert about is not None
    top = psutil.Process(about.agent.pid)
    return [*top.children(recursive=True), top]


def kill(processes: list[psutil.Process]) -> None:
    """Kills these processes with -9, if they still run."""
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()


async def killed(real: Real) -> None:
    """Kills the only running agent and waits until its keeper has recorded that."""
    [name] = keepers(real)
    kill(agent_tree(real))
    await ended(real, name)


async def ended(real: Real, name: str) -> None:
    """Waits until a keeper has recorded that its agent is gone."""
    await eventually(
        lambda: keeper_folder.read_end(real.server.data / "keepers" / name) is not None, "the agent has ended"
    )


def running_with(mark: str) -> list[int]:
    """Returns the processes whose command line contains this."""
    pids: list[int] = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if any(mark in word for word in process.cmdline()) and process.status() != psutil.STATUS_ZOMBIE:
                pids.append(process.pid)
    return pids


async def start_slow_command(real: Real, session: str, name: str) -> tuple[str, str]:
    """Makes the agent run a command that takes long; returns the task and the mark that identifies its processes."""
    mark = real.repo / name
    async with real.client.events(session) as events:
        task = await real.client.prompt(session, real.actions.slow_shell(mark=name))
        # The agent reports its call at about the time when the command starts.
        await events.until(
            lambda event: event["type"] == "message.created" and "toolCallId" in event["data"]["content"]
        )
    await eventually(mark.exists, f"the command writes {name}")
    assert running_with(str(mark))
    return task, str(mark)


async def start_streaming(real: Real, session: str, events: Events, count: int = 200, prompt: str | None = None) -> str:
    """Makes the agent stream ticks, or do what the prompt says; returns the task when the first tick has arrived."""
    task = await real.client.prompt(session, prompt or real.actions.slow(count))
    await events.until(lambda event: "tick" in str(event["data"]) and is_spoken(event))
    return task


def is_spoken(event: Json) -> bool:
    """Tells whether the event is about the agent's text or its actions."""
    return event["type"].startswith("message.") and event["data"].get("role", "agent") == "agent"
