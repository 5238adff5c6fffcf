"""Prepares the command of a run: the repository's own, which a person has allowed, or one that an admin typed."""

from __future__ import annotations

import asyncio
import os

import msgspec

from bough.agents.pty_client.start_terminal import person_shell, shell_env
from bough.core.store.transactions import Store
from bough.core.worktrees.command_box import SHELL, prepare_command
from bough.core.worktrees.config.parse import LONGEST_COMMAND, MOST_PORTS
from bough.core.worktrees.config.read import read_config
from bough.core.worktrees.config.service import find_decision
from bough.core.worktrees.ports import port_variables
from bough.errors import Conflict, Denied, Invalid, NotFound
from bough.model.repo import Repo, Worktree
from bough.model.session import Caller
from bough.model.values.visible import visible
from bough.settings import Settings

# What programs need to know about the terminal that they print to.
SCREEN = {"TERM": "xterm-256color"}


class NewRun(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """A command to run: the `name` of one that the repository's own file has, or a `command` line. `port` is the number
    of the port in the worktree's block at which a typed one serves. With `expectedCommand` nothing runs if the file
    says something else by now."""

    name: str | None = None
    command: str | None = None
    port: int | None = None
    expected_command: str | None = None
    idempotency_key: str | None = None


class PreparedRun(msgspec.Struct, frozen=True):
    """The command as people see it, how it starts, the number of its port in the block, and whether it is confined."""

    command: str
    words: list[str]
    env: dict[str, str]
    port: int
    confined: bool


def check_request(caller: Caller, new: NewRun) -> None:
    """Raises `Invalid` for a malformed request, and `Denied` if the caller may not type commands."""
    if (new.name is None) == (new.command is None):
        raise Invalid("bad_run", "Give either `name`, a command of the repository, or `command`, one of your own.")
    if new.port is not None and not 0 <= new.port < MOST_PORTS:
        raise Invalid("bad_run", f"`port` is the number of a port in the worktree's block: 0 to {MOST_PORTS - 1}.")
    if new.command is not None:
        if caller.kind != "person":
            raise Denied("run_for_people", "Only people can type commands to run. Name one of the repository's own.")
        caller.require("admin", "run a command that the repository does not name")
        if not new.command.strip() or len(new.command) > LONGEST_COMMAND or "\0" in new.command:
            raise Invalid("bad_run", f"A command has 1 to {LONGEST_COMMAND} characters.")


async def prepare(
    store: Store, settings: Settings, repo: Repo, worktree: Worktree, new: NewRun, first_port: int
) -> PreparedRun:
    """Returns what to start. Raises `NotFound` for an unknown name, and `Conflict` for a command that no person has
    allowed, that has changed, or that cannot be confined as it must be."""
    config = await asyncio.to_thread(read_config, worktree.path, repo.path)
    ports = port_variables(first_port, config.ports)
    if new.command is not None:
        number = new.port or 0
        env = shell_env(os.environ) | ports | {"PORT": str(first_port + number)} | SCREEN
        return PreparedRun(new.command, [person_shell(os.environ), "-c", new.command], env, number, confined=False)
    named = next((item for item in config.run if item.name == new.name), None)
    if named is None:
        names = ", ".join(item.name for item in config.run) or "none"
        raise NotFound(
            "run_command_not_found",
            f"The .bough.toml of this worktree names no command {new.name!r} in [run]. It names: {names}.",
        )
    if new.expected_command is not None and new.expected_command != visible(named.command):
        raise Conflict("run_changed", "The command is not the one that was shown: .bough.toml has changed. Look again.")
    decision = await store.read(lambda tx: find_decision(tx, repo.id, config.digest))
    if decision != "allowed":
        problem = "A person has forbidden" if decision == "denied" else "No person has allowed"
        raise Conflict(
            "run_not_allowed",
            f"{problem} what .bough.toml of this repository would run. See it, and allow it with --allow: "
            f"bough repo config {repo.id} --worktree {worktree.id}",
        )
    extra = ports | {"PORT": str(first_port + named.port)} | SCREEN
    start = await prepare_command(store, settings, repo, worktree.path, extra)
    words = [*start.box, SHELL, "-c", named.command]
    return PreparedRun(named.command, words, start.env | SCREEN, named.port, confined=start.unconfined is None)
