"""Prepares a start of a repository's own command in a worktree: its environment, and the same box that an agent would
have there."""

from __future__ import annotations

import asyncio
import os
import resource
from collections.abc import Mapping

import msgspec

from bough.agents.process.inherited_env import inherited_env
from bough.agents.sandbox.box_paths import BoxRequest, box_env, gather
from bough.agents.sandbox.bwrap_arguments import BoxLimits, arguments, limited
from bough.agents.sandbox.detect import SandboxProbe
from bough.core.store.sql import WORKTREES
from bough.core.store.transactions import Store
from bough.errors import Conflict
from bough.model.repo import Repo
from bough.search_path import find_own_program
from bough.settings import Settings

SHELL = "/bin/sh"

_probe = SandboxProbe()


class CommandStart(msgspec.Struct, frozen=True):
    """The words of the box, empty without one, the environment, and why the command is not confined."""

    box: list[str]
    env: dict[str, str]
    unconfined: str | None = None


async def prepare_command(
    store: Store, settings: Settings, repo: Repo, path: str, extra: Mapping[str, str]
) -> CommandStart:
    """Returns how to start a command in a worktree. Raises `Conflict` if it must be confined and cannot be, or if its
    box would have a network that nobody can reach."""
    env = {**inherited_env(os.environ, settings.agent_env_names), **extra}
    sandbox = repo.sandbox or settings.sandbox
    if sandbox == "off":
        return CommandStart([], env, "The sandbox is switched off.")
    available = await asyncio.to_thread(_probe.find)
    if available.program is None:
        if sandbox == "required":
            raise Conflict(
                "command_not_confined",
                f"The command was not run: the sandbox is required and does not work here. {available.reason}",
            )
        return CommandStart([], env, available.reason)
    if (repo.sandbox_profile or settings.sandbox_profile) == "strict":
        raise Conflict(
            "command_not_confined",
            "The command was not run: the strict sandbox of this repository would cut it off from the network. Let an "
            "agent run it, or choose the profile `workspace`.",
        )
    rows = await store.read(lambda tx: tx.all(WORKTREES.paths, tuple[str]))
    worktrees = [other for (other,) in rows]
    return await asyncio.to_thread(_confined, available.program, settings, path, env, worktrees)


def _confined(program: str, settings: Settings, path: str, env: dict[str, str], worktrees: list[str]) -> CommandStart:
    box = gather(
        BoxRequest(
            cwd=path,
            read_only=False,
            data=settings.data_path,
            env=env,
            command=[SHELL],
            worktrees=worktrees,
            extra_readable=settings.sandbox_read_paths,
            extra_writable=settings.sandbox_write_paths,
        )
    )
    words = [*arguments(program, box), "--", *limited(find_own_program("prlimit"), box_limits(settings))]
    return CommandStart(words, box_env(env, settings.data_path))


def box_limits(settings: Settings) -> BoxLimits:
    """Returns the limits of a box in this server's settings."""
    return BoxLimits(
        _at_most(settings.sandbox_memory, resource.RLIMIT_DATA),
        _at_most(settings.sandbox_processes, resource.RLIMIT_NPROC),
        _at_most(settings.sandbox_open_files, resource.RLIMIT_NOFILE),
    )


def _at_most(limit: int, kind: int) -> int:
    """Returns a limit that does not exceed the server's own, which the program inherits and cannot raise."""
    _, hard = resource.getrlimit(kind)
    return limit if hard == resource.RLIM_INFINITY else min(limit, hard)
