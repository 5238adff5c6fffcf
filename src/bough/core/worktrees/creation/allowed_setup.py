"""Finds which setup steps of a repository's own files people have allowed. Nothing else runs or is copied."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import msgspec

from bough.core.store.transactions import Store
from bough.core.store.until_available import until_available
from bough.core.worktrees.command_box import CommandStart, prepare_command
from bough.core.worktrees.config.parse import CONFIG_FILE
from bough.core.worktrees.config.read import read_config
from bough.core.worktrees.config.service import find_decision
from bough.errors import BoughError
from bough.model.repo import Repo, Worktree
from bough.settings import Settings


class AllowedSetup(msgspec.Struct):
    """The allowed steps of the repository's own files: patterns of ignored files to copy, shell commands, and how they
    start; and the errors to report."""

    copies: list[str] = []
    commands: list[str] = []
    start: CommandStart | None = None
    errors: list[str] = []


async def find_allowed(
    store: Store, settings: Settings, repo: Repo, worktree: Worktree, variables: Mapping[str, str]
) -> AllowedSetup:
    """Returns what people allowed of the setup that the repository's own files ask for. `variables` are added to the
    environment of its commands."""
    config = await asyncio.to_thread(read_config, worktree.path, repo.path)
    allowed = AllowedSetup(errors=[problem.text for problem in config.problems])
    decision = await until_available(
        lambda: store.read(lambda tx: find_decision(tx, repo.id, config.digest)), "a setup", worktree=worktree.id
    )
    if decision == "undecided" and (config.setup or config.copies):
        allowed.errors.append(
            f"No person has allowed what {' and '.join(config.files)} of this repository would run and copy, so it "
            f"was not done. See it: bough repo config {repo.id} --worktree {worktree.id}. Allow it there with "
            f"--allow, then run: bough worktree setup {worktree.id}"
        )
    if decision != "allowed":
        return allowed
    allowed.copies = config.copies
    if config.setup:
        try:
            allowed.start = await prepare_command(store, settings, repo, worktree.path, variables)
            allowed.commands = config.setup
        except (BoughError, OSError) as error:
            allowed.errors.append(f"Setup of {CONFIG_FILE}: {error}")
    return allowed
