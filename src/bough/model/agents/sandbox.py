"""Defines whether an agent runs in the sandbox, what that keeps from it, and how it ran at its last start."""

from __future__ import annotations

from typing import Literal, get_args

# `auto` confines the agent where the machine can, and `required` starts no agent that cannot be confined.
Sandbox = Literal["off", "auto", "required"]
# `workspace` limits what the agent reads and writes. `strict` also limits which hosts it can reach.
SandboxProfile = Literal["workspace", "strict"]
# The sandbox of an agent's last start.
Confinement = Literal["workspace", "read-only", "strict", "strict-read-only", "unconfined"]

SANDBOXES: tuple[Sandbox, ...] = get_args(Sandbox)
PROFILES: tuple[SandboxProfile, ...] = get_args(SandboxProfile)
