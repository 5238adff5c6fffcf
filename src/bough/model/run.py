"""Defines runs: commands that people started in worktrees, such as development servers."""

from __future__ import annotations

from typing import Literal

import msgspec

# `lost`: its keeper was killed, so that nobody knows how it ended.
RunState = Literal["running", "exited", "stopped", "lost"]


class Run(msgspec.Struct, rename="camel"):
    """A row of `runs`."""

    id: str
    worktree_id: str
    # The name of the repository's own command; null for one that a person typed.
    name: str | None
    command: str
    # Where it serves, if it got a port.
    port: int | None
    # Whether it runs in the same box as an agent.
    confined: bool
    started_by: str
    state: RunState
    # The exit code, or the negative number of a signal.
    code: int | None
    # Whether something answers at its port.
    answers: bool
    created_at: str
    ended_at: str | None
