"""Defines clones: remote repositories that a person copies into the workspace root."""

from __future__ import annotations

from typing import Literal

import msgspec

CloneState = Literal["cloning", "done", "failed", "cancelled"]
# `placing`: the copy is complete and becomes the folder that was asked for; from here on it cannot be cancelled.
ClonePhase = Literal["connecting", "receiving", "resolving", "checking_out", "placing"]


class Clone(msgspec.Struct, rename="camel"):
    """A row of `clones`."""

    id: str
    # Where the repository comes from; never with a password.
    address: str
    # Where it goes. Nothing exists there until the copy is complete.
    path: str
    # The name that the repository gets; null for that of its folder.
    name: str | None
    state: CloneState
    phase: ClonePhase
    # How far the phase is, and the bytes received so far; null while git does not say.
    percent: int | None
    received: int | None
    # Why it failed.
    error: str | None
    # The repository, once it is registered.
    repo_id: str | None
    started_by: str
    created_at: str
    ended_at: str | None
